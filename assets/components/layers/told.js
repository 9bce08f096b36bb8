// Part 1: which step is looked at. The strip tells it, the picture listens: both are on
// one page, each in a shadow of its own, and the page itself need not answer first.

const TOLD = 'bert-explorer-step'
const ASKED = 'bert-explorer-step-asked'

function tellStep(name) {
  document.dispatchEvent(new CustomEvent(TOLD, { detail: name }))
}

/** Answers who comes later and asks; returns what ends it. */
function answerForStep(nameOf) {
  const answer = () => tellStep(nameOf())
  document.addEventListener(ASKED, answer)
  return () => document.removeEventListener(ASKED, answer)
}

/** Hears of every step that is chosen, and of the present one now. */
function hearOfSteps(take) {
  const hear = ({ detail }) => take(detail)
  document.addEventListener(TOLD, hear)
  document.dispatchEvent(new CustomEvent(ASKED))
  return () => document.removeEventListener(TOLD, hear)
}
