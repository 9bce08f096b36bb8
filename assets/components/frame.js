// What Streamlit has no setting for: the language of the page, names that only a screen
// reader reads or that appear under the pointer, a menu that lets go of a small screen, and
// a way back whose steps are pages.

const NAMED = ['aria-label', 'data-title', 'placeholder']
const HELP = 'Help for ' // and then what it is about
const NARROW = matchMedia('(width <= 768px)') // where Streamlit lays the menu over the page
const PAGE_LINK = '[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"]'
const CLOSE_MENU = '[data-testid="stSidebarCollapseButton"] button'
const SCROLLING = 'pre, .katex-display, [data-testid="stMarkdownContainer"]:has(table)'
const ROW = '[class*="st-key-"]:has(> [data-testid="stButtonGroup"])'
const STEPS = '.st-key-ft_step'
const TO_STEP = '[class*="st-key-ft_go_"]' // a button that opens another step, and is gone then
const BOX = '[data-testid="stVerticalBlock"][overflow="auto"]' // of a set height

let endLast = () => {}
let pressed = null // in a row of buttons the one with the focus, its row and its number there
let visited = '' // the path of the page that is shown
let touched = location.href // the address as the reader last clicked or pressed a key

/**
 * Tends the page around the app until told to end, or called again.
 * @param {object} data `language`, and `names`: Streamlit's words and what they are called.
 * @returns {function(): void} ends it.
 */
function tendFrame({ language, names }) {
  endLast()
  document.documentElement.lang = language
  let asked = 0
  const tend = () => {
    tellFirstVisit()
    keepFocus()
    asked = 0
    NAMED.forEach((attribute) => rename(attribute, names))
    // What is left of them stands beside words that say the same.
    for (const icon of document.querySelectorAll('[role="img"][aria-label$=" icon"]')) icon.ariaHidden = 'true'
    // By keyboard alone, nobody else could read their end.
    for (const one of document.querySelectorAll(SCROLLING)) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
    }
    for (const one of document.querySelectorAll(BOX)) {
      if (one.scrollHeight > one.clientHeight) one.tabIndex = 0
    }
    for (const one of document.querySelectorAll('[data-testid="stPopoverBody"]')) {
      if (one.scrollHeight <= one.clientHeight || one.tabIndex === 0) continue
      one.tabIndex = 0
      if (!one.contains(document.activeElement)) one.focus()
    }
  }
  const observer = new MutationObserver(() => (asked ||= requestAnimationFrame(tend)))
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: NAMED })
  // A formula becomes wider once its letters have come.
  document.fonts.addEventListener('loadingdone', tend)
  document.addEventListener('click', closeMenu)
  document.addEventListener('focusin', notePressed)
  const endHistory = tendHistory()
  tend()
  endLast = () => {
    observer.disconnect()
    cancelAnimationFrame(asked)
    document.removeEventListener('click', closeMenu)
    document.removeEventListener('focusin', notePressed)
    document.fonts.removeEventListener('loadingdone', tend)
    endHistory()
    NAMED.forEach(giveBack)
  }
  return endLast
}

function notePressed({ target }) {
  const row = target.closest(TO_STEP) ? document.querySelector(STEPS) : target.closest(ROW)
  pressed = row && { target, key: row.className.match(/st-key-\S+/)?.[0], number: buttonsOf(row).indexOf(target) }
}

/**
 * A button whose name changes as it is pressed is another one then: it gets the focus. What
 * opened another step leaves it to the row of steps, above all that the step holds.
 */
function keepFocus() {
  if (!pressed?.key || pressed.target.isConnected || document.activeElement !== document.body) return
  const row = document.querySelector(`.${CSS.escape(pressed.key)}`)
  if (!row) return
  const next = buttonsOf(row)[pressed.number] ?? row.querySelector('[aria-checked="true"]')
  next?.focus()
  next?.focus() // at first a row goes back to the button that had the focus last
}

const buttonsOf = (row) => [...row.querySelectorAll('[data-testid="stButtonGroup"] button')]

/** On the first visit of a page in this browser a style sheet shows how to read it. */
function tellFirstVisit() {
  if (visited === location.pathname) return
  visited = location.pathname
  let isFirst = false
  try {
    isFirst = localStorage.getItem(`visited ${visited}`) === null
    localStorage.setItem(`visited ${visited}`, 'yes')
  } catch {} // a browser that keeps nothing
  document.documentElement.toggleAttribute('data-first-visit', isFirst)
}

function rename(attribute, names) {
  for (const one of document.querySelectorAll(`[${attribute}]`)) {
    const said = one.getAttribute(attribute)
    const begun = said.startsWith(HELP) ? HELP : said
    if (!Object.hasOwn(names, begun) || names[begun] === begun) continue
    one.setAttribute(`data-said-${attribute}`, said)
    one.setAttribute(attribute, names[begun] + said.slice(begun.length))
  }
}

/** The next language finds Streamlit's words again. */
function giveBack(attribute) {
  for (const one of document.querySelectorAll(`[data-said-${attribute}]`)) {
    one.setAttribute(attribute, one.getAttribute(`data-said-${attribute}`))
    one.removeAttribute(`data-said-${attribute}`)
  }
}

/**
 * Going to a page is one step of the way back. Streamlit adds one for each change that a
 * page makes in its own address, too: a choice, a text, the model of a page that has just
 * opened. Such a change belongs to the step before.
 * @returns {function(): void} ends it.
 */
function tendHistory() {
  const end = new AbortController()
  let here = location.href
  let left = ''
  for (const kind of ['click', 'keydown']) {
    addEventListener(kind, () => (touched = location.href), { capture: true, signal: end.signal })
  }
  addEventListener('popstate', () => ([left, here] = [here, location.href]), { signal: end.signal })
  history.pushState = (state, title, url) => {
    if (new URL(url, location.href).pathname === location.pathname) return history.replaceState(state, title, url)
    // A new page may have said its choices before its path: those of the page that is left come back.
    if (new URL(touched).pathname === location.pathname) {
      History.prototype.replaceState.call(history, history.state, '', touched)
    }
    History.prototype.pushState.call(history, state, title, url)
    ;[left, here] = ['', location.href]
  }
  history.replaceState = (state, title, url) => {
    History.prototype.replaceState.call(history, state, title, url)
    here = location.href
    // The first page had said its model before all this began: both are one step.
    if (here === left) history.back()
    left = ''
  }
  return () => {
    end.abort()
    delete history.pushState
    delete history.replaceState
  }
}

function closeMenu({ target }) {
  if (NARROW.matches && target.closest?.(PAGE_LINK)) document.querySelector(CLOSE_MENU)?.click()
}
