// Part 3: drawing. A path for each colour, so that 30,000 points take one frame.

const LABELS_AT_MOST = 45
const TRIED_FOR_LABELS = 4000
const PADDING = 18
const RING = 4 // pixels between a point and the ring around it
const LEAST_FOR_SHAPE = 2.2 // pixels; smaller points are squares
const MOST_WITH_SHAPES = 8000

/** Lays the points on the screen: `app.x`, `app.y`, and `app.seen` (0 or 1). */
function project(app) {
  const { data, state, width, height, now } = app
  const count = data.numPoints
  if (app.x?.length !== count) {
    app.x = new Float32Array(count)
    app.y = new Float32Array(count)
  }
  const room = roomFor(app) * state.zoom
  const left = width / 2 + state.panX
  const top = height / 2 + state.panY
  if (data.numAxes === 2) {
    for (let point = 0; point < count; point++) {
      app.x[point] = left + now[2 * point] * room
      app.y[point] = top - now[2 * point + 1] * room
    }
    return
  }
  const [sinY, cosY] = [Math.sin(state.yaw), Math.cos(state.yaw)]
  const [sinP, cosP] = [Math.sin(state.pitch), Math.cos(state.pitch)]
  for (let point = 0; point < count; point++) {
    const [px, py, pz] = [now[3 * point], now[3 * point + 1], now[3 * point + 2]]
    const across = px * cosY + pz * sinY
    const away = pz * cosY - px * sinY
    const up = py * cosP - away * sinP
    // Those far away may lie behind the eye.
    const near = 3.2 / Math.max(0.5, 3.2 - (away * cosP + py * sinP))
    app.x[point] = left + across * room * near * 0.8
    app.y[point] = top - up * room * near * 0.8
  }
}

/** Pixels of the unit: as large as the map fits; turned, any axis may lie any way. */
function roomFor({ data, width, height }) {
  const { reach } = data.frame
  const [wide, high] = [width / 2 - PADDING, height / 2 - PADDING]
  if (data.numAxes === 3) return Math.min(wide, high)
  return Math.min(wide / (reach[0] || 1e-6), high / (reach[1] || 1e-6))
}

/** Which points are drawn, and which of them stand out. */
function choosePoints(app) {
  const { data, state } = app
  app.matches = matchesOf(data, state.search)
  const seen = new Uint8Array(data.numPoints)
  app.groups.members.forEach((points, group) => {
    if (app.groups.isNamed && state.hidden.has(group)) return
    for (const point of points) seen[point] = 1
  })
  if (state.only && app.matches) {
    for (let point = 0; point < seen.length; point++) seen[point] &= app.matches[point]
  }
  const near = state.near ? nearOf(app) : []
  if (near.length) {
    const kept = new Set([state.selected, ...near])
    for (let point = 0; point < seen.length; point++) seen[point] &= kept.has(point)
  }
  app.seen = seen
}

/** Nearest points of the chosen one in this state, if they are known by now. */
function nearOf({ data, state }) {
  const { map, of, state: layer, points } = window[MARKS] ?? {}
  const isOfThis = map === data.name && of === state.selected && layer === state.layer
  return isOfThis ? points.filter((point) => point < data.numPoints) : []
}

function radiusOf(app) {
  const { numPoints } = app.data
  // More categories than colours: their points must be large enough for a shape.
  const { members, isNamed } = app.groups
  const needsShapes = isNamed && members.length > HUES_ON_LIGHT.length
  const least = needsShapes && numPoints <= MOST_WITH_SHAPES ? LEAST_FOR_SHAPE : 0
  const usual = numPoints > 8000 ? 1.3 : numPoints > 1500 ? 2 : numPoints > 300 ? 3 : 5
  return Math.max(least, usual * Math.min(2.5, Math.sqrt(app.state.zoom)))
}

/** Draws everything on the page. */
function draw(app) {
  const began = performance.now()
  groupsOf(app)
  choosePoints(app)
  project(app)
  drawMap(app, prepare(app.parts.canvas, app, app.theme.background))
  app.root.dataset.drawMs = (performance.now() - began).toFixed(1)
}

function drawMap(app, context) {
  drawPoints(app, context)
  drawLabels(app, context)
  drawRings(app, context)
}

function drawPoints(app, context) {
  const { groups, theme, matches } = app
  const size = radiusOf(app)
  if (matches) {
    context.fillStyle = theme.faint
    context.beginPath()
    for (const points of groups.members) {
      for (const point of points) {
        if (app.seen[point] && !matches[point]) mark(app, context, point, size * 0.8, 0)
      }
    }
    context.fill()
  }
  groups.members.forEach((points, group) => {
    context.fillStyle = colorOfGroup(app, group)
    context.beginPath()
    const shape = groups.isNamed ? shapeOfGroup(group) : 0
    for (const point of points) {
      if (!app.seen[point] || (matches && !matches[point])) continue
      mark(app, context, point, matches ? size * 1.5 : size, shape)
    }
    context.fill()
  })
}

