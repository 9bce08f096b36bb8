// Part 2: the picture: a rail for each piece, curves of what flows between them.

// In pixels at the usual size of letters. A laptop shows all, and what is said below it.
const SPACE = { left: 92, top: 28, foot: 50, turnedFoot: 92, words: 236, height: 372, above: 310 }
const STEP = { least: 14, most: 110 } // from a height to the next
const COLUMN = { narrowest: 11, beside: 22, touched: 40, phone: 720 }
const WORD = { across: 160, down: 22, most: 6 } // of the likeliest words
const MOVE_MS = 600
const THICKEST = 16 // pixels of a curve that carries everything
const RADIUS = { least: 1.6, most: 11 }
// Of pieces: of the first text and of the second, and of the one that is followed.
const COLORS_ON_LIGHT = { hues: ['#1A64A4', '#05A470'], focus: '#B05707' }
const COLORS_ON_DARK = { hues: ['#94ADE5', '#95F6CB'], focus: '#F0A04B' }

/** Places of pieces and heights. */
function layOutRails(app) {
  const { data, root } = app
  const size = data.tokens.length
  const room = root.clientWidth || 900
  const type = FONT_SIZE / 12
  const [left, beside, down] = [SPACE.left, SPACE.words, WORD.down].map((space) => type * space)
  // The likeliest words stand at the right or, where the rails need the room, above them.
  const isWide = room >= left + beside + size * COLUMN.beside
  const perLine = isWide ? 1 : Math.max(2, Math.floor((room - 12) / (type * WORD.across)))
  const most = perLine < 5 ? WORD.most : perLine
  const across = Math.min(type * WORD.across, (room - 12) / perLine)
  const top = type * SPACE.top + (isWide ? 0 : 8 + Math.ceil(most / perLine) * down)
  const right = isWide ? beside : 24
  const least = room < COLUMN.phone ? COLUMN.touched : COLUMN.narrowest
  const width = Math.max(room, left + right + size * least)
  const x = d3.scalePoint(data.tokens.map((_, place) => place), [left, width - right]).padding(0.5)
  const widths = data.tokens.map(ruler(root))
  const isTurned = widths.some((one, place) => (one + widths[place - 1]) / 2 > x.step() - 4)
  const foot = type * (isTurned ? SPACE.turnedFoot : SPACE.foot)
  const tall = Math.max(SPACE.height, Math.min(type * SPACE.height, innerHeight - SPACE.above))
  const fair = (tall - top - foot) / data.numLayers
  const step = Math.max(STEP.least, Math.min(STEP.most, fair))
  const bottom = top + step * data.numLayers
  const levels = Array.from({ length: data.numLayers + 1 }, (_, level) => level)
  const y = d3.scalePoint(levels, [bottom, top])
  const words = { x: isWide ? width - beside + 26 : 12, y: isWide ? top : type * 30, perLine, most, across, down }
  return { width, height: bottom + foot, x, y, step, top, bottom, words, isTurned, isWide, type }
}

/** Has the piece in focus in sight where the rails scroll sideways. */
function showFocusedRail({ layout, state, parts: { scroll } }) {
  const at = layout.x(state.place)
  const isSeen = at > scroll.scrollLeft + 60 && at < scroll.scrollLeft + scroll.clientWidth - 60
  if (!isSeen) scroll.scrollLeft = at - scroll.clientWidth / 2
}

/** What stays in sight while the rails scroll: the names of layers, words above them. */
function keepInSight({ layout, parts: { scroll, names, answer } }) {
  const moved = `translate(${scroll.scrollLeft} 0)`
  names.setAttribute('transform', moved)
  answer.setAttribute('transform', layout.isWide ? '' : moved)
}

/** Draws everything; what was there moves to its new place. */
function drawPicture(app) {
  app.layout = layOutRails(app)
  const theme = readTheme(app.root)
  app.theme = { ...theme, ...(theme.isDark ? COLORS_ON_DARK : COLORS_ON_LIGHT) }
  app.reached = followDown(app)
  app.curves = levelsOf(app).flatMap((layer) => curvesOf(app, layer))
  const { width, height } = app.layout
  const paper = d3.select(app.parts.paper).attr('viewBox', `0 0 ${width} ${height}`)
  paper.attr('width', width).attr('height', height).attr('font-size', FONT_SIZE)
  paper.attr('font-family', app.theme.font).attr('fill', app.theme.text)
  drawRails(app)
  drawCurves(app)
  drawNodes(app)
  drawFoot(app)
  drawCounts(app)
  drawLayerNames(app)
  drawBeside(app)
  drawAnswer(app)
  markStation(app)
}

function levelsOf({ data }) {
  return Array.from({ length: data.numLayers }, (_, layer) => layer)
}

/** A layer of the picture with one element for each thing; `moved` gets the transition.
 *  A tag may bring a class. */
function joined(app, group, tag, things, key) {
  const [name, kind] = tag.split('.')
  const all = d3.select(app.parts[group]).selectAll(tag).data(things, key)
  all.exit().remove()
  const made = all.enter().append(name)
  if (kind) made.attr('class', kind)
  // What is new is there at once, what was there moves.
  const length = app.moveMs()
  return { made, all: made.merge(all), moved: length ? all.transition().duration(length) : all.interrupt() }
}

