// Part 14: a chosen head is drawn at once, from what is held of all heads; the page
// answers later. Numbers are said only where they are exact.

// The last texts' heads, by key; they outlive a component that is made anew.
const held = new Map()
const MOST_HELD = 3
const HELD_PARTS = ['thumbnails', 'everyHead', 'heldTargets', 'heldLevels', 'heldRests']

/**
 * Keeps what a payload brings of all heads, or adds what it has left out because it is
 * here.
 * @returns {boolean} false if it is not: the page has to send it again.
 */
function takeHeld(data) {
  if (data.mode === 'map' || data.held === null) return true
  if (!data.arrays.thumbnails) {
    Object.assign(data.arrays, held.get(data.held))
    return held.has(data.held)
  }
  const parts = HELD_PARTS.filter((name) => data.arrays[name])
  held.set(data.held, Object.fromEntries(parts.map((name) => [name, data.arrays[name]])))
  if (held.size > MOST_HELD) held.delete(held.keys().next().value)
  return true
}

/**
 * What the views show: what the page has sent, or another head until it answers. Its
 * `isSketch` tells that cells may be drawn, but not named with numbers.
 */
function dataToShow(app) {
  const { sent, state, isLeaving } = app
  const { layer, head } = state
  const isSent = layer === sent.layer && head === sent.head && !isLeaving
  const isHeld = sent.mode !== 'map' && (sent.held !== null || sent.arrays.everyHead)
  if (isSent || !isHeld) return sent
  const matrix = sent.arrays.everyHead ? matrixOf(sent, layer, head) : sketchOf(sent, layer, head)
  const own = { layer, head, rows: undefined, largest: undefined }
  // Those that were put together may have filters that a single head has not.
  own.isSketch = !sent.arrays.everyHead || isLeaving
  if (isLeaving) Object.assign(own, oneHead(sent))
  const arrays = { ...sent.arrays, matrix }
  if (layer !== sent.layer) arrays.linkTargets = undefined
  return { ...sent, ...own, arrays }
}

/** How a single head is called and measured, where many were put together. */
function oneHead({ words }) {
  return { name: words.shown_head, unit: words.unit_weight, top: 1, isOneHead: true }
}

/** Weights of a head, near enough to be drawn: see `HeldHeads` and `grid_thumbnails`. */
function sketchOf(data, layer, head) {
  const { numTokens, numHeads, arrays } = data
  const place = layer * numHeads + head
  const matrix = new Float32Array(numTokens * numTokens)
  fillFromThumbnail(data, place, matrix)
  const { heldTargets, heldLevels, heldRests } = arrays
  if (!heldTargets) return matrix
  const perRow = heldTargets.length / heldRests.length
  for (let from = 0; from < numTokens; from++) {
    const row = place * numTokens + from
    const rest = thumbnailValue(data, heldRests[row])
    const start = from * numTokens
    // The largest of an area stands in the thumbnail: elsewhere, the row's mean.
    for (let to = start; to < start + numTokens; to++) matrix[to] = Math.min(matrix[to], rest)
    for (let index = row * perRow; index < (row + 1) * perRow; index++) {
      matrix[start + heldTargets[index]] = thumbnailValue(data, heldLevels[index])
    }
  }
  return matrix
}

function fillFromThumbnail(data, place, matrix) {
  const { numTokens, thumbnailSize: [rows, columns], arrays } = data
  const bytes = arrays.thumbnails.subarray(place * rows * columns, (place + 1) * rows * columns)
  const values = Array.from(bytes, (byte) => thumbnailValue(data, byte))
  // The last area that begins at or before a token; see `_strongest_of_areas`.
  const areaOf = (token, count) => Math.ceil(((token + 1) * count) / numTokens) - 1
  const across = Array.from({ length: numTokens }, (_, to) => areaOf(to, columns))
  for (let from = 0; from < numTokens; from++) {
    const first = areaOf(from, rows) * columns
    for (let to = 0; to < numTokens; to++) {
      matrix[from * numTokens + to] = values[first + across[to]]
    }
  }
}

/** Shows the head that the visitor has just chosen, without waiting for the page. */
function drawAhead(app) {
  const { layer } = app.data
  app.data = dataToShow(app)
  forgetPeek(app, app.data.layer !== layer)
  writeWords(app)
  redraw(app)
  noteSwitchTime(app)
}

/** A pointer at rest keeps its line, if the line is still there. */
function forgetPeek({ data, state }, isElsewhere) {
  const { peek } = state
  if (peek && (isElsewhere || (!data.isSketch && !factsOf(data, peek)))) state.peek = null
}

/** Whether the views still show another head than the visitor chose: none is held. */
function isBehind({ data, state }) {
  return state.layer !== data.layer || state.head !== data.head
}

/** Whether the numbers of the head that the visitor chose are still to come. */
function isWaiting(app) {
  return app.data.isSketch === true || isBehind(app)
}

/**
 * From the choice of a head until a frame shows it, and until its exact numbers are
 * here: `data-switch-ms` and `data-exact-ms` of the root.
 */
function noteSwitchTime(app) {
  const { askedAt, root } = app
  if (askedAt === undefined || isBehind(app)) return
  const since = () => (performance.now() - askedAt).toFixed(1)
  if (app.drawnFor !== askedAt) requestAnimationFrame(() => (root.dataset.switchMs = since()))
  app.drawnFor = askedAt
  if (isWaiting(app)) return
  root.dataset.exactMs = since()
  app.askedAt = undefined
}

// What a page has asked last: it outlives a component that is made anew.
let answered = ''

/**
 * Says, once, that what the page has asked for is shown. Not where the visitor has gone
 * on since: the answer to that will ask again.
 */
function answerAsked(app, sent, sayShown) {
  const hasGoneOn = app.sent !== sent || (sent.turn !== 0 && sent.turn < app.turn)
  if (!sent.asked || sent.asked === answered || hasGoneOn) return
  answered = sent.asked
  // After the frame, which this function runs before.
  setTimeout(() => sayShown(answered))
}
