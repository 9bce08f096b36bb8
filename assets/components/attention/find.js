// Part 7: what of the lines is under the pointer.

const NEAR_LINE = 6 // CSS pixels

/** A point of the canvas along the tokens and across them. */
function placeInLines(app, { x, y }) {
  const { linesBox } = app.parts
  return turned(app, x + linesBox.scrollLeft, y + linesBox.scrollTop)
}

/** The token under a point as a cell with one side; `null` between the columns. */
function tokenAt(app, point) {
  const { step, near, far } = linesGeometry(app)
  const [along, across] = placeInLines(app, point)
  const index = Math.floor(along / step)
  if (index < 0 || index >= app.data.numTokens) return null
  if (across <= near) return { from: index, to: null }
  return across >= far ? { from: null, to: index } : null
}

/** The line under a point, with its head; `null` where there is none. */
function linkAt(app, point) {
  const { step, near, far } = linesGeometry(app)
  const [along, across] = placeInLines(app, point)
  if (across <= near || across >= far) return null
  const share = shareOfCurve((across - near) / (far - near))
  let best = null
  let least = NEAR_LINE
  for (const link of linksToDraw(app).links) {
    const distance = distanceTo(link, share, along, step, far - near)
    // The stronger one is drawn later: of two alike, it lies on top.
    if (distance > least) continue
    least = distance
    best = link
  }
  return best
}

function distanceTo({ from, to }, t, along, step, width) {
  const rise = (to - from) * step
  const there = (from + 0.5) * step + rise * (3 * t * t - 2 * t ** 3)
  const slope = (rise * (6 * t - 6 * t * t)) / (width * (1.5 - 3 * t + 3 * t * t))
  return Math.abs(there - along) / Math.hypot(1, slope)
}

/** The locked token and the one on the other side that a cell names, or `null`. */
function pairWith(state, cell) {
  const { from, to } = state.locked ? state.chosen : { from: null, to: null }
  if (!cell || (from === null) === (to === null)) return null
  const pair = { from: from ?? cell.from, to: to ?? cell.to }
  return pair.from === null || pair.to === null ? null : pair
}
