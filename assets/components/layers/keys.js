// Part 3: the arrow keys walk, unless what is in focus needs them itself.

const WAYS = { ArrowLeft: -1, ArrowRight: 1 }
const OWN_ARROWS = [
  ...['input', 'textarea', 'select', 'canvas', 'audio', 'video'],
  ...['[contenteditable]:not([contenteditable=false])', '[aria-haspopup=listbox]'],
  ...['dialog', 'radiogroup', 'slider', 'tablist', 'listbox', 'menu', 'grid', 'combobox'].map(
    (role) => `[role=${role}]`
  ),
].join(',')

function walkByKey(strip, event) {
  const by = WAYS[event.key]
  const hasHelper = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey
  if (!by || hasHelper || event.defaultPrevented || hasOwnArrows(event)) return
  event.preventDefault()
  walk(strip, by)
}

/** Shadows are looked into: what has the focus may be in another component. */
function hasOwnArrows(event) {
  return event.composedPath().some((one) => one instanceof Element && one.matches(OWN_ARROWS))
}
