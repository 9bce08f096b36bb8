// Part 10: one state, three views of it, and what hands do to it.

const SEND_CELL_MS = 350
const SEND_HEAD_MS = 180
const apps = new WeakMap()

/** What all views point at: the locked cell, else the hovered, else the chosen one. */
function focusOf(state) {
  const nothing = { from: null, to: null }
  return (state.locked ? state.chosen : state.hover ?? state.chosen) ?? nothing
}

/**
 * Shows a payload below an element; called again, it updates what is there.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {Uint8Array} bytes see `readPayload`.
 * @param {function(object): void} send takes the selection when it has changed.
 * @returns {function(): void} ends it.
 */
function showAttention(parent, bytes, send) {
  return showData(parent, readPayload(bytes), send)
}

/** Shows a payload in a saved file, where nobody answers: it brings its heads along. */
function showAlone(parent, bytes) {
  const first = readPayload(bytes)
  const show = (selection) => {
    const { layer, head } = first.arrays.everyHead ? selection : first
    const data = { ...first, ...selection, layer, head, rows: undefined, largest: undefined }
    const matrix = matrixOf(first, layer, head)
    showData(parent, { ...data, arrays: { ...first.arrays, matrix } }, show)
  }
  showData(parent, first, show)
}

function showData(parent, data, send) {
  let app = apps.get(parent)
  if (!app || app.data.mode !== data.mode) {
    app?.root.remove()
    app = startApp(parent, data)
  }
  app.send = send
  receive(app, data)
  return () => endApp(app, parent)
}

function startApp(parent, data) {
  const parts = buildParts(data)
  const app = { data, parts, root: parts.root, turn: 0, state: firstState(data) }
  const host = parent.querySelector('.attention-host') ?? parent
  host.append(app.root)
  apps.set(parent, app)
  listen(app)
  app.resized = new ResizeObserver(() => redraw(app))
  app.resized.observe(app.root)
  return app
}

function endApp(app, parent) {
  app.resized.disconnect()
  clearTimeout(app.timer)
  app.root.remove()
  apps.delete(parent)
}

function firstState(data) {
  return {
    layer: data.layer,
    head: data.head,
    chosen: null,
    hover: null,
    gridHover: null,
    locked: false,
    heads: new Set(),
    scale: data.scale,
    threshold: data.threshold,
    layout: data.isLying ? 'lying' : 'standing',
  }
}

/** Takes new data. What the page says counts, unless the visitor has gone on since. */
function receive(app, data) {
  const { state } = app
  const before = app.data
  app.data = data
  app.theme = readTheme(app.root)
  if (data.scale !== before.scale) state.scale = data.scale
  if (data.threshold !== before.threshold) state.threshold = data.threshold
  if (data.isLying !== before.isLying) state.layout = firstState(data).layout
  const isNewText = data.labels.join('\n') !== before.labels.join('\n')
  if (isNewText) Object.assign(state, { chosen: null, hover: null, locked: false })
  if (data.turn >= app.turn || isChosenByPage(before, data)) adoptSelection(app, data)
  if (data.layer !== before.layer || data.numHeads !== before.numHeads) state.heads.clear()
  writeWords(app)
  redraw(app)
  noteSwitchTime(app)
}

/** From the choice of a head until it is drawn: `data-switch-ms` of the root. */
function noteSwitchTime(app) {
  const { state, data, askedAt } = app
  if (askedAt === undefined || state.layer !== data.layer || state.head !== data.head) return
  app.root.dataset.switchMs = (performance.now() - askedAt).toFixed(1)
  app.askedAt = undefined
}

/** Whether the page, not the visitor, has made another choice. */
function isChosenByPage(before, data) {
  const isNew = (name) => before[name] !== data[name]
  return data.turn === 0 && ['layer', 'head', 'from', 'to'].some(isNew)
}

function adoptSelection(app, data) {
  const { state } = app
  app.turn = Math.max(app.turn, data.turn)
  Object.assign(state, { layer: data.layer, head: data.head })
  const hasCell = data.from !== null || data.to !== null
  state.chosen = hasCell ? { from: data.from, to: data.to } : null
  state.locked = hasCell
}

/** Draws everything; sizes may have changed. */
function redraw(app) {
  if (!app.theme) return
  drawGrid(app)
  drawLegend(app)
  if (app.data.mode !== 'map') {
    layOutHeatmap(app)
    layOutLines(app)
  }
  showState(app)
}

/** Draws what depends on the focus alone. */
function refocus(app) {
  drawGrid(app)
  if (app.data.mode !== 'map') {
    drawHeatmap(app)
    drawLines(app)
  }
  showState(app)
}

/** Words, tables and the attributes that say the state. */
function showState(app) {
  const { data, state, parts, root } = app
  const lock = state.locked ? `${say(data, 'locked')} ` : ''
  const text = lock + describeFocus(app)
  if (parts.status.textContent !== text) parts.status.textContent = text
  const isWaiting = state.layer !== data.layer || state.head !== data.head
  root.setAttribute('aria-busy', String(isWaiting))
  const { from, to } = focusOf(state)
  Object.assign(root.dataset, {
    layer: state.layer + 1,
    head: state.head + 1,
    from: from ?? '',
    to: to ?? '',
    locked: String(state.locked),
  })
  showControls(app)
  fillTables(app)
}

