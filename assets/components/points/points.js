// Part 7: one state, and what hands and keys do to it.

const SEND_MS = 400
const MOVE_MS = 450
const PLAY_MS = 1100
const ZOOM_STEP = 1.4
// What `mark_points` tells the maps of the page, so that points need not travel again.
const MARKS = 'bert-explorer-marks'
const MOST_ZOOM = 200
const apps = new WeakMap()

/**
 * Shows a payload below an element; called again, it updates what is there.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {Uint8Array} bytes see `readPayload`.
 * @param {function(object): void} send takes the choice when it has changed.
 * @returns {function(): void} ends it.
 */
function showPoints(parent, bytes, send) {
  const data = readPayload(bytes)
  const app = apps.get(parent) ?? startApp(parent, data)
  app.send = send
  receive(app, data)
  return () => endApp(app, parent)
}

function startApp(parent, data) {
  const parts = buildParts()
  const app = { parts, root: parts.root, state: firstState(data) }
  ;(parent.querySelector('.points-host') ?? parent).append(app.root)
  apps.set(parent, app)
  listen(app)
  app.endMarks = hear(MARKS, () => redrawSoon(app))
  app.deafen = saveWhenTold(app.root, ({ kind }) => (kind === 'svg' ? saveSvg : savePng)(app))
  app.resized = new ResizeObserver(() => resize(app))
  app.resized.observe(app.root)
  return app
}

function endApp(app, parent) {
  app.endMarks()
  app.deafen()
  app.resized.disconnect()
  clearTimeout(app.timer)
  clearInterval(app.playing)
  cancelAnimationFrame(app.moving)
  cancelAnimationFrame(app.asked)
  app.root.remove()
  apps.delete(parent)
}

function firstState(data) {
  const { first } = data
  return {
    layer: first.state ?? 0, color: first.color ?? 0, search: first.search ?? '',
    only: Boolean(first.only), near: Boolean(first.near), selected: first.selected ?? null, hover: null,
    hidden: new Set(), zoom: 1, panX: 0, panY: 0, yaw: 0.5, pitch: 0.35,
  }
}

/** Takes new data; other points begin with what it says is chosen, the same go on. */
function receive(app, data) {
  const before = app.data
  const isSame = before?.id === data.id
  app.data = data
  if (before && !isSame) app.state = firstState(data)
  const { state } = app
  state.layer = Math.min(state.layer, data.numStates - 1)
  if (!data.colors[state.color]) state.color = 0
  if (state.selected !== null && state.selected >= data.numPoints) state.selected = null
  app.groups = app.legendKey = app.foundKey = undefined
  data.shownState = state.layer
  // A move that goes on would draw the points of before over these.
  cancelAnimationFrame(app.moving)
  app.now = positionsOf(data, state.layer)
  app.theme = pointsTheme(app.root)
  writeWords(app)
  resize(app)
}

function resize(app) {
  if (!app.data) return
  const width = Math.max(240, Math.floor(app.root.clientWidth) - 2)
  app.width = width
  app.height = Math.round(Math.min(600, Math.max(320, width * 0.66)))
  redraw(app)
}

function redraw(app) {
  draw(app)
  showState(app)
}

/** Draws at most once a frame, however often hands move. */
function redrawSoon(app) {
  if (app.asked) return
  app.asked = requestAnimationFrame(() => {
    app.asked = undefined
    redraw(app)
  })
}

/** What is held or typed is told after a pause; all else at once, before the next click. */
function send(app, pause = 0) {
  clearTimeout(app.timer)
  app.timer = setTimeout(() => {
    const { layer, color, search, only, near, selected } = app.state
    // A point is a number: it is said whose.
    const { labelsId: labels } = app.data
    app.send({ state: layer, color, search, only, near, selected, labels })
  }, pause)
}

function select(app, point) {
  app.state.selected = app.state.selected === point ? null : point
  send(app)
  redrawSoon(app)
}

function toggleGroup(app, group) {
  const { hidden } = app.state
  if (!hidden.delete(group)) hidden.add(group)
  redrawSoon(app)
}

/** Moves every point to where it lies in another state. */
function goTo(app, layer) {
  const { state, data } = app
  if (layer === state.layer) return
  state.layer = layer
  data.shownState = layer
  send(app, SEND_MS)
  const [from, to] = [app.now, positionsOf(data, layer)]
  const isCalm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  cancelAnimationFrame(app.moving)
  const began = performance.now()
  const step = (time) => {
    const done = isCalm ? 1 : Math.min(1, Math.max(0, time - began) / MOVE_MS)
    const eased = done * done * (3 - 2 * done)
    const between = new Float32Array(from.length)
    for (let index = 0; index < from.length; index++) {
      between[index] = from[index] + (to[index] - from[index]) * eased
    }
    app.now = between
    redraw(app)
    if (done < 1) app.moving = requestAnimationFrame(step)
  }
  step(began)
}

