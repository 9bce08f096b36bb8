// The button that saves a picture: a component of the page has drawn it, or the page makes
// an SVG when asked, and the browser outlines its Chinese letters.

const LONGEST_WAIT = 60_000 // milliseconds; an answer may be lost with the connection
const saveApps = new WeakMap()

/**
 * Shows the button below an element.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {object} data `words`, and `drawn`, the `key` of what has drawn it and the `kind`
 *   of file; or `file` (its name), and `made` where the page answers: the `number` that was
 *   asked with and `svg`, its text, or null where there is none.
 * @param {function(number): void} ask has the page make the picture.
 */
function showSave(parent, data, ask) {
  const host = parent.querySelector('.svg-save')
  const app = saveApps.get(host) ?? startSave(host)
  Object.assign(app, { data, ask })
  app.button.textContent = say(data, 'label')
  // What was not asked for here, or was saved already, may come again with a later run.
  if (data.made && data.made.number === app.asked) finishSave(app, data.made)
}

function startSave(host) {
  const button = element('button', { type: 'button' })
  const told = element('span', { role: 'status' })
  const app = { button, told, asked: null }
  button.onclick = () => askForPicture(app)
  host.replaceChildren(button, told)
  saveApps.set(host, app)
  return app
}

function askForPicture(app) {
  const { drawn: detail } = app.data
  if (detail) return window.dispatchEvent(new CustomEvent(SAVE, { detail }))
  if (app.asked !== null) return
  const number = Date.now()
  app.asked = number
  showState(app, 'making')
  app.ask(number)
  setTimeout(() => app.asked === number && finishSave(app, { svg: null }), LONGEST_WAIT)
}

function finishSave(app, { svg }) {
  const name = app.data.file
  const state = svg === null ? 'failed' : saveOutlined(svg, name) ? 'saved' : 'saved_as_text'
  app.asked = null
  showState(app, state, { name })
}

function showState({ button, told, asked, data }, state, places) {
  // Not disabled, which would take the focus away.
  button.setAttribute('aria-disabled', String(asked !== null))
  button.setAttribute('aria-busy', String(asked !== null))
  told.textContent = say(data, state, places)
}
