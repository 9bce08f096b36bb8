// Part 3: what lies under the pointer, and what a click does with it.

const NEAR = { node: 11, rail: 6, curve: 7 } // pixels

/** Where on a curve of `linkVertical` a height is: 0 to 1 along x, for 0 to 1 along y. */
function alongCurve(height) {
  const t = shareOfCurve(height)
  return t * t * (3 - 2 * t)
}

/** The piece, the curve or the nothing at a place of the picture. */
function under(app, px, py) {
  const { layout: { x, y, step, top, bottom }, data } = app
  const place = Math.round((px - x(0)) / (x.step() || 1))
  const dx = Math.abs(px - x(0) - place * x.step())
  const level = Math.round((bottom - py) / step)
  const isPiece = place >= 0 && place < data.tokens.length
  const isNode = Math.hypot(dx, py - (bottom - level * step)) <= Math.min(NEAR.node, x.step() / 2)
  if (isPiece && level >= 0 && level <= data.numLayers && isNode) return { place, level }
  if (py < top || py > bottom) return null
  const layer = Math.min(data.numLayers - 1, Math.floor((bottom - py) / step))
  const height = (bottom - py) / step - layer
  const along = alongCurve(height)
  const lean = (alongCurve(height + 0.01) - alongCurve(height - 0.01)) / (0.02 * step)
  let best = null
  for (const curve of app.curves) {
    if (curve.layer !== layer) continue
    const span = x(curve.to) - x(curve.from)
    const beside = Math.abs(px - x(curve.from) - span * along)
    const far = beside / Math.hypot(1, span * lean) - widthOfFlow(curve.flow) / 2
    if (far <= (best?.far ?? NEAR.curve)) best = { far, curve }
  }
  if (isPiece && dx <= NEAR.rail && !(best?.far <= 2)) return { place, level }
  return best && { curve: best.curve }
}

function describe(app, found) {
  const { data, state, reached } = app
  const focus = data.tokens[state.place]
  if (!found) return ''
  if (found.curve) {
    const { layer, to, from, share, flow } = found.curve
    const places = { layer: layer + 1, to: data.tokens[to], from: data.tokens[from] }
    return say(data, app.state.raw ? 'of_curve_raw' : 'of_curve', { ...places, share: percent(share), flow: percent(flow), focus })
  }
  const { place, level } = found
  const piece = data.tokens[place]
  const share = percent(reached[level][place])
  const height = level ? say(data, 'after_layer', { layer: level }) : say(data, 'at_foot')
  const guess = data.numGuesses ? guessesAt(app, level, place)[0] : null
  if (guess && place === state.place && level === data.numLayers) {
    return `${say(data, 'guess_at', { piece })}: ${guess.word} ${percent(guess.prob)}`
  }
  const gone = app.removed?.get(place + data.first)
  return [
    say(data, 'of_piece', { piece, height, share, focus }),
    guess && say(data, 'guess_here', { word: guess.word, prob: percent(guess.prob) }),
    gone !== undefined && say(data, 'without_piece', { moved: percent(gone), piece }),
  ].filter(Boolean).join(' ')
}

function showHover(app, found) {
  const { layout: { x, y }, theme, parts } = app
  const ring = d3.select(parts.hover)
  const curve = found?.curve
  ring.attr('d', !found ? null : curve
    ? d3.linkVertical()({ source: [x(curve.from), y(curve.layer)], target: [x(curve.to), y(curve.layer + 1)] })
    : `M${x(found.place)} ${app.layout.bottom}V${app.layout.top}`)
  ring.attr('fill', 'none').attr('stroke', theme.text).attr('opacity', 0.6)
    .attr('stroke-width', curve ? widthOfFlow(curve.flow) + 2 : 5)
  const said = describe(app, found)
  if (parts.status.textContent !== said) parts.status.textContent = said || app.lastSaid()
}

function listenToPointer(app) {
  const { paper } = app.parts
  const at = (event) => {
    const { name, token } = event.target.dataset
    if (name === 'tokens') return { place: token - app.data.first, level: 0 }
    const { x, y } = pointIn(paper, event)
    return under(app, x, y)
  }
  paper.onpointermove = (event) => showHover(app, at(event))
  paper.onpointerleave = () => showHover(app, null)
  paper.onclick = (event) => {
    const { name, token } = event.target.dataset
    if (name === 'tokens') return clickWord(app, +token - app.data.first)
    if (name && !name.includes('edge')) return openPart(app, name, event)
    const found = at(event)
    if (found?.curve) toggleOff(app, found.curve.name)
    else if (found && found.place === app.state.place) openAt(app, found.level, event)
    else if (found) app.focusOn(found.place)
  }
}

/** A word is followed; once more, it is hidden or comes back. */
function clickWord(app, place) {
  if (place !== app.state.place || !canHide(app) || app.isAlone) return app.focusOn(place)
  app.typeOver(null)
}

/** Whether the piece in focus is a word of the text, or a mask that hides one. */
function canHide({ data, state: { place } }) {
  return !data.isAdded[place] && (!data.isMask[place] || Boolean(data.hides?.includes(place + data.first)))
}

/** A point of the rail in focus opens what made it: the feed-forward half, or the foot. */
function openAt(app, level, event) {
  openPart(app, level ? `layer.${level - 1}.mlp` : 'embeddings', event)
}
