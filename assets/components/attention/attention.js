// Part 15: one state, and three views of it.

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
 * @param {function(string): void} sayShown takes what the page has asked, see `answerAsked`.
 * @returns {function(): void} ends it. From the arrival of the bytes until the first frame
 *     that shows them is `data-arrival-ms` of the root.
 */
function showAttention(parent, bytes, send, sayShown) {
  const began = performance.now()
  const data = readPayload(bytes)
  if (!takeHeld(data)) {
    send(selectionOf(data, { ...data, holds: null }))
    return () => {}
  }
  const end = showData(parent, data, send)
  const app = apps.get(parent)
  requestAnimationFrame(() => {
    app.root.dataset.arrivalMs = (performance.now() - began).toFixed(1)
    answerAsked(app, data, sayShown)
  })
  return end
}

/**
 * Shows a payload in a saved file, where nobody answers. It may bring its heads along,
 * as a map does; without them it stays at what was shown.
 */
function showAlone(parent, bytes) {
  const first = readPayload(bytes)
  first.isFixed = first.mode !== 'map' && !first.arrays.everyHead
  const placeOf = (token) => (token === null ? null : first.firstTokens.indexOf(token))
  const show = (selection) => {
    const { layer, head } = first.isFixed ? first : selection
    const [from, to] = [placeOf(selection.from), placeOf(selection.to)]
    const own = { layer, head, from, to, rows: undefined, largest: undefined }
    const data = { ...first, ...selection, ...own }
    const matrix = matrixOf(first, layer, head)
    showData(parent, { ...data, arrays: { ...first.arrays, matrix } }, show)
  }
  showData(parent, first, show)
  apps.get(parent).parts.save.hidden = false
}

function showData(parent, data, send) {
  let app = apps.get(parent)
  if (!app || app.data.mode !== data.mode) {
    if (app) endApp(app, parent)
    app = startApp(parent, data)
  }
  app.send = send
  receive(app, data)
  return () => endApp(app, parent)
}

function startApp(parent, data) {
  const parts = buildParts(data)
  // `sent` is what the page has said last, `data` what the views show.
  const app = { data, sent: data, parts, root: parts.root, turn: 0, state: firstState(data) }
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
  app.deafen()
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
    // A pair that is pointed at without being in focus: a line, a partner.
    peek: null,
    // A head of a saved file that is not in it.
    missing: null,
    locked: false,
    heads: new Set(data.heads),
    scale: data.scale,
    threshold: data.threshold,
    isLying: data.isLying,
    tableRows: TABLE_ROWS,
  }
}

/**
 * Takes what the page has sent. What it says counts, unless the visitor has gone on
 * since: then the head of its later choice stays, as far as it is held.
 */
function receive(app, sent) {
  const { state, data: shown, sent: before } = app
  app.sent = sent
  app.theme = attentionTheme(app.root)
  const isAnswer = sent.turn >= app.turn
  const isTaken = isAnswer || isChosenByPage(before, sent) || isOutside(state, sent)
  const isNewText = sent.labels.join('\n') !== before.labels.join('\n')
  const layer = isTaken ? sent.layer : state.layer
  const isNewLayer = layer !== shown.layer || sent.numHeads !== before.numHeads
  if (isNewText) Object.assign(state, { chosen: null, hover: null, locked: false })
  const isOtherHead = sent.head !== before.head && isChosenByPage(before, sent)
  if (isNewLayer || isOtherHead) state.heads.clear()
  if (isAnswer) adoptLook(state, before, sent)
  if (isTaken) adoptSelection(app, sent)
  app.data = dataToShow(app)
  forgetPeek(app, isNewText || isNewLayer)
  writeWords(app)
  redraw(app)
  noteSwitchTime(app)
  saveIfAsked(app)
}

/** Whether the page shows another model now, without the head that is chosen. */
function isOutside({ layer, head }, { numLayers, numHeads }) {
  return layer >= numLayers || head >= numHeads
}

/** Whether the page, not the visitor, has made another choice. */
function isChosenByPage(before, data) {
  const isNew = (name) => before[name] !== data[name]
  return data.turn === 0 && ['layer', 'head', 'from', 'to'].some(isNew)
}

/** What the page has changed of how the pictures are drawn. */
function adoptLook(state, before, data) {
  for (const name of ['scale', 'threshold', 'isLying']) {
    if (data[name] !== before[name]) state[name] = data[name]
  }
  if (String(data.heads) !== String(before.heads)) state.heads = new Set(data.heads)
}

function adoptSelection(app, data) {
  const { state } = app
  app.turn = Math.max(app.turn, data.turn)
  app.isLeaving = false
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
  const lock = state.locked && !state.missing ? `${say(data, 'locked')} ` : ''
  const text = lock + describeFocus(app)
  if (parts.status.textContent !== text) parts.status.textContent = text
  root.setAttribute('aria-busy', String(isWaiting(app)))
  const { from, to } = focusOf(state)
  const { layer, head } = state.layer === null ? { layer: '', head: '' } : numbersOf(state)
  Object.assign(root.dataset, {
    layer,
    head,
    from: from ?? '',
    to: to ?? '',
    locked: String(state.locked),
    behind: String(isBehind(app)),
    peek: state.peek ? `${state.peek.from} ${state.peek.to}` : '',
  })
  showControls(app)
  fillTables(app)
}
