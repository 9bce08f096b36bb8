// Part 5: the exact weights of one head. Only what the box shows is drawn; the
// names of rows and columns stay in sight while the cells scroll.

const HEAT = { left: 92, top: 84, smallest: 13, largest: 30 }

function heatGeometry(app) {
  const { numTokens } = app.data
  const room = app.parts.heatBox.clientWidth
  const cell = Math.max(
    HEAT.smallest,
    Math.min(HEAT.largest, Math.floor((room - HEAT.left - 2) / numTokens))
  )
  const size = numTokens * cell
  return { cell, size, width: HEAT.left + size + 2, height: HEAT.top + size + 2 }
}

/** Sizes what scrolls, and draws the part in sight. A long text takes more of the row. */
function layOutHeatmap(app) {
  const { heatBox, heatPart, heatSpace } = app.parts
  const needed = HEAT.left + app.data.numTokens * HEAT.smallest + 2
  heatPart.style.flexBasis = `${Math.max(340, Math.min(needed, 640))}px`
  sizeSpace(heatSpace, heatBox, heatGeometry(app))
  drawHeatmap(app)
}

function heatView(app) {
  return viewIn(app.parts.heatBox, heatGeometry(app))
}

function drawHeatmap(app, canvas = app.parts.heat, view = heatView(app), ratio = undefined) {
  const context = prepare(canvas, view, app.theme.background, ratio)
  const range = visibleRange(app, view)
  context.save()
  context.beginPath()
  context.rect(HEAT.left, HEAT.top, view.width - HEAT.left, view.height - HEAT.top)
  context.clip()
  context.translate(HEAT.left - view.x, HEAT.top - view.y)
  drawCells(app, context, range)
  drawBorders(app, context)
  outlineFocus(app, context)
  context.restore()
  writeRowNames(app, context, view, range)
  writeColumnNames(app, context, view, range)
}

function visibleRange(app, view) {
  const { cell } = heatGeometry(app)
  const last = app.data.numTokens - 1
  return {
    left: Math.floor(view.x / cell),
    right: Math.min(last, Math.ceil((view.x + view.width) / cell)),
    top: Math.floor(view.y / cell),
    bottom: Math.min(last, Math.ceil((view.y + view.height) / cell)),
  }
}

function drawCells(app, context, range) {
  const { cell } = heatGeometry(app)
  const inner = cell > 16 ? cell - 1 : cell
  for (let from = range.top; from <= range.bottom; from++) {
    const top = scaleTop(app, from)
    for (let to = range.left; to <= range.right; to++) {
      context.fillStyle = css(colorOf(app, weightAt(app.data, from, to), top))
      context.fillRect(to * cell, from * cell, inner, inner)
    }
  }
}

/** A dashed line where the second text begins. */
function drawBorders(app, context) {
  const { cell, size } = heatGeometry(app)
  context.strokeStyle = app.theme.text
  context.lineWidth = 1.5
  context.setLineDash([5, 3])
  for (let index = 1; index < app.data.numTokens; index++) {
    if (!beginsSegment(app.data, index)) continue
    context.strokeRect(-9, index * cell, size + 18, size + 18)
    context.strokeRect(index * cell, -9, size + 18, size + 18)
  }
  context.setLineDash([])
}

function outlineFocus(app, context) {
  const { cell, size } = heatGeometry(app)
  const { from, to } = focusOf(app.state)
  context.strokeStyle = app.theme.text
  context.lineWidth = 1
  if (from !== null) context.strokeRect(0, from * cell, size, cell)
  if (to !== null) context.strokeRect(to * cell, 0, cell, size)
  const { peek } = app.state
  if (peek) context.strokeRect(peek.to * cell, peek.from * cell, cell, cell)
  if (from === null || to === null) return
  context.strokeStyle = app.theme.background
  context.lineWidth = 5
  context.strokeRect(to * cell, from * cell, cell, cell)
  context.strokeStyle = app.state.locked ? app.theme.primary : app.theme.text
  context.lineWidth = app.state.locked ? 3 : 2
  context.strokeRect(to * cell, from * cell, cell, cell)
}

/** Names of the rows; pieces of one word stand behind one bar. */
function writeRowNames(app, context, view, range) {
  const { cell } = heatGeometry(app)
  const focus = focusOf(app.state)
  context.save()
  context.beginPath()
  context.rect(0, HEAT.top, HEAT.left, view.height - HEAT.top)
  context.clip()
  for (let from = range.top; from <= range.bottom; from++) {
    const y = HEAT.top - view.y + (from + 0.5) * cell
    setFont(app, context, from === focus.from)
    context.textAlign = 'right'
    context.fillStyle = app.theme.text
    const name = fittedOn(context, app.data.labels[from], HEAT.left - 12)
    context.fillText(name, HEAT.left - 8, y)
  }
  for (const [start, size] of app.data.spans) {
    const top = HEAT.top - view.y + start * cell
    context.fillRect(HEAT.left - 5, top + 2, 2, size * cell - 4)
  }
  context.restore()
}

function writeColumnNames(app, context, view, range) {
  const { cell } = heatGeometry(app)
  const focus = focusOf(app.state)
  context.save()
  context.beginPath()
  context.rect(HEAT.left, 0, view.width - HEAT.left, HEAT.top)
  context.clip()
  for (let to = range.left; to <= range.right; to++) {
    const x = HEAT.left - view.x + (to + 0.5) * cell
    setFont(app, context, to === focus.to)
    context.fillStyle = app.theme.text
    writeColumnName(context, app.data.labels[to], x, HEAT.top - 8, HEAT.top - 11)
  }
  for (const [start, size] of app.data.spans) {
    const left = HEAT.left - view.x + start * cell
    context.fillRect(left + 2, HEAT.top - 5, size * cell - 4, 2)
  }
  context.restore()
}

/** The cell, or the row's or column's name, under a point; `null` outside. */
function cellAt(app, { x, y }) {
  const view = heatView(app)
  const { cell } = heatGeometry(app)
  const { numTokens } = app.data
  const column = Math.floor((x - HEAT.left + view.x) / cell)
  const row = Math.floor((y - HEAT.top + view.y) / cell)
  const from = y >= HEAT.top && row < numTokens ? row : null
  const to = x >= HEAT.left && column < numTokens ? column : null
  const isOutside = (y >= HEAT.top && from === null) || (x >= HEAT.left && to === null)
  return isOutside || (from === null && to === null) ? null : { from, to }
}

/** Scrolls until the cell in focus is in sight. */
function showFocus(app) {
  const { heatBox } = app.parts
  const { cell } = heatGeometry(app)
  const { from, to } = app.state.peek ?? focusOf(app.state)
  const shift = (start, scroll, room) => {
    if (start < scroll) return start
    return Math.max(scroll, start + cell - room)
  }
  if (to !== null) {
    const room = heatBox.clientWidth - HEAT.left
    heatBox.scrollLeft = shift(to * cell, heatBox.scrollLeft, room)
  }
  if (from !== null) {
    const room = heatBox.clientHeight - HEAT.top
    heatBox.scrollTop = shift(from * cell, heatBox.scrollTop, room)
  }
}