/** Tells the page what is chosen, after a pause: a held key sends once. */
function sendSoon(app, pause) {
  app.turn += 1
  clearTimeout(app.timer)
  app.timer = setTimeout(() => {
    const { layer, head, chosen } = app.state
    const cell = chosen ?? { from: null, to: null }
    app.send({ layer, head, from: cell.from, to: cell.to, turn: app.turn })
  }, pause)
}

function chooseHead(app, place, pause = 0) {
  const { state } = app
  const isSame = place.layer === state.layer && place.head === state.head
  Object.assign(state, { layer: place.layer, head: place.head, gridHover: null })
  if (!isSame) {
    app.askedAt = performance.now() + pause
    sendSoon(app, pause)
  }
  refocus(app)
}

/** Locks a cell or token; the same one again frees it. */
function toggleLock(app, cell) {
  const { state } = app
  const { chosen } = state
  const isSame = state.locked && chosen?.from === cell.from && chosen?.to === cell.to
  if (isSame) return unlock(app)
  Object.assign(state, { chosen: cell, locked: true, hover: null })
  sendSoon(app, SEND_CELL_MS)
  showFocus(app)
  showToken(app)
  refocus(app)
}

function unlock(app) {
  if (!app.state.locked) return
  Object.assign(app.state, { chosen: null, locked: false, hover: null })
  sendSoon(app, SEND_CELL_MS)
  refocus(app)
}

/** Shows or hides a head of the layer among the lines. */
function toggleHead(app, head) {
  const shown = new Set(shownHeads(app))
  if (!shown.delete(head)) shown.add(head)
  app.state.heads = shown
  redraw(app)
}

function hover(app, cell) {
  app.state.hover = cell
  if (!app.state.locked) refocus(app)
}

function listen(app) {
  const { parts, state } = app
  listenGrid(app)
  parts.save.onclick = () => savePicture(app)
  parts.gridDetails.ontoggle = () => fillTables(app)
  if (app.data.mode === 'map') return
  parts.cellDetails.ontoggle = () => fillTables(app)
  listenCells(app, parts.heat, cellAt)
  listenCells(app, parts.lines, tokenAt)
  parts.heatBox.onscroll = () => requestAnimationFrame(() => drawHeatmap(app))
  parts.linesBox.onscroll = () => requestAnimationFrame(() => drawLines(app))
  parts.heat.onkeydown = (event) => onCellKey(app, event, moveCell)
  parts.lines.onkeydown = (event) => onCellKey(app, event, moveToken)
  parts.scale.onchange = () => {
    state.scale = parts.scale.value
    redraw(app)
  }
  parts.threshold.oninput = () => {
    state.threshold = Number(parts.threshold.value)
    redraw(app)
  }
  parts.layout.onclick = () => {
    state.layout = state.layout === 'standing' ? 'lying' : 'standing'
    redraw(app)
  }
}

function listenGrid(app) {
  const { grid } = app.parts
  grid.onpointermove = (event) => {
    app.state.gridHover = headAt(app, pointIn(grid, event))
    drawGrid(app)
    showState(app)
  }
  grid.onpointerleave = () => {
    app.state.gridHover = null
    drawGrid(app)
    showState(app)
  }
  grid.onclick = (event) => {
    const place = headAt(app, pointIn(grid, event))
    if (place) chooseHead(app, place)
  }
  grid.onkeydown = (event) => onGridKey(app, event)
}

function listenCells(app, canvas, find) {
  canvas.onpointermove = (event) => hover(app, find(app, pointIn(canvas, event)))
  canvas.onpointerleave = () => hover(app, null)
  canvas.onclick = (event) => {
    const cell = find(app, pointIn(canvas, event))
    if (cell) toggleLock(app, cell)
  }
}

/** Saves what the views show as one picture with twice the pixels. */
function savePicture(app) {
  const draw = [drawGrid]
  if (app.data.mode !== 'map') {
    draw.push((_, canvas) => drawHeatmap(app, canvas, heatView(app), 2))
    draw.push((_, canvas) => drawLines(app, canvas, linesView(app), 2))
  }
  const sheets = draw.map((paint) => {
    const canvas = document.createElement('canvas')
    paint(app, canvas, 2)
    return canvas
  })
  const whole = document.createElement('canvas')
  whole.width = Math.max(...sheets.map((sheet) => sheet.width))
  whole.height = sheets.reduce((sum, sheet) => sum + sheet.height, 0)
  const context = whole.getContext('2d')
  context.fillStyle = app.theme.background
  context.fillRect(0, 0, whole.width, whole.height)
  let top = 0
  for (const sheet of sheets) {
    context.drawImage(sheet, 0, top)
    top += sheet.height
  }
  const link = element('a', { download: 'attention.png', href: whole.toDataURL() })
  link.click()
}
