// Part 1 of the point map: where each point lies.
// The parts are joined in the order of `PARTS` (bertviz_core/figures/component_files.py)
// and share one scope.

/** Coordinates of one state, float [M * k]; the longest axis of all states is 2 long. */
function positionsOf(data, state) {
  const { coordinates } = data.arrays
  const { numPoints: count, numAxes: axes } = data
  data.frame ??= frameOf(data)
  const { middle, half } = data.frame
  const made = new Float32Array(count * axes)
  const start = state * count * axes
  for (let index = 0; index < made.length; index++) {
    made[index] = (coordinates[start + index] - middle[index % axes]) / half
  }
  return made
}

// Some points of a t-SNE fly far off; with all of them in view the others are a speck.
const FAR_SHARE = 0.002
const FAR_TIMES = 1.5
const RIM = 1.15

/**
 * Middle of each axis, half of the longest, which is the unit, and how far each reaches
 * in it: of all points, or of all but a few that lie far away. Zoomed to `wholeZoom`,
 * all are in view.
 */
function frameOf({ arrays: { coordinates }, numAxes }) {
  const sorted = Array.from({ length: numAxes }, (_, axis) =>
    coordinates.filter((_, index) => index % numAxes === axis).sort()
  )
  const whole = boundsOf(sorted, 0)
  const most = boundsOf(sorted, Math.floor(sorted[0].length * FAR_SHARE))
  if (whole.half <= FAR_TIMES * RIM * most.half) return { ...whole, wholeZoom: 1 }
  const half = RIM * most.half
  const outmost = Math.max(...sorted.map((values, axis) => {
    const [low, high] = [values[0], values[values.length - 1]]
    return Math.max(high - most.middle[axis], most.middle[axis] - low) / half
  }))
  return { ...most, half, wholeZoom: 1 / outmost }
}

/** Of each axis all values but `cut` at either end. */
function boundsOf(sorted, cut) {
  const ends = sorted.map((values) => [values[cut], values[values.length - 1 - cut]])
  const halves = ends.map(([low, high]) => (high - low) / 2)
  const half = Math.max(...halves) || 1
  return {
    middle: ends.map(([low, high]) => (low + high) / 2),
    half,
    reach: halves.map((value) => value / half),
  }
}

/** How many of the drawn points lie beyond the frame, while it does not show all. */
function countFar({ data, state, now, seen }) {
  const { numAxes, frame } = data
  if (frame.wholeZoom === 1 || state.zoom <= frame.wholeZoom) return 0
  let count = 0
  for (let point = 0; point < seen.length; point++) {
    const place = now.subarray(point * numAxes, (point + 1) * numAxes)
    if (seen[point] && place.some((value) => Math.abs(value) > 1)) count += 1
  }
  return count
}

/** The value of the chosen colour at a point, in words. */
function valueInWords(data, colorIndex, point) {
  const color = data.colors[colorIndex]
  const raw = data.arrays[`color${colorIndex}`][point + offsetOf(data, color)]
  if (color.names) return color.names[raw]
  return `${color.title} ${numberInWords(raw)}`
}

/** Four digits of a number, or all before the point: an entry 12345 is not 12340. */
function numberInWords(value) {
  return String(Math.abs(value) < 1000 ? Number(value.toPrecision(4)) : Math.round(value))
}

/** Where the colours of the shown state begin; a column may have one row a state. */
function offsetOf(data, color) {
  return color.byState ? data.shownState * data.numPoints : 0
}

/** Points whose label or context holds a text; capitals are all the same. */
function matchesOf(data, search) {
  const wanted = search.trim().toLowerCase()
  if (!wanted) return null
  data.lowered ??= data.labels.map((label) => label.toLowerCase())
  const contexts = data.contexts.map((context) => context.toLowerCase().includes(wanted))
  const { contextOf } = data.arrays
  const found = new Uint8Array(data.numPoints)
  for (let point = 0; point < found.length; point++) {
    const inContext = contextOf ? contexts[contextOf[point]] : false
    if (data.lowered[point].includes(wanted) || inContext) found[point] = 1
  }
  return found
}

/** Matches by how well they fit: the whole name, its beginning, any part of it. */
function rankedMatches(data, matches, search, most) {
  const wanted = search.trim().toLowerCase()
  const ranks = [[], [], []]
  for (let point = 0; point < matches.length; point++) {
    if (!matches[point]) continue
    const label = data.lowered[point]
    const rank = label === wanted ? 0 : label.startsWith(wanted) ? 1 : 2
    if (ranks[rank].length < most) ranks[rank].push(point)
  }
  return ranks.flat().slice(0, most)
}

/** What stands behind a point, or nothing. */
function contextAt(data, point) {
  const { contextOf } = data.arrays
  const context = contextOf ? data.contexts[contextOf[point]] : ''
  return context === data.labels[point] ? '' : context
}