function play(app) {
  if (app.playing) {
    clearInterval(app.playing)
    app.playing = undefined
  } else {
    const next = () => goTo(app, (app.state.layer + 1) % app.data.numStates)
    app.playing = setInterval(next, PLAY_MS)
    next()
  }
  showState(app)
}

function zoom(app, factor, x = app.width / 2, y = app.height / 2) {
  const { state } = app
  const least = Math.min(0.5, app.data.frame.wholeZoom)
  const next = Math.min(MOST_ZOOM, Math.max(least, state.zoom * factor))
  const ratio = next / state.zoom
  // What is under the pointer stays there.
  state.panX = (x - app.width / 2) * (1 - ratio) + state.panX * ratio
  state.panY = (y - app.height / 2) * (1 - ratio) + state.panY * ratio
  state.zoom = next
  redrawSoon(app)
}

function turn(app, right, down) {
  const { state, data } = app
  if (data.numAxes === 2) {
    state.panX += right
    state.panY += down
  } else {
    state.yaw += right / 150
    state.pitch = Math.max(-1.5, Math.min(1.5, state.pitch + down / 150))
  }
  redrawSoon(app)
}

function listen(app) {
  const { parts } = app
  const change = (name, value) => {
    app.state[name] = value
    send(app, name === 'search' ? SEND_MS : 0)
    redrawSoon(app)
  }
  parts.search.oninput = () => change('search', parts.search.value)
  parts.only.onchange = () => change('only', parts.only.checked)
  parts.near.onchange = () => change('near', parts.near.checked)
  parts.color.onchange = () => {
    app.state.hidden.clear()
    change('color', Number(parts.color.value))
  }
  parts.state.oninput = () => goTo(app, Number(parts.state.value))
  parts.play.onclick = () => play(app)
  parts.nearer.onclick = () => zoom(app, ZOOM_STEP)
  parts.further.onclick = () => zoom(app, 1 / ZOOM_STEP)
  parts.reset.onclick = () => {
    const zoom = app.data.frame.wholeZoom
    Object.assign(app.state, { zoom, panX: 0, panY: 0, yaw: 0.5, pitch: 0.35 })
    redrawSoon(app)
  }
  listenCanvas(app, parts.canvas)
}

function listenCanvas(app, canvas) {
  let held = null
  const place = (event) => pointIn(canvas, event)
  canvas.onpointerdown = (event) => {
    held = { ...place(event), moved: 0 }
    canvas.setPointerCapture(event.pointerId)
  }
  canvas.onpointermove = (event) => {
    const { x, y } = place(event)
    if (held) {
      held.moved += Math.abs(x - held.x) + Math.abs(y - held.y)
      if (held.moved > 4) turn(app, x - held.x, y - held.y)
      Object.assign(held, { x, y })
      return
    }
    const point = pointAt(app, x, y)
    if (point === app.state.hover) return
    app.state.hover = point
    redrawSoon(app)
  }
  canvas.onpointerup = (event) => {
    const { x, y } = place(event)
    const point = held && held.moved <= 4 ? pointAt(app, x, y) : null
    held = null
    if (point !== null) select(app, point)
  }
  canvas.onpointercancel = () => (held = null)
  canvas.onpointerleave = () => {
    app.state.hover = null
    redrawSoon(app)
  }
  canvas.addEventListener('wheel', (event) => {
    // Before the map is clicked, the wheel scrolls the page past it.
    if (canvas.getRootNode().activeElement !== canvas) return
    event.preventDefault()
    const { x, y } = place(event)
    zoom(app, event.deltaY < 0 ? 1.2 : 1 / 1.2, x, y)
  }, { passive: false })
  canvas.onkeydown = (event) => onKey(app, event)
}

function onKey(app, event) {
  const moves = {
    ArrowLeft: [-20, 0], ArrowRight: [20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20],
  }
  if (moves[event.key]) turn(app, ...moves[event.key])
  else if (event.key === '+' || event.key === '=') zoom(app, ZOOM_STEP)
  else if (event.key === '-') zoom(app, 1 / ZOOM_STEP)
  else if (event.key === 'Escape' && app.state.selected !== null) select(app, app.state.selected)
  else return
  event.preventDefault()
}