function placed(parts, attributes) {
  for (const part of [parts.made, parts.moved]) {
    for (const [name, value] of Object.entries(attributes)) part.attr(name, value)
  }
  return parts
}

function colorOf({ data, state, theme }, place) {
  return place === state.place ? theme.focus : theme.hues[data.segments[place] ? 1 : 0]
}

function drawRails(app) {
  const { layout: { x, top, bottom }, theme, data, reached } = app
  const rails = joined(app, 'rails', 'line', data.tokens.map((_, place) => place), (place) => place)
  rails.all.attr('stroke', theme.border).attr('stroke-width', 3)
  placed(rails, { x1: (place) => x(place), x2: (place) => x(place), y1: top, y2: bottom })
  // What stays on its rail.
  const kept = levelsOf(app).flatMap((layer) => data.tokens
    .map((_, place) => ({ layer, place, flow: reached[layer + 1][place] * shareOf(app, layer, place, place) }))
    .filter(({ flow }) => flow >= LEAST_SHARE))
  const own = joined(app, 'kept', 'line', kept, ({ layer, place }) => `${layer}.${place}`)
  own.all.attr('stroke', ({ place }) => colorOf(app, place))
  const { y } = app.layout
  placed(own, {
    x1: ({ place }) => x(place), x2: ({ place }) => x(place),
    y1: ({ layer }) => y(layer), y2: ({ layer }) => y(layer + 1),
    'stroke-width': ({ flow }) => widthOfFlow(flow), opacity: ({ flow }) => opacityOf(flow),
  })
}

function widthOfFlow(flow) {
  return Math.max(0.6, THICKEST * flow)
}

function opacityOf(flow) {
  return Math.min(0.95, 0.22 + 2.4 * Math.sqrt(flow) / 2)
}

function drawCurves(app) {
  const { x, y } = app.layout
  const path = d3.linkVertical().source((c) => [x(c.from), y(c.layer)]).target((c) => [x(c.to), y(c.layer + 1)])
  const curves = joined(app, 'curves', 'path', app.curves, ({ name }) => name)
  curves.all.attr('fill', 'none').attr('data-name', ({ name }) => name)
    .attr('stroke', (curve) => (isOff(app, curve) ? app.theme.text : colorOf(app, curve.from)))
    .attr('stroke-dasharray', (curve) => (isOff(app, curve) ? '2 4' : null))
  placed(curves, {
    d: path,
    'stroke-width': (curve) => (isOff(app, curve) ? 1.5 : widthOfFlow(curve.flow)),
    opacity: (curve) => opacityOf(curve.flow),
  })
}

function isOff({ state }, { name, layer }) {
  return state.off.has(name) || state.off.has(`layer.${layer}`)
}

function drawNodes(app) {
  const { layout: { x, y }, data, reached } = app
  const nodes = reached.flatMap((row, level) => [...row].map((share, place) => ({ level, place, share })))
  const dots = joined(app, 'nodes', 'circle', nodes, ({ level, place }) => `${level}.${place}`)
  dots.all.attr('fill', ({ place }) => colorOf(app, place))
    .attr('data-level', ({ level }) => level).attr('data-token', ({ place }) => place + data.first)
    .attr('data-share', ({ share }) => share)
  placed(dots, {
    cx: ({ place }) => x(place), cy: ({ level }) => y(level),
    r: ({ share }) => Math.max(RADIUS.least, RADIUS.most * Math.sqrt(share)),
    opacity: ({ share }) => (share ? Math.max(0.35, opacityOf(share)) : 0.3),
  })
}

function drawFoot(app) {
  const { layout: { x, bottom, isTurned }, data, state, theme } = app
  const words = joined(app, 'foot', 'text', data.tokens.map((token, place) => ({ token, place })), ({ place }) => place)
  words.all.text(({ token }) => token)
    .attr('data-name', 'tokens').attr('data-token', ({ place }) => place + data.first)
    .attr('fill', ({ place }) => (place === state.place ? theme.focus : theme.text))
    .attr('font-weight', ({ place }) => (place === state.place ? 700 : 400))
    .attr('text-anchor', isTurned ? 'end' : 'middle').attr('cursor', 'pointer')
    .attr('text-decoration', ({ place }) => (data.segments[place] ? 'underline' : null))
  placed(words, {
    transform: ({ place }) => isTurned
      ? `translate(${x(place) + 4} ${bottom + 16 + FONT_SIZE}) rotate(-60)`
      : `translate(${x(place)} ${bottom + 24 + FONT_SIZE})`,
  })
}

/** What counts, exactly: how much of the guess moves elsewhere without a piece. */
function drawCounts(app) {
  const { layout: { x, bottom, isTurned }, data, theme, removed } = app
  const known = data.tokens.map((_, place) => ({ place, moved: removed?.get(place + data.first) }))
  const bars = joined(app, 'counts', 'rect', known.filter(({ moved }) => moved !== undefined), ({ place }) => place)
  bars.all.attr('fill', theme.focus).attr('height', 5).attr('data-moved', ({ moved }) => moved)
  const width = ({ moved }) => Math.max(1, 0.9 * x.step() * moved)
  placed(bars, { width, x: (one) => x(one.place) - width(one) / 2, y: bottom + (isTurned ? 8 : 13) })
}

