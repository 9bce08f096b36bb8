// Part 8: the same in words and tables, for eyes and for screen readers.

const TABLE_ROWS = 25
const MORE_ROWS = 200

/** One sentence about what is in focus. */
function describeFocus(app) {
  const { data, state } = app
  if (data.mode === 'map') return describeMapCell(app, state.gridHover ?? state)
  const name = nameShown(data)
  if (state.missing) return say(data, 'only_this_is_saved', { name })
  if (state.gridHover) return say(data, 'head_name', numbersOf(state.gridHover))
  const cell = state.peek ?? focusOf(state)
  if (cell.from === null && cell.to === null) return say(data, 'nothing_in_focus')
  const place = { from: nameOf(data, cell.from), to: nameOf(data, cell.to), name }
  if (cell.from === null || cell.to === null) return say(data, 'token_in_focus', place)
  return describeCell(data, cell, place)
}

function describeCell(data, cell, place) {
  const facts = factsOf(data, cell)
  if (!facts) return say(data, 'cell_waits', place)
  const head = cell.head ?? data.head
  return say(data, data.isDifference ? 'difference_in_focus' : 'cell_in_focus', {
    ...place,
    name: head === data.head ? place.name : say(data, 'shown_head', numbersOf({ ...data, head })),
    unit: data.unit,
    weight: weightSaid(data, facts.weight),
    share: shareOf(facts),
    rank: facts.rank,
    count: data.numTokens,
  })
}

function shareOf({ weight, sum }) {
  if (sum === 0) return '–'
  return `${((100 * weight) / sum).toFixed(1)}%`
}

function describeMapCell(app, place) {
  if (place.layer === null) return say(app.data, 'none_in_map')
  const value = app.data.arrays.values[place.layer * app.data.numHeads + place.head]
  return say(app.data, 'map_cell', { ...numbersOf(place), value: signed(app.data, value) })
}

function signed(data, value) {
  if (Number.isNaN(value)) return '–'
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
  const { gridDetails, gridTable, cellDetails, linesDetails } = app.parts
  if (gridDetails.open) fillGridTable(app, gridTable)
  // Of a sketch there are no numbers: tables keep those of the head that they name.
  if (app.data.mode === 'map' || isWaiting(app)) return
  if (cellDetails.open) fillCellTable(app)
  if (linesDetails.open) fillLinesTable(app)
}

function fillCellTable(app) {
  const { data, state, parts } = app
  const focus = focusOf(state)
  const row = focus.from === null ? focus : { from: focus.from, to: null }
  const { cells, count } = strongestCells(data, row, 0, state.tableRows)
  const header = [...sides(data), ...numberTitles(data)]
  const rows = cells.map((cell) => cellRow(data, { ...cell, head: data.head }))
  const isAll = focus.from === null && focus.to === null
  const key = isAll ? 'table_of_head' : 'table_of_token'
  const token = nameOf(data, focus.from ?? focus.to)
  const caption = say(data, key, { token, count: cells.length, name: nameShown(data) })
  fillTable(parts.cellTable, caption, header, rows)
  parts.cellMore.hidden = cells.length === count
}

/** The same lines as are drawn, each with its head. */
function fillLinesTable(app) {
  const { data, state, parts } = app
  const all = [...linksToDraw(app).links].reverse()
  const links = all.slice(0, state.tableRows)
  const isHead = data.isOneHead
  const header = [...(isHead ? [say(data, 'head')] : []), ...sides(data), ...numberTitles(data)]
  const rows = links.map((link) => [
    ...(isHead ? [String(link.head + 1)] : []),
    ...cellRow(data, link),
  ])
  const counts = { count: links.length, total: all.length }
  const named = say(data, 'table_of_lines', { ...counts, name: nameOfLines(app) })
  const caption = `${named} · ${linesSaid(app)}`
  fillTable(parts.linesTable, caption, header, rows)
  parts.linesMore.hidden = links.length === all.length
}

function sides(data) {
  return [say(data, 'from'), say(data, 'to')]
}

/** A difference has no row that sums to one, so no share either. */
function numberTitles(data) {
  const { unit } = data
  const title = unit.charAt(0).toUpperCase() + unit.slice(1)
  return [title, ...(data.isDifference ? [] : [say(data, 'share')]), say(data, 'rank')]
}

function weightSaid(data, weight) {
  return data.isDifference ? signed(data, weight) : weight.toFixed(4)
}

function cellRow(data, cell) {
  const facts = factsOf(data, cell)
  return [
    data.labels[cell.from],
    data.labels[cell.to],
    weightSaid(data, facts.weight),
    ...(data.isDifference ? [] : [shareOf(facts)]),
    String(facts.rank),
  ]
}

/** The name of what the lines show: the head, several heads, or many put together. */
function nameOfLines(app) {
  const { data } = app
  const shown = shownHeads(app)
  if (shown.length === 1 && shown[0] === data.head) return nameShown(data)
  const heads = shown.map((head) => head + 1).join(say(data, 'list_comma'))
  if (shown.length === 1) return say(data, 'shown_head', { layer: data.layer + 1, head: heads })
  return say(data, 'shown_heads', { layer: data.layer + 1, heads })
}

function fillGridTable(app, table) {
  const { data } = app
  const heads = Array.from({ length: data.numHeads }, (_, head) => String(head + 1))
  const rows = Array.from({ length: data.numLayers }, (_, layer) => [
    String(layer + 1),
    ...heads.map((_, head) => headNumber(data, layer * data.numHeads + head)),
  ])
  const ofHeads = data.isDifference ? 'table_of_differences' : 'table_of_heads'
  const caption = say(data, data.mode === 'map' ? 'table_of_map' : ofHeads)
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
  return data.isDifference ? signed(data, strongest) : strongest.toFixed(2)
}

function fillTable(table, caption, header, rows) {
  const title = element('caption', { textContent: caption })
  const head = element('thead', {}, [rowOf(header, 'col')])
  const body = element('tbody', {}, rows.map((row) => rowOf(row, 'row')))
  table.replaceChildren(title, head, body)
}
