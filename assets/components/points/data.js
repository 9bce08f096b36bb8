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

/** Middle and half of each axis, and half of the longest, which is the unit. */
function frameOf({ arrays: { coordinates }, numAxes }) {
  const low = new Array(numAxes).fill(Infinity)
  const high = new Array(numAxes).fill(-Infinity)
  for (let index = 0; index < coordinates.length; index++) {
    const axis = index % numAxes
    if (coordinates[index] < low[axis]) low[axis] = coordinates[index]
    if (coordinates[index] > high[axis]) high[axis] = coordinates[index]
  }
  const halves = low.map((value, axis) => (high[axis] - value) / 2)
  const half = Math.max(...halves) || 1
  return {
    middle: low.map((value, axis) => (value + high[axis]) / 2),
    half,
    reach: halves.map((value) => value / half),
  }
}

/** The value of the chosen colour at a point, in words. */
function valueInWords(data, colorIndex, point) {
  const color = data.colors[colorIndex]
  const raw = data.arrays[`color${colorIndex}`][point + offsetOf(data, color)]
  if (color.names) return color.names[raw]
  const value = color.low + (raw / 255) * (color.high - color.low)
  return `${color.title} ${Number(value.toPrecision(3))}`
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
