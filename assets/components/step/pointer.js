// Part 5: the number under the pointer.

function listenToPointer(app) {
  const { sheet } = app
  sheet.addEventListener('pointermove', (event) => pointAt(app, event))
  sheet.addEventListener('pointerdown', (event) => pointAt(app, event))
  sheet.addEventListener('pointerleave', () => forgetCell(app))
}

function forgetCell(app) {
  app.told.hidden = true
  app.ring.setAttribute('visibility', 'hidden')
}

function pointAt(app, event) {
  const { drawn, picture } = app
  const cell = drawn.box && cellAt(drawn, pointIn(app.sheet, event))
  if (!cell || Number.isNaN(valueAt(drawn, picture, cell))) return forgetCell(app)
  app.told.textContent = tell(drawn, picture, cell)
  app.told.hidden = false
  placeTold(app, cell)
}

function cellAt({ box, layout }, { x, y }) {
  const column = Math.floor(((x - box.left) / box.width) * layout.numColumns)
  const row = Math.floor((y - box.top) / ROW)
  const isInside = column >= 0 && column < layout.numColumns && row >= 0 && row * ROW < box.height
  return isInside ? { row, column } : null
}

function valueAt({ layout }, picture, { row, column }) {
  return picture.values[row * layout.numColumns + column]
}

/** Row, column and number in words. */
function tell(drawn, picture, cell) {
  const { row, column } = cell
  const { columns, starts, rowTitle, columnTitle } = picture
  const first = starts ? starts[row] : 1
  const name = columns ? columns[column] : `${columnTitle} ${first + column}`
  // A row of a folded vector has no other name than the numbers in it.
  const place = starts ? '' : [rowTitle, picture.rows[row]].filter(Boolean).join(' ') + ' · '
  return `${place}${name}: ${numeral(valueAt(drawn, picture, cell), 5)}`
}

/** Beside the cell, within the picture; a ring shows which one. */
function placeTold({ told, ring, drawn, width }, { row, column }) {
  const { box, layout } = drawn
  const wide = box.width / layout.numColumns
  const [x, y] = [box.left + column * wide, box.top + row * ROW]
  const place = { x, y, width: Math.max(2, wide), height: ROW, visibility: 'visible' }
  for (const [name, value] of Object.entries(place)) ring.setAttribute(name, value)
  const left = x + wide / 2 - told.offsetWidth / 2
  told.style.left = `${Math.max(0, Math.min(width - told.offsetWidth, left))}px`
  told.style.top = `${y + ROW + 4}px`
}
