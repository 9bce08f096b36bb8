// Part 1: which step is looked at. The strip tells it, the picture listens: both are on
// one page, each in a shadow of its own, and the page itself need not answer first.

const TOLD = 'bert-explorer-step'

function tellStep(name) {
  window[TOLD] = name
  window.dispatchEvent(new Event(TOLD))
}
