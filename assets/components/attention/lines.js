// Part 6: tokens twice, with a line for every weight above the threshold. Standing,
// they are two columns; lying, two rows, with Chinese characters upright.

const LINES = { name: 130, row: 22, mostLines: 1500, depth: 150 }

/** Along the tokens and across them, as x and y; and the other way round. */
function turned({ state }, one, other) {
  return state.isLying ? [one, other] : [other, one]
}

/** Where tokens stand: `step` apart along the axis, `near` and `far` across it. */
function linesGeometry(app) {
  const { data, parts, state } = app
  const room = parts.linesBox.clientWidth
  if (!state.isLying) {
    const width = Math.max(280, Math.min(room, 640))
    const name = Math.min(LINES.name, width * 0.3)
    const height = data.numTokens * LINES.row + 8
    return { step: LINES.row, width, height, name, near: name, far: width - name }
  }
  const step = data.labels.some((label) => !CJK.test(label) && label.length > 2) ? 30 : 26
  const name = 84
  const width = Math.max(data.numTokens * step + 8, 40)
  const far = name + LINES.depth
  return { step, width, height: far + name, name, near: name, far }
}

function layOutLines(app) {
  const { linesBox, linesPart, linesSpace } = app.parts
  linesPart.style.flexBasis = app.state.isLying ? '100%' : ''
  sizeSpace(linesSpace, linesBox, linesGeometry(app))
  drawLines(app)
}

function linesView(app) {
  return viewIn(app.parts.linesBox, linesGeometry(app))
}

/**
 * The links to draw, weakest first, each with its head; kept while scrolling.
 * @returns {{links: object[], total: number, isLeast: boolean}} `total` of them there
 *     are, or more if `isLeast`.
 */
function linksToDraw(app) {
  const { data, state } = app
  const { from, to } = focusOf(state)
  const heads = shownHeads(app)
  const key = [from, to, state.threshold, ...heads].join()
  if (app.links?.key !== key || app.links.data !== data) {
    app.links = { key, data, found: findLinks(app, { from, to }, heads) }
  }
  return app.links.found
}

function findLinks({ data, state }, focus, heads) {
  const isCell = focus.from !== null && focus.to !== null
  // The cell in focus has its line, however weak.
  const threshold = isCell ? 0 : state.threshold * topOf(data)
  const links = []
  let total = 0
  let isLeast = false
  for (const head of heads) {
    const { cells, count, mayHaveMore = false } = head === data.head
      ? strongestCells(data, focus, threshold, LINES.mostLines)
      : linksOfHead(data, head, focus, threshold)
    links.push(...cells.map((link) => ({ ...link, head })))
    total += count
    isLeast ||= mayHaveMore
  }
  links.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight))
  return { links: links.slice(-LINES.mostLines), total, isLeast }
}

/** How many of how many lines are drawn. */
function linesSaid(app) {
  const { data } = app
  const { links, total, isLeast } = linksToDraw(app)
  const places = { drawn: links.length, total, most: data.linksPerRow }
  if (data.isSketch) return say(data, 'lines_count_waits', places)
  return say(data, isLeast ? 'lines_count_least' : 'lines_count', places)
}

function shownHeads(app) {
  const { heads } = app.state
  return heads.size ? [...heads].sort((a, b) => a - b) : [app.data.head]
}

function drawLines(app, canvas = app.parts.lines, view = linesView(app), ratio = undefined) {
  const context = prepare(canvas, view, app.theme.background, ratio)
  context.translate(-view.x, -view.y)
  const { links } = linksToDraw(app)
  app.root.dataset.lines = links.length
  const place = linesGeometry(app)
  const [[start], [room]] = [turned(app, view.x, view.y), turned(app, view.width, view.height)]
  const [first, last] = [start / place.step - 1, (start + room) / place.step]
  for (const link of links) {
    const { from, to } = link
    if (Math.max(from, to) >= first && Math.min(from, to) <= last) drawLink(app, context, place, link)
  }
  const { peek } = app.state
  if (peek) drawLink(app, context, place, linkOf(app.data, peek), true)
  context.setLineDash([])
  context.globalAlpha = 1
  writeTokens(app, context, place, first, last)
}