/** Adds one point to the path, if it is in sight. */
function mark(app, context, point, size, shape) {
  const x = app.x[point]
  const y = app.y[point]
  if (x < -size || y < -size || x > app.width + size || y > app.height + size) return
  addShape(context, x, y, size, shape)
}

/** Adds a shape to the path, by its index in `SHAPES`. */
function addShape(context, x, y, size, shape) {
  if (size < LEAST_FOR_SHAPE || shape === 1) {
    context.rect(x - size, y - size, 2 * size, 2 * size)
  } else if (shape === 0) {
    context.moveTo(x + size, y)
    context.arc(x, y, size, 0, 2 * Math.PI)
  } else if (shape === 4) {
    const third = size / 2.5
    context.rect(x - size, y - third, 2 * size, 2 * third)
    context.rect(x - third, y - size, 2 * third, 2 * size)
  } else {
    const corners = { 2: [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]],
      3: [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]],
      5: [[0, 1.3], [1.2, -0.9], [-1.2, -0.9]] }[shape]
    corners.forEach(([right, down], index) => {
      const go = index ? 'lineTo' : 'moveTo'
      context[go](x + right * size, y + down * size)
    })
    context.closePath()
  }
}

/** Names as many points as fit without touching: what is looked for comes first. */
function drawLabels(app, context) {
  const { data, state, theme } = app
  context.font = `${FONT_SIZE}px ${theme.font}`
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  context.lineWidth = 3
  context.strokeStyle = theme.background
  context.fillStyle = theme.text
  const taken = []
  const ringed = new Set([state.hover, state.selected, ...nearOf(app)])
  let tried = 0
  for (const point of inOrderOfInterest(app)) {
    if (taken.length >= LABELS_AT_MOST || tried++ > TRIED_FOR_LABELS) break
    const y = app.y[point]
    if (app.x[point] < 0 || y < 8 || app.x[point] > app.width || y > app.height - 8) continue
    const away = radiusOf(app) + (ringed.has(point) ? RING + 3 : 3)
    const room = Math.max(app.x[point], app.width - app.x[point]) - away
    const widthOf = (part) => context.measureText(part).width
    const text = fitted(shortened(data.labels[point]), room, widthOf)
    const width = widthOf(text)
    // At the right edge the name stands to the left of its point.
    const fits = app.x[point] + away + width <= app.width
    const x = fits ? app.x[point] + away : app.x[point] - away - width
    const box = [x, y - 8, x + width, y + 8]
    const isChosen = point === state.selected || point === state.hover
    if (!isChosen && taken.some((other) => touches(box, other))) continue
    taken.push(box)
    context.strokeText(text, x, y)
    context.fillText(text, x, y)
  }
}

function* inOrderOfInterest(app) {
  const { state, matches, seen, data } = app
  for (const point of [state.hover, state.selected, ...nearOf(app)]) {
    if (point !== null && seen[point]) yield point
  }
  if (matches) {
    yield* rankedMatches(data, matches, state.search, LABELS_AT_MOST).filter((p) => seen[p])
    return
  }
  // The largest category first: in a vocabulary, words before single characters.
  const { members, isNamed } = app.groups
  const groups = isNamed ? [...members].sort((a, b) => b.length - a.length) : [everyPoint(data)]
  for (const points of groups) for (const point of points) if (seen[point]) yield point
}

function everyPoint({ numPoints }) {
  return Array.from({ length: numPoints }, (_, point) => point)
}

function shortened(text) {
  const letters = [...text]
  return letters.length > 24 ? `${letters.slice(0, 23).join('')}…` : text
}

function touches(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/** A ring around what is chosen, what is nearest to it, and what the pointer is at. */
function drawRings(app, context) {
  const { state, theme } = app
  const near = nearOf(app).map((point) => [point, 1])
  for (const [point, width] of [...near, [state.hover, 1.5], [state.selected, 2.5]]) {
    if (point === null || !app.seen[point]) continue
    context.strokeStyle = theme.text
    context.lineWidth = width
    context.beginPath()
    context.arc(app.x[point], app.y[point], radiusOf(app) + RING, 0, 2 * Math.PI)
    context.stroke()
  }
}

/** The nearest drawn point within reach of a place, or null. */
function pointAt(app, x, y, reach = 14) {
  let best = null
  let least = reach * reach
  for (let point = 0; point < app.data.numPoints; point++) {
    if (!app.seen[point]) continue
    const distance = (app.x[point] - x) ** 2 + (app.y[point] - y) ** 2
    if (distance < least) {
      least = distance
      best = point
    }
  }
  return best
}
