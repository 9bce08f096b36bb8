// Shared: the lines around what is drawn on a canvas, found by marching squares.
// Source: W. E. Lorensen, H. E. Cline, "Marching Cubes", SIGGRAPH 1987, in the plane;
// corners that a line does without: D. H. Douglas, T. K. Peucker, 1973.

const HALF_COVERED = 127.5 // of 255

/**
 * Lines around all that is more than half covered, each closed, to a fraction of a pixel.
 * @param {Uint8Array} cover `[height, width]`, 0 to 255; the outermost pixels are empty,
 *   or an error is thrown.
 * @returns {number[][][]} of each line its corners [x, y]; the first pixel reaches from 0
 *   to 1. Lines around holes run the other way.
 */
function contoursOf(cover, width, height) {
  const inside = cover.map((one) => one > HALF_COVERED)
  const crossed = { follows: new Map(), places: new Map() } // of edges, by their numbers
  const last = width * (height - 1) - 1
  for (let at = 0; at < last; at++) {
    const number = inside[at] + inside[at + 1] + inside[at + width] + inside[at + width + 1]
    if (number === 0 || number === 4) continue
    const corners = [at, at + 1, at + width + 1, at + width].map((place) => cover[place])
    const middle = [(at % width) + 0.5, Math.floor(at / width) + 0.5]
    crossSquare(corners, middle, [2 * at, 2 * at + 3, 2 * (at + width), 2 * at + 1], crossed)
  }
  return closedLines(crossed)
}

/**
 * Draws the line, or the two lines, through a square between the middles of four pixels.
 * @param {number[]} corners clockwise from the left upper one, as are the numbers of edges,
 *   which a square shares with its neighbours.
 */
function crossSquare(corners, [left, top], edges, { follows, places }) {
  const inside = corners.map((corner) => corner > HALF_COVERED)
  // Where two corners lie across from each other, they hang together if the middle does.
  const isJoined = corners.reduce((sum, corner) => sum + corner) / 4 > HALF_COVERED
  for (let side = 0; side < 4; side++) {
    const next = (side + 1) % 4
    if (inside[side] === inside[next]) continue
    const part = (HALF_COVERED - corners[side]) / (corners[next] - corners[side])
    places.set(edges[side], crossing(side, part, left, top))
    if (inside[side]) continue
    // In at this side; out at the next one clockwise or, around a joined pair, back.
    const step = isJoined ? 3 : 1
    let out = (side + step) % 4
    while (!(inside[out] && !inside[(out + 1) % 4])) out = (out + step) % 4
    follows.set(edges[side], edges[out])
  }
}

function crossing(side, part, left, top) {
  if (side === 0) return [left + part, top]
  if (side === 1) return [left + 1, top + part]
  return side === 2 ? [left + 1 - part, top + 1] : [left, top + 1 - part]
}

function closedLines({ follows, places }) {
  const lines = []
  while (follows.size) {
    const line = []
    const [start] = follows.keys()
    let edge = start
    while (follows.has(edge)) {
      line.push(places.get(edge))
      const next = follows.get(edge)
      follows.delete(edge)
      edge = next
    }
    if (edge !== start) throw new Error('What is drawn reaches over the edge.')
    lines.push(line)
  }
  return lines
}

/** A closed line with fewer corners, which lies nowhere farther away than so much. */
function simplified(line, tolerance) {
  const apart = line.map(([x, y]) => Math.hypot(x - line[0][0], y - line[0][1]))
  const far = apart.indexOf(Math.max(...apart))
  const there = straightened(line.slice(0, far + 1), tolerance)
  const back = straightened([...line.slice(far), line[0]], tolerance)
  return [...there.slice(0, -1), ...back.slice(0, -1)]
}

function straightened(line, tolerance) {
  const [start, end] = [line[0], line.at(-1)]
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]]
  const length = Math.hypot(dx, dy) || 1
  const away = line.map(([x, y]) => Math.abs((x - start[0]) * dy - (y - start[1]) * dx) / length)
  const most = Math.max(...away)
  if (most <= tolerance) return [start, end]
  const middle = away.indexOf(most)
  const first = straightened(line.slice(0, middle + 1), tolerance)
  return [...first.slice(0, -1), ...straightened(line.slice(middle), tolerance)]
}

/** Closed lines as the data of a path, in whole numbers: so many to a pixel. */
function pathOf(lines, perPixel) {
  const drawn = lines.map((line) => {
    const points = line.map(([x, y]) => [Math.round(x * perPixel), Math.round(y * perPixel)])
    const steps = points.slice(1).map(([x, y], i) => `${x - points[i][0]} ${y - points[i][1]}`)
    return `M${points[0].join(' ')}l${steps.join(' ')}z`
  })
  return drawn.join('').replaceAll(' -', '-')
}