/** A pair with the weight that a head gives it. */
function linkOf(data, { from, to, head = data.head }) {
  return { from, to, head, weight: factsOf(data, { from, to, head })?.weight ?? 0 }
}

function drawLink(app, context, { step, near, far }, link, isPeeked = false) {
  const { from, to, weight, head } = link
  const { color, dash } = headStyle(app, head)
  const size = Math.min(1, Math.abs(weight) / topOf(app.data))
  const isNegative = weight < 0
  context.strokeStyle = isNegative ? css(app.theme.diverging[20]) : color
  context.globalAlpha = isPeeked ? 1 : 0.12 + 0.88 * Math.sqrt(size)
  context.lineWidth = 0.6 + 3 * size + (isPeeked ? 2 : 0)
  context.setLineDash(isNegative ? [2, 3] : shownHeads(app).length > 1 ? dash : [])
  const [start, end, middle] = [(from + 0.5) * step, (to + 0.5) * step, (near + far) / 2]
  const at = (along, across) => turned(app, along, across)
  context.beginPath()
  context.moveTo(...at(start, near))
  context.bezierCurveTo(...at(start, middle), ...at(end, middle), ...at(end, far))
  context.stroke()
}

function writeTokens(app, context, place, first, last) {
  const { data, state, theme } = app
  const focus = focusOf(state)
  const write = state.isLying ? writeLying : writeStanding
  const end = Math.min(data.numTokens, last + 2)
  for (let index = Math.max(0, Math.floor(first)); index < end; index++) {
    for (const side of ['from', 'to']) {
      const isChosen = focus[side] === index
      if (isChosen) markToken(app, context, place, index, side)
      setFont(app, context, isChosen)
      context.fillStyle = theme.text
      write(context, data.labels[index], place, index, side)
    }
    if (beginsSegment(data, index)) markSegment(app, context, place, index)
  }
  context.fillStyle = theme.text
  for (const span of data.spans) markWord(app, context, place, span)
}

/** Pieces of one word stand behind one bar, on both sides. */
function markWord(app, context, { step, near, far }, [start, size]) {
  for (const across of [near - 3, far + 1]) {
    context.fillRect(...turned(app, start * step + 2, across), ...turned(app, size * step - 4, 2))
  }
}

function writeStanding(context, text, { step, name, near, far }, index, side) {
  context.textAlign = side === 'from' ? 'right' : 'left'
  const x = side === 'from' ? near - 6 : far + 6
  context.fillText(fittedOn(context, text, name - 10), x, (index + 0.5) * step)
}

function writeLying(context, text, { step, name, near, far }, index, side) {
  const x = (index + 0.5) * step
  if (side === 'from') writeColumnName(context, text, x, near - 5, name - 8)
  else if (CJK.test(text)) writeUpright(context, text, x, far + 5, name - 8)
  else {
    const width = Math.min(name - 8, context.measureText(text).width)
    writeColumnName(context, text, x, far + 6 + width, name - 8)
  }
}

function markToken(app, context, { step, name, near, far }, index, side) {
  const across = side === 'from' ? near - name : far
  context.fillStyle = app.theme.panel
  context.strokeStyle = app.state.locked ? app.theme.primary : app.theme.text
  context.lineWidth = app.state.locked ? 2 : 1
  const [x, y] = turned(app, index * step, across + 2)
  const [width, height] = turned(app, step, name - 4)
  context.fillRect(x, y, width, height)
  context.strokeRect(x + 1, y + 1, width - 2, height - 2)
}

function markSegment(app, context, { step, name, far }, index) {
  context.strokeStyle = app.theme.text
  context.lineWidth = 1
  context.setLineDash([5, 3])
  context.beginPath()
  context.moveTo(...turned(app, index * step, 0))
  context.lineTo(...turned(app, index * step, far + name))
  context.stroke()
  context.setLineDash([])
}