/** The names of the layers at the left, which open them, and of the bars. */
function drawLayerNames(app) {
  const { layout: { y, step, bottom }, data, state, theme, removed } = app
  const parts = ['embeddings', ...levelsOf(app).map((layer) => `layer.${layer}`), ...(removed ? ['counts'] : [])]
  const names = joined(app, 'names', 'text', parts, (name) => name)
  const foot = y(0) + Math.max(0, FONT_SIZE - step / 2)
  const middle = (name) => ({ embeddings: foot, counts: bottom + 5 + FONT_SIZE }[name] ?? y(+name.split('.')[1]) - step / 2)
  const isPart = (name) => name !== 'counts'
  names.all.text((name) => (isPart(name) ? `${partName(app, name)} ›` : say(data, 'counts'))).attr('x', 8).attr('dy', '0.35em')
    .attr('data-name', (name) => (isPart(name) ? name : null)).attr('cursor', (name) => (isPart(name) ? 'pointer' : null))
    .attr('paint-order', 'stroke').attr('stroke', (name) => (state.off.has(name) ? 'none' : theme.background)).attr('stroke-width', 4)
    .attr('font-size', Math.min(FONT_SIZE, step - 3))
    .attr('fill', (name) => (name === state.part || !isPart(name) ? theme.focus : theme.text))
    .attr('font-weight', (name) => (name === state.part ? 700 : 400))
    .attr('text-decoration', (name) => (state.off.has(name) ? 'line-through' : null))
  placed(names, { y: middle })
}

/** What the model would say at each height of the rail in focus. */
function drawBeside(app) {
  const { layout: { x, y, step, width, type }, data, state, theme } = app
  const heights = data.numGuesses ? [...levelsOf(app), data.numLayers] : []
  const said = heights.map((level) => ({ level, ...guessesAt(app, level, state.place)[0] }))
  const isLeft = x(state.place) > width - type * (SPACE.words + 110)
  const labels = joined(app, 'beside', 'text', said, ({ level }) => level)
  labels.all.text(({ word, prob }) => `${word} ${percent(prob)}`)
    .attr('text-anchor', isLeft ? 'end' : 'start').attr('dy', '0.35em').attr('font-size', Math.min(FONT_SIZE, step) - 1)
    .attr('paint-order', 'stroke').attr('stroke', theme.background).attr('stroke-width', 4)
    .attr('stroke-linejoin', 'round').attr('data-guess', ({ level }) => level)
  placed(labels, { x: x(state.place) + (isLeft ? -13 : 13), y: ({ level }) => y(level) })
}

/** The likeliest words at the top and, beside them, what has become of them. */
function drawAnswer(app) {
  const { layout: { words: { x, y, perLine, most, across, down }, type }, data, state, theme, switched } = app
  const top = guessesAt(app, data.numLayers, state.place)
  const rows = switched ?? top.map(({ word, prob }) => ({ word, before: prob }))
  const shown = rows.slice(0, most)
  const acrossOf = (index) => x + across * (index % perLine)
  const downOf = (index) => y + down * Math.floor(index / perLine)
  const title = joined(app, 'answer', 'text.title', data.numGuesses ? [0] : [], (one) => one)
  title.all.attr('x', x).attr('y', y - 14 * type).attr('font-weight', 700).attr('data-name', 'mlm.logits').attr('cursor', 'pointer')
    .text(`${say(data, 'guess_at', { piece: data.tokens[state.place] })} ›`)
  const bar = (part, value, shift, color) => {
    const bars = joined(app, 'answer', `rect.${part}`, data.numGuesses ? shown : [], ({ word }) => word)
    bars.all.attr('fill', color).attr('height', 3).attr('data-name', 'mlm.logits')
    placed(bars, {
      width: (one) => Math.max(1, 100 * (value(one) ?? 0)), x: (_, i) => acrossOf(i), y: (_, i) => downOf(i) + 7 * type + shift,
    })
  }
  bar('before', ({ before }) => before, 0, theme.hues[0])
  bar('after', ({ after }) => after, 3, switched ? theme.focus : 'none')
  const texts = joined(app, 'answer', 'text.row', data.numGuesses ? shown : [], ({ word }) => word)
  texts.all.attr('dy', '0.35em').attr('font-size', FONT_SIZE - 1).attr('data-name', 'mlm.logits').attr('cursor', 'pointer')
    .text(({ word, before, after }) => after === undefined
      ? `${word}  ${percent(before)}`
      : `${word}  ${percent(before)} → ${percent(after)}  (${signed(after - before)})`)
  placed(texts, { x: (_, i) => acrossOf(i), y: (_, i) => downOf(i) })
}

function signed(change) {
  return `${change < 0 ? '−' : '+'}${(100 * Math.abs(change)).toFixed(1)}`
}
