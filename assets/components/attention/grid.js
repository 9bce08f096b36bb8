// Part 4: the grid of all heads, rows layers and columns heads.

const GRID_LABEL = 30
const GRID_CELL = { smallest: 24, largest: 46, gap: 2 }
const MOST_WRITTEN = 5 // cells of a map that carry their number

function gridGeometry(app) {
  const { numLayers, numHeads } = app.data
  const room = app.parts.gridBox.clientWidth - GRID_LABEL - 4
  const cell = Math.max(
    GRID_CELL.smallest,
    Math.min(GRID_CELL.largest, Math.floor(room / numHeads))
  )
  return {
    cell,
    width: GRID_LABEL + numHeads * cell + 2,
    height: GRID_LABEL + numLayers * cell + 2,
  }
}

/** Draws all heads; the time that took stands in `data-grid-ms` of the root. */
function drawGrid(app, canvas = app.parts.grid, pixelRatio = undefined) {
  const began = performance.now()
  const { data, theme, state } = app
  const geometry = gridGeometry(app)
  const { cell } = geometry
  const context = prepare(canvas, geometry, theme.background, pixelRatio)
  const inner = cell - GRID_CELL.gap
  const at = (index) => GRID_LABEL + index * cell
  if (data.mode === 'map') drawMapCells(app, context, at, inner)
  else drawThumbnails(app, context, at, inner)
  writeGridNumbers(app, context, at, cell)
  context.lineWidth = 1
  context.strokeStyle = theme.border
  for (let layer = 0; layer < data.numLayers; layer++) {
    for (let head = 0; head < data.numHeads; head++) {
      context.strokeRect(at(head) + 0.5, at(layer) + 0.5, inner - 1, inner - 1)
    }
  }
  if (state.gridHover) outlineHead(context, at, inner, state.gridHover, theme.text, 1.5)
  if (state.layer !== null) {
    outlineHead(context, at, inner, state, theme.background, 4)
    outlineHead(context, at, inner, state, theme.primary, 2.5)
  }
  app.root.dataset.gridMs = (performance.now() - began).toFixed(1)
}

function outlineHead(context, at, inner, place, color, width) {
  context.strokeStyle = color
  context.lineWidth = width
  context.strokeRect(at(place.head) - 0.5, at(place.layer) - 0.5, inner + 1, inner + 1)
}

function writeGridNumbers(app, context, at, cell) {
  const { data, theme, state } = app
  context.fillStyle = theme.text
  context.textAlign = 'center'
  for (let head = 0; head < data.numHeads; head++) {
    setFont(app, context, head === state.head)
    context.fillText(String(head + 1), at(head) + cell / 2, GRID_LABEL - 9)
  }
  context.textAlign = 'right'
  for (let layer = 0; layer < data.numLayers; layer++) {
    setFont(app, context, layer === state.layer)
    context.fillText(String(layer + 1), GRID_LABEL - 6, at(layer) + cell / 2)
  }
}

/** All thumbnails as one picture, then every head scaled to its place. */
function drawThumbnails(app, context, at, inner) {
  const { data } = app
  const [rows, columns] = data.thumbnailSize
  const size = rows * columns
  const colors = thumbnailColors(app)
  const picture = new ImageData(columns, data.numLayers * data.numHeads * rows)
  const pixels = new Uint32Array(picture.data.buffer)
  const { thumbnails } = data.arrays
  for (let first = 0; first < thumbnails.length; first += size) {
    const table = colors.forHead(thumbnails.subarray(first, first + size))
    for (let index = first; index < first + size; index++) {
      pixels[index] = table[thumbnails[index]]
    }
  }
  const sheet = document.createElement('canvas')
  sheet.width = picture.width
  sheet.height = picture.height
  sheet.getContext('2d').putImageData(picture, 0, 0)
  context.imageSmoothingEnabled = false
  for (let layer = 0; layer < data.numLayers; layer++) {
    for (let head = 0; head < data.numHeads; head++) {
      const top = (layer * data.numHeads + head) * rows
      context.drawImage(sheet, 0, top, columns, rows, at(head), at(layer), inner, inner)
    }
  }
}

/** Colours of the 256 bytes. By row, a thumbnail is scaled to its own largest value. */
function thumbnailColors(app) {
  const { data, state } = app
  const tableUpTo = (top) =>
    Uint32Array.from({ length: 256 }, (_, byte) => {
      const [red, green, blue] = colorOf(app, thumbnailValue(data, byte), top)
      return (255 << 24) | (blue << 16) | (green << 8) | red
    })
  const largest = (bytes) =>
    bytes.reduce((top, byte) => Math.max(top, Math.abs(thumbnailValue(data, byte))), 0)
  if (state.scale === 'row') return { forHead: (bytes) => tableUpTo(largest(bytes) || 1) }
  const top = data.isDifference ? largest(data.arrays.thumbnails) || 1 : 1
  const table = tableUpTo(top)
  return { forHead: () => table }
}

/** One number a head: its colour, and what is written on it. */
function drawMapCells(app, context, at, inner) {
  const { data } = app
  const write = cellWriting(data)
  setFont(app, context)
  context.textAlign = 'center'
  for (let layer = 0; layer < data.numLayers; layer++) {
    for (let head = 0; head < data.numHeads; head++) {
      const value = data.arrays.values[layer * data.numHeads + head]
      if (Number.isNaN(value)) continue
      const color = colorOf(app, value, data.limit)
      context.fillStyle = css(color)
      context.fillRect(at(head), at(layer), inner, inner)
      const written = write(value)
      if (!written || context.measureText(written).width > inner) continue
      context.fillStyle = luminance(color) > 0.5 ? '#0F1620' : '#FFFFFF'
      context.fillText(written, at(head) + inner / 2, at(layer) + inner / 2)
    }
  }
}

/** Says what a cell carries, so that colour is not the only sign: which sign a number has
 *  where both may be, else the number, if it is one of the largest, or of distances one of
 *  the smallest; of others nothing. */
function cellWriting({ arrays, isDifference, isDistance, limit }) {
  if (isDifference) return (value) => (Math.abs(value) < limit / 10 ? '' : value < 0 ? '−' : '+')
  const rank = isDistance ? (value) => -value : (value) => value
  const ranks = [...arrays.values].filter((value) => value > 0).map(rank)
  const end = ranks.sort((one, other) => other - one)[MOST_WRITTEN] ?? -Infinity
  return (value) => (value > 0 && rank(value) > end ? numeral(value, 2) : '')
}

/** The head under a point, or `null`. */
function headAt(app, { x, y }) {
  const { cell } = gridGeometry(app)
  const head = Math.floor((x - GRID_LABEL) / cell)
  const layer = Math.floor((y - GRID_LABEL) / cell)
  const { numLayers, numHeads } = app.data
  if (head < 0 || layer < 0 || head >= numHeads || layer >= numLayers) return null
  return { layer, head }
}
