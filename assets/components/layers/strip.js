// The strip of all steps: a square for each, and the names of those in the part of the
// network where the visitor is. Text comes as data and is set as text, never as HTML.

const strips = new WeakMap()

/**
 * Shows the steps below an element; called again, it moves the mark.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {object} data words, `parts` with their `steps`, and the `current` step.
 * @param {function(string): void} choose takes the name of a step.
 */
function showStrip(parent, data, choose) {
  const host = parent.querySelector('.walk-strip')
  const known = strips.get(host)
  const sign = JSON.stringify([data.label, data.parts])
  const strip = known?.sign === sign ? known : buildStrip(host, data, sign)
  strips.set(host, strip)
  strip.choose = choose
  mark(strip, data)
}

function buildStrip(host, data, sign) {
  const strip = { sign, squares: new Map(), titles: new Map(), choose: () => {} }
  const map = element('div', 'map')
  for (const part of data.parts) map.append(buildPart(strip, part))
  strip.names = element('div', 'names')
  host.replaceChildren(map, strip.names)
  host.setAttribute('aria-label', data.label)
  return strip
}

function buildPart(strip, part) {
  const box = element('div', 'part')
  const title = button('title', part.title, () => strip.choose(inPart(strip, part)))
  strip.titles.set(part.name, title)
  const row = element('div', 'squares')
  for (const step of part.steps) {
    const square = button('square', '', () => strip.choose(step.name))
    square.title = `${part.title}: ${step.title}`
    // The names below and the titles say the same to keyboard and screen reader.
    square.tabIndex = -1
    square.setAttribute('aria-hidden', 'true')
    strip.squares.set(step.name, square)
    row.append(square)
  }
  box.append(title, row)
  return box
}

/** The same operation in another layer, or the first step of another part. */
function inPart(strip, part) {
  const same = part.steps.find((step) => step.operation === strip.operation)
  return (same ?? part.steps[0]).name
}

function mark(strip, data) {
  let isPast = true
  for (const part of data.parts) {
    const here = part.steps.find((step) => step.name === data.current)
    const title = strip.titles.get(part.name)
    title.classList.toggle('here', Boolean(here))
    if (here) strip.operation = here.operation
    if (here) showNames(strip, part, here)
    for (const step of part.steps) {
      const square = strip.squares.get(step.name)
      if (step === here) isPast = false
      square.classList.toggle('here', step === here)
      square.classList.toggle('past', isPast)
    }
  }
}

function showNames(strip, part, here) {
  if (strip.shown !== part.name) {
    strip.shown = part.name
    const names = part.steps.map((step) => {
      const name = button('name', step.title, () => strip.choose(step.name))
      name.dataset.step = step.name
      return name
    })
    strip.names.replaceChildren(...names)
  }
  for (const name of strip.names.children) {
    const isHere = name.dataset.step === here.name
    if (isHere) name.setAttribute('aria-current', 'step')
    else name.removeAttribute('aria-current')
  }
}

function button(kind, text, onClick) {
  const made = element('button', kind)
  made.type = 'button'
  made.textContent = text
  made.addEventListener('click', onClick)
  return made
}

function element(tag, kind) {
  const made = document.createElement(tag)
  made.className = kind
  return made
}
