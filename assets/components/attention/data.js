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
 * The cells of the shown head worth naming: all of a row or column, or of the head,
 * at or above the threshold, strongest first.
 */
function strongestCells(data, focus, threshold, limit) {
  const cells = []
  const { numTokens } = data
  const add = (from, to) => {
    const weight = weightAt(data, from, to)
    if (weight !== 0 && Math.abs(weight) >= threshold) cells.push({ from, to, weight })
  }
  if (focus.from !== null) {
    for (let to = 0; to < numTokens; to++) add(focus.from, to)
  } else if (focus.to !== null) {
    for (let from = 0; from < numTokens; from++) add(from, focus.to)
  } else {
    for (let from = 0; from < numTokens; from++) {
      for (let to = 0; to < numTokens; to++) add(from, to)
    }
  }
  cells.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight))
  return cells.slice(0, limit)
}

/** The weights of a head: the shown one, or one of all where they are here. */
function matrixOf(data, layer, head) {
  const { everyHead, matrix } = data.arrays
  if (!everyHead) return matrix
  const size = data.numTokens ** 2
  const start = (layer * data.numHeads + head) * size
  return everyHead.subarray(start, start + size)
}

/** Links of another head of the layer: its strongest per row, as they were sent. */
function linksOfHead(data, head, focus, threshold) {
  if (data.arrays.everyHead) {
    const arrays = { matrix: matrixOf(data, data.layer, head) }
    return strongestCells({ ...data, arrays }, focus, threshold, LINES.mostLines)
  }
  const { linkTargets, linkWeights } = data.arrays
  const { numTokens, linksPerRow } = data
  if (!linkTargets) return []
  const cells = []
  for (let from = 0; from < numTokens; from++) {
    if (focus.from !== null && focus.from !== from) continue
    for (let rank = 0; rank < linksPerRow; rank++) {
      const index = (head * numTokens + from) * linksPerRow + rank
      const to = linkTargets[index]
      const weight = linkWeights[index]
      if (focus.from === null && focus.to !== null && focus.to !== to) continue
      if (weight !== 0 && Math.abs(weight) >= threshold) cells.push({ from, to, weight })
    }
  }
  return cells
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
