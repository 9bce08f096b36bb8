// Part 3: rows of coloured cells, the names around them, and the scale below.

const ROW = 28
const TOP = 6
const TITLE_LINE = 18
const EDGE = 14 // half of the name of the last column
const TICK_GAP = 14 // between names that stand
const SCALE = { width: 160, height: 10, room: 48 }

/** Where everything of a picture stands, in CSS pixels. */
function stripsLayout(app, picture) {
  const { width, widthOf } = app
  const names = rowNames(picture.rows, width, widthOf)
  const left = Math.max(names.room, picture.rowTitle ? widthOf(picture.rowTitle) + 10 : 0)
  const numColumns = picture.values.length / picture.rows.length
  const top = TOP + (picture.rowTitle ? TITLE_LINE : 0)
  const box = { left, top, width: Math.max(40, width - left - EDGE), height: picture.rows.length * ROW }
  const ticks = picture.columns
    ? namedTicks(picture.columns, box.width / numColumns, widthOf)
    : numberedTicks(numColumns, box.width)
  const below = top + box.height + ticks.height + (picture.columnTitle ? TITLE_LINE : 0)
  return { names: names.shown, box, numColumns, ticks, below, height: below + SCALE.room }
}

function numberedTicks(count, width) {
  const step = roundStep((count / width) * 48)
  const places = [1]
  for (let place = step; place <= count; place += step) if (place > step / 2 && place > 1) places.push(place)
  return { marks: places.map((place) => ({ column: place - 1, name: String(place) })), height: 22 }
}

/**
 * As many names as can be read; the pointer tells the rest. Chinese, Japanese and Korean
 * stay upright: their names are thinned out instead.
 */
function namedTicks(names, cell, widthOf) {
  const widths = names.map((name) => widthOf(name) + 8)
  const widest = Math.max(...widths)
  const isFlat = widest <= cell || names.some((name) => CJK.test(name))
  const marks = []
  let end = -Infinity
  names.forEach((name, column) => {
    const room = isFlat ? widths[column] : TICK_GAP
    const start = (column + 0.5) * cell - room / 2
    if (start < end) return
    end = start + room
    marks.push({ column, name })
  })
  return { marks, isStanding: !isFlat, height: isFlat ? 22 : widest + 4 }
}

function drawStrips(app, picture) {
  const layout = stripsLayout(app, picture)
  const { box, names, height } = layout
  const paper = shape('g')
  if (picture.rowTitle) paper.append(text(picture.rowTitle, 0, TOP + TITLE_LINE / 2))
  names.forEach((name, row) =>
    paper.append(text(name, box.left - 8, box.top + (row + 0.5) * ROW, { 'text-anchor': 'end' }))
  )
  const frame = { x: box.left, y: box.top, width: box.width, height: box.height }
  paper.append(shape('rect', { ...frame, fill: 'none', stroke: 'currentColor', 'stroke-opacity': 0.3 }))
  paper.append(...tickMarks(layout))
  if (picture.columnTitle) {
    const middle = box.left + box.width / 2
    paper.append(text(picture.columnTitle, middle, layout.below - TITLE_LINE / 2, { 'text-anchor': 'middle' }))
  }
  paper.append(drawScale(app, picture, layout))
  return { paper, cells: paintCells(app, picture, layout), box, layout, height }
}

function tickMarks({ ticks, box, numColumns }) {
  const y = box.top + box.height
  return ticks.marks.flatMap(({ column, name }) => {
    const x = box.left + ((column + 0.5) / numColumns) * box.width
    const line = shape('path', { d: `M${x} ${y}v4`, stroke: 'currentColor', 'stroke-opacity': 0.6 })
    const place = ticks.isStanding
      ? { transform: `rotate(-90 ${x} ${y + 8})`, 'text-anchor': 'end' }
      : { 'text-anchor': 'middle' }
    return [line, text(name, x, y + (ticks.isStanding ? 8 : 13), place)]
  })
}

/** One pixel a cell, stretched: sharp at every size. */
function paintCells(app, { values, low, high, scale, rows }, { numColumns }) {
  const canvas = element('canvas', { width: numColumns, height: rows.length, className: 'cells' })
  const context = canvas.getContext('2d')
  const image = context.createImageData(numColumns, rows.length)
  const colors = app.colors[scale]
  values.forEach((value, index) => {
    if (Number.isNaN(value)) return
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)))
    image.data.set([...colors[Math.round(share * (colors.length - 1))], 255], 4 * index)
  })
  context.putImageData(image, 0, 0)
  return canvas
}

function drawScale(app, { title, low, high, scale }, { below, box }) {
  const y = below + SCALE.room / 2 - 4
  const stops = app.data.scales[scale].map(([offset, color]) =>
    shape('stop', { offset, 'stop-color': color })
  )
  const [left, right] = [numeral(low, 3), numeral(high, 3)]
  const said = `${right}  ${title}`
  const before = app.widthOf(left) + 6
  const room = before + SCALE.width + 6 + app.widthOf(said)
  const edge = Math.max(0, Math.min(box.left, app.width - room))
  const start = edge + before
  const end = start + SCALE.width
  const bar = { x: start, y: y - SCALE.height / 2, width: SCALE.width, height: SCALE.height }
  const parts = [
    shape('linearGradient', { id: 'step-scale' }, stops),
    text(left, edge, y),
    shape('rect', { ...bar, fill: 'url(#step-scale)', stroke: 'currentColor', 'stroke-opacity': 0.3 }),
    text(said, end + 6, y, { style: 'white-space: pre' }),
  ]
  if (low < 0) {
    const middle = (start + end) / 2
    parts.push(text('0', middle, y + 13, { 'text-anchor': 'middle' }))
  }
  return shape('g', {}, parts)
}
