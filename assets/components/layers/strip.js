// Part 2: the strip of all steps: a way back and on, a square for each, and the names of
// those in the part of the network where the visitor is. Text comes as data and is set
// as text, never as HTML.

const strips = new WeakMap()
const ANSWER_MS = 10_000

/**
 * Shows the steps below an element; called again, it moves the mark.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {object} data `words`, `parts` with their `steps`, the `current` step, and the
 *     `turn` of the choice that the page has taken last.
 * @param {function(object): void} choose takes the name of a `step` and the `turn`.
 * @returns {function(): void} ends it.
 */
function showStrip(parent, data, choose) {
  const host = parent.querySelector('.walk-strip')
  const known = strips.get(host)
  const sign = JSON.stringify([data.words, data.parts])
  const strip = known?.sign === sign ? known : buildStrip(host, data, sign, known)
  strips.set(host, strip)
  strip.send = choose
  receiveStep(strip, data)
  return () => endStrip(host)
}

function endStrip(host) {
  strips.get(host)?.end()
  strips.delete(host)
}

function buildStrip(host, data, sign, before) {
  before?.end()
  const steps = data.parts.flatMap((part) => part.steps.map((step) => ({ ...step, part })))
  const strip = { sign, data, steps, squares: new Map(), titles: new Map(), turn: before?.turn ?? 0 }
  strip.map = element('div', { className: 'map' }, data.parts.map((part) => buildPart(strip, part)))
  strip.names = element('div', { className: 'names' })
  host.replaceChildren(buildWays(strip), strip.map, strip.names)
  host.setAttribute('aria-label', say(data, 'label'))
  const onKey = (event) => walkByKey(strip, event)
  document.addEventListener('keydown', onKey)
  strip.end = () => document.removeEventListener('keydown', onKey)
  return strip
}

function buildWays(strip) {
  const way = (key, sign, by) => {
    const made = button('way', '', () => walk(strip, by))
    const arrow = element('span', { className: 'arrow', 'aria-hidden': 'true', textContent: sign })
    made.append(...(by < 0 ? [arrow, say(strip.data, key)] : [say(strip.data, key), arrow]))
    made.setAttribute('aria-keyshortcuts', by < 0 ? 'ArrowLeft' : 'ArrowRight')
    return made
  }
  strip.back = way('previous', '←', -1)
  strip.on = way('next', '→', 1)
  strip.count = element('span', { className: 'count', role: 'status' })
  strip.bar = element('progress', { className: 'progress', max: strip.steps.length })
  strip.bar.setAttribute('aria-hidden', 'true')
  const progress = element('div', { className: 'progress-box' }, [strip.count, strip.bar])
  return element('div', { className: 'ways' }, [strip.back, strip.on, progress])
}

function buildPart(strip, part) {
  const title = button('title', part.title, () => choose(strip, inPart(strip, part)))
  strip.titles.set(part.name, title)
  const squares = part.steps.map((step) => {
    const square = button('square', '', () => choose(strip, step.name))
    square.title = `${part.title}: ${step.title}`
    // The names below and the titles say the same to keyboard and screen reader.
    square.tabIndex = -1
    square.setAttribute('aria-hidden', 'true')
    strip.squares.set(step.name, square)
    return square
  })
  return element('div', { className: 'part' }, [
    title,
    element('div', { className: 'squares' }, squares),
  ])
}

/** The same operation in another layer, or the first step of another part. */
function inPart(strip, part) {
  const same = part.steps.find((step) => step.operation === strip.current.operation)
  return (same ?? part.steps[0]).name
}

/** Takes what the page says, unless it answers an earlier choice than the last one. */
function receiveStep(strip, data) {
  const isLate = data.turn < strip.turn && performance.now() - strip.askedAt < ANSWER_MS
  if (isLate) return
  strip.turn = data.turn
  mark(strip, data.current)
}

/** Goes to a step: marked at once, the page follows. */
function choose(strip, name) {
  strip.turn += 1
  strip.askedAt = performance.now()
  strip.send({ step: name, turn: strip.turn })
  mark(strip, name)
}

function walk(strip, by) {
  const next = strip.steps[strip.steps.indexOf(strip.current) + by]
  if (next) choose(strip, next.name)
}

function mark(strip, name) {
  const { steps, data } = strip
  const place = steps.findIndex((step) => step.name === name)
  const here = steps[place]
  strip.current = here
  steps.forEach((step, index) => {
    const { classList } = strip.squares.get(step.name)
    classList.toggle('here', step === here)
    classList.toggle('past', index < place)
  })
  strip.titles.forEach((title, part) => title.classList.toggle('here', part === here.part.name))
  strip.back.disabled = place === 0
  strip.on.disabled = place === steps.length - 1
  strip.bar.value = place + 1
  const count = say(data, 'progress', { number: place + 1, count: steps.length })
  if (strip.count.textContent !== count) strip.count.textContent = count
  showNames(strip, here)
  tellStep(name)
}

function showNames(strip, here) {
  if (strip.shown !== here.part.name) {
    strip.shown = here.part.name
    const names = here.part.steps.map((step) => {
      const name = button('name', step.title, () => choose(strip, step.name))
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

function button(className, textContent, onclick) {
  return element('button', { type: 'button', className, textContent, onclick })
}
