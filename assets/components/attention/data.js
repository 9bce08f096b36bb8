// Part 1 of the attention component: the numbers in what arrives.
// The parts are joined in the order of `PARTS` (bertviz_core/figures/component_files.py)
// and share one scope.

/** One weight of the shown head. */
function weightAt(data, from, to) {
  return data.arrays.matrix[from * data.numTokens + to]
}

/** Sum and largest magnitude of a row of the shown head, kept once computed. */
function rowFacts(data, from) {
  data.rows ??= new Map()
  if (!data.rows.has(from)) {
    let sum = 0
    let largest = 0
    for (let to = 0; to < data.numTokens; to++) {
      const weight = weightAt(data, from, to)
      sum += weight
      largest = Math.max(largest, Math.abs(weight))
    }
    data.rows.set(from, { sum, largest })
  }
  return data.rows.get(from)
}

/** 1 for the largest weight of its row; equals share a rank. Differences by size. */
function rankInRow(data, from, to) {
  const weight = Math.abs(weightAt(data, from, to))
  let rank = 1
  for (let other = 0; other < data.numTokens; other++) {
    if (Math.abs(weightAt(data, from, other)) > weight) rank += 1
  }
  return rank
}

/** Largest magnitude in the shown head, which the diverging map reaches up to. */
function largestMagnitude(data) {
  data.largest ??= data.arrays.matrix.reduce((top, x) => Math.max(top, Math.abs(x)), 0)
  return data.largest || 1
}

/** The value that the end of the scale stands for, but for a scale by row. */
function topOf(data) {
  if (data.mode === 'map') return data.limit
  return data.isDifference ? largestMagnitude(data) : data.top
}

/** Which head is shown, or what was put together, with its numbers. */
function nameShown(data) {
  const numbers = numbersOf(data)
  return data.name.replace(/\{(\w+)\}/g, (whole, key) => numbers[key] ?? whole)
}

/** What a byte of a thumbnail stands for; see `grid_thumbnails`. */
function thumbnailValue(data, byte) {
  if (!data.isDifference) return (byte / 255) ** 2
  const root = (byte - 128) / 127
  return Math.sign(root) * root * root
}

/**
 * The cells of the shown head worth naming: of a cell, a row, a column, or of the head,
 * at or above the threshold.
 * @returns {{cells: object[], count: number}} at most `limit` of them, strongest first,
 *     and how many there are.
 */
function strongestCells(data, focus, threshold, limit) {
  const { numTokens, arrays: { matrix } } = data
  const range = (token) => (token === null ? [0, numTokens] : [token, token + 1])
  const [[top, bottom], [left, right]] = [range(focus.from), range(focus.to)]
  const places = []
  for (let from = top; from < bottom; from++) {
    for (let to = left; to < right; to++) {
      const size = Math.abs(matrix[from * numTokens + to])
      if (size > 0 && size >= threshold) places.push(from * numTokens + to)
    }
  }
  // Numbers are sorted fast, cells are not. Of equals the first ones count.
  const sizes = Float64Array.from(places, (place) => Math.abs(matrix[place])).sort().reverse()
  const least = sizes[limit - 1] ?? 0
  let numLeast = limit - sizes.indexOf(least)
  const cells = places
    .filter((place) => {
      const size = Math.abs(matrix[place])
      return size > least || (size === least && numLeast-- > 0)
    })
    .map((place) => ({ from: Math.floor(place / numTokens), to: place % numTokens, weight: matrix[place] }))
  cells.sort((one, other) => Math.abs(other.weight) - Math.abs(one.weight))
  return { cells, count: places.length }
}

/** The weights of a head: the shown one, or one of all where they are here. */
function matrixOf(data, layer, head) {
  const { everyHead, matrix } = data.arrays
  if (!everyHead) return matrix
  const size = data.numTokens ** 2
  const start = (layer * data.numHeads + head) * size
  return everyHead.subarray(start, start + size)
}

/**
 * Links of another head of the layer: its strongest per row, as they were sent.
 * @returns as `strongestCells`, and `mayHaveMore`: whether links that were not sent
 *     could be at the threshold, too.
 */
function linksOfHead(data, head, focus, threshold) {
  if (data.arrays.everyHead) {
    const arrays = { matrix: matrixOf(data, data.layer, head) }
    return strongestCells({ ...data, arrays }, focus, threshold, LINES.mostLines)
  }
  const { linkTargets, linkWeights } = data.arrays
  const { numTokens, linksPerRow } = data
  if (!linkTargets) return { cells: [], count: 0, mayHaveMore: true }
  const cells = []
  let mayHaveMore = false
  for (let from = 0; from < numTokens; from++) {
    if (focus.from !== null && focus.from !== from) continue
    const start = (head * numTokens + from) * linksPerRow
    const targets = linkTargets.subarray(start, start + linksPerRow)
    targets.forEach((to, rank) => {
      const weight = linkWeights[start + rank]
      if (focus.to !== null && focus.to !== to) return
      if (weight !== 0 && Math.abs(weight) >= threshold) cells.push({ from, to, weight })
    })
    const least = Math.abs(linkWeights[start + linksPerRow - 1])
    const isAsked = focus.to === null || !targets.includes(focus.to)
    mayHaveMore ||= isAsked && linksPerRow < numTokens && least > 0 && least >= threshold
  }
  return { cells, count: cells.length, mayHaveMore }
}

/**
 * Weight, sum of its row and rank in it, of any head whose numbers are here; `null`
 * for a link that was not sent, because it is not among the strongest of its row, and
 * for a head that is but sketched.
 */
function factsOf(data, { from, to, head = data.head }) {
  if (head === data.head && data.isSketch) return null
  if (head === data.head || data.arrays.everyHead) {
    const arrays = { matrix: head === data.head ? data.arrays.matrix : matrixOf(data, data.layer, head) }
    const own = head === data.head ? data : { ...data, arrays, rows: undefined }
    const { sum } = rowFacts(own, from)
    return { weight: weightAt(own, from, to), sum, rank: rankInRow(own, from, to) }
  }
  if (!data.arrays.linkTargets) return null
  const { numTokens, linksPerRow } = data
  const row = head * numTokens + from
  const targets = data.arrays.linkTargets.subarray(row * linksPerRow, (row + 1) * linksPerRow)
  const rank = targets.indexOf(to)
  if (rank < 0) return null
  const weights = data.arrays.linkWeights.subarray(row * linksPerRow, (row + 1) * linksPerRow)
  // Equals share a rank, as in `rankInRow`.
  const first = weights.findIndex((weight) => Math.abs(weight) === Math.abs(weights[rank]))
  return { weight: weights[rank], sum: data.arrays.linkSums[row], rank: first + 1 }
}

/** A token as it is named in a sentence, with the sign of its kind. */
function nameOf(data, index) {
  return index === null ? say(data, 'every_token') : data.labels[index]
}
