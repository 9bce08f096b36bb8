// Part 7: the same in words and tables, for eyes and for screen readers.

const TABLE_ROWS = 25

/** One sentence about what is in focus. */
function describeFocus(app) {
  const { data, state } = app
  if (data.mode === 'map') return describeMapCell(app, state.gridHover ?? state)
  if (state.gridHover) return say(data, 'head_name', numbersOf(state.gridHover))
  const { from, to } = focusOf(state)
  if (from === null && to === null) return say(data, 'nothing_in_focus')
  const names = { from: nameOf(data, from), to: nameOf(data, to) }
  const place = { ...names, ...numbersOf(data) }
  if (from === null || to === null) return say(data, 'token_in_focus', place)
  return say(data, 'cell_in_focus', {
    ...place,
    weight: weightAt(data, from, to).toFixed(4),
    share: shareOfRow(data, from, to),
    rank: rankInRow(data, from, to),
    count: data.numTokens,
  })
}

/** A difference has no row that sums to one, so no share either. */
function shareOfRow(data, from, to) {
  const { sum } = rowFacts(data, from)
  if (data.isDifference || sum === 0) return '–'
  return `${((100 * weightAt(data, from, to)) / sum).toFixed(1)} %`
}

function describeMapCell(app, place) {
  const value = app.data.arrays.values[place.layer * app.data.numHeads + place.head]
  return say(app.data, 'map_cell', { ...numbersOf(place), value: signed(app.data, value) })
}

function signed(data, value) {
  const digits = Math.abs(value).toFixed(4)
  if (!data.isDifference) return digits
  return `${value < 0 ? '−' : '+'}${digits}`
}

/** Layers and heads are counted from one on the screen. */
function numbersOf({ layer, head }) {
  return { layer: layer + 1, head: head + 1 }
}

/** Fills the tables that are open; closed ones cost nothing. */
function fillTables(app) {
  const { gridDetails, gridTable, cellDetails, cellTable } = app.parts
  if (gridDetails.open) fillGridTable(app, gridTable)
  if (app.data.mode !== 'map' && cellDetails.open) fillCellTable(app, cellTable)
}

function fillCellTable(app, table) {
  const { data, state } = app
  const focus = focusOf(state)
  const cells = strongestCells(data, focus, 0, TABLE_ROWS)
  const header = ['from', 'to', 'weight', 'share', 'rank'].map((key) => say(data, key))
  const rows = cells.map(({ from, to, weight }) => [
    data.labels[from],
    data.labels[to],
    data.isDifference ? signed(data, weight) : weight.toFixed(4),
    shareOfRow(data, from, to),
    String(rankInRow(data, from, to)),
  ])
  const isAll = focus.from === null && focus.to === null
  const key = isAll ? 'table_of_head' : 'table_of_token'
  const token = nameOf(data, focus.from ?? focus.to)
  const caption = say(data, key, { token, count: cells.length, ...numbersOf(data) })
  fillTable(table, caption, header, rows)
}

function fillGridTable(app, table) {
  const { data } = app
  const heads = Array.from({ length: data.numHeads }, (_, head) => String(head + 1))
  const rows = Array.from({ length: data.numLayers }, (_, layer) => [
    String(layer + 1),
    ...heads.map((_, head) => headNumber(data, layer * data.numHeads + head)),
  ])
  const caption = say(data, data.mode === 'map' ? 'table_of_map' : 'table_of_heads')
  fillTable(table, caption, [say(data, 'layer_by_head'), ...heads], rows)
}

function headNumber(data, index) {
  if (data.mode === 'map') return signed(data, data.arrays.values[index])
  const size = data.thumbnailSize[0] * data.thumbnailSize[1]
  let strongest = 0
  for (const byte of data.arrays.thumbnails.subarray(index * size, (index + 1) * size)) {
    const value = thumbnailValue(data, byte)
    if (Math.abs(value) > Math.abs(strongest)) strongest = value
  }
  return strongest.toFixed(2)
}

function fillTable(table, caption, header, rows) {
  const title = element('caption', { textContent: caption })
  const head = element('thead', {}, [rowOf(header, 'col')])
  const body = element('tbody', {}, rows.map((row) => rowOf(row, null)))
  table.replaceChildren(title, head, body)
}

function rowOf(cells, scope) {
  return element('tr', {}, cells.map((text, index) => {
    const isHeader = scope !== null || index === 0
    const cell = element(isHeader ? 'th' : 'td', { textContent: text })
    if (isHeader) cell.scope = scope ?? 'row'
    return cell
  }))
}
