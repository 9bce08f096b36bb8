// What Streamlit has no setting for: the language of the page, names that only a screen
// reader reads or that appear under the pointer, and a menu that lets go of a small screen.

const NAMED = ['aria-label', 'data-title']
const NARROW = matchMedia('(width <= 768px)') // where Streamlit lays the menu over the page
const PAGE_LINK = '[data-testid="stSidebar"] [data-testid="stPageLink-NavLink"]'
const CLOSE_MENU = '[data-testid="stSidebarCollapseButton"] button'
const SCROLLING = 'pre, .katex-display'

let endLast = () => {}

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
    asked = 0
    NAMED.forEach((attribute) => rename(attribute, names))
    // By keyboard alone, nobody else could read their end.
    for (const one of document.querySelectorAll(SCROLLING)) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
    }
  }
  const observer = new MutationObserver(() => (asked ||= requestAnimationFrame(tend)))
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: NAMED })
  document.addEventListener('click', closeMenu)
  tend()
  endLast = () => {
    observer.disconnect()
    cancelAnimationFrame(asked)
    document.removeEventListener('click', closeMenu)
    NAMED.forEach(giveBack)
  }
  return endLast
}

function rename(attribute, names) {
  for (const one of document.querySelectorAll(`[${attribute}]`)) {
    const said = one.getAttribute(attribute)
    if (!Object.hasOwn(names, said) || names[said] === said) continue
    one.setAttribute(`data-said-${attribute}`, said)
    one.setAttribute(attribute, names[said])
  }
}

/** The next language finds Streamlit's words again. */
function giveBack(attribute) {
  for (const one of document.querySelectorAll(`[data-said-${attribute}]`)) {
    one.setAttribute(attribute, one.getAttribute(`data-said-${attribute}`))
    one.removeAttribute(`data-said-${attribute}`)
  }
}

function closeMenu({ target }) {
  if (NARROW.matches && target.closest?.(PAGE_LINK)) document.querySelector(CLOSE_MENU)?.click()
}
