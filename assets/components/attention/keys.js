// Part 11: the keyboard. Arrows move, Enter locks, Escape frees.

const ARROWS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
}

function within(index, count) {
  return Math.max(0, Math.min(count - 1, index))
}

function onGridKey(app, event) {
  const { state, data } = app
  if (event.key === 'Escape') return unlock(app)
  const arrow = ARROWS[event.key]
  if (!arrow) return
  event.preventDefault()
  const [down, right] = state.layer === null ? [0, 0] : arrow
  const layer = within((state.layer ?? 0) + down, data.numLayers)
  const head = within((state.head ?? 0) + right, data.numHeads)
  chooseHead(app, { layer, head }, event.timeStamp, SEND_HEAD_MS)
}

function onCellKey(app, event, move) {
  const { state } = app
  const focus = focusOf(state)
  if (event.key === 'Escape') return unlock(app)
  if (event.key === 'Enter') {
    event.preventDefault()
    if (focus.from !== null || focus.to !== null) toggleLock(app, focus)
    return
  }
  const arrow = ARROWS[event.key]
  if (!arrow) return
  event.preventDefault()
  const cell = move(app.data, app.state, focus, arrow)
  state.peek = null
  if (state.locked) {
    state.chosen = cell
    sendSoon(app, SEND_CELL_MS)
  } else state.hover = cell
  showFocus(app)
  showToken(app)
  refocus(app)
}

/**
 * Keys in the lines. From a locked token, the arrow across goes over to its partners,
 * and Enter locks the pair.
 */
function onLineKey(app, event) {
  const { state } = app
  const side = state.locked ? onlySide(state.chosen) : null
  const arrow = ARROWS[event.key]
  if (side === null || (!arrow && event.key !== 'Enter')) {
    return onCellKey(app, event, moveToken)
  }
  if (event.key === 'Enter' && !state.peek) return onCellKey(app, event, moveToken)
  if (event.key === 'Enter') {
    event.preventDefault()
    return toggleLock(app, state.peek)
  }
  const [along, across] = turned(app, arrow[1], arrow[0])
  if (across === 0 && !state.peek) return onCellKey(app, event, moveToken)
  event.preventDefault()
  state.peek = movePartner(app, side, along, across)
  showFocus(app)
  showToken(app)
  refocus(app)
}

/** The side of a cell that names a token, where one alone does. */
function onlySide({ from, to }) {
  if ((from === null) === (to === null)) return null
  return from === null ? 'to' : 'from'
}

/** The next partner of a locked token; `null` on the way back to it. */
function movePartner({ data, state }, side, along, across) {
  const other = side === 'from' ? 'to' : 'from'
  const { chosen, peek } = state
  const isAway = (across > 0) === (side === 'from')
  if (across !== 0) return isAway ? (peek ?? { ...chosen, [other]: chosen[side] }) : null
  return { from: peek.from, to: peek.to, [other]: within(peek[other] + along, data.numTokens) }
}

function moveCell(data, state, { from, to }, [down, right]) {
  if (from === null && to === null) return { from: 0, to: 0 }
  const row = from === null ? 0 : within(from + down, data.numTokens)
  const column = to === null ? 0 : within(to + right, data.numTokens)
  return { from: row, to: column }
}

/** Along the tokens, or across to the other side of the lines. */
function moveToken(data, state, { from, to }, [down, right]) {
  if (from === null && to === null) return { from: 0, to: null }
  const [along, across] = turned({ state }, right, down)
  const index = within((from ?? to) + along, data.numTokens)
  const isFrom = across === 0 ? from !== null : across < 0
  return isFrom ? { from: index, to: null } : { from: null, to: index }
}

function showToken(app) {
  const { linesBox } = app.parts
  const { step } = linesGeometry(app)
  const { chosen, peek } = app.state
  const { from, to } = focusOf(app.state)
  const isPartner = peek !== null && onlySide(chosen ?? peek) !== null
  const index = isPartner && chosen.from !== null ? peek.to : isPartner ? peek.from : (from ?? to)
  const start = index * step
  const [room] = turned(app, linesBox.clientWidth, linesBox.clientHeight)
  const [side] = turned(app, 'scrollLeft', 'scrollTop')
  if (start < linesBox[side]) linesBox[side] = start
  linesBox[side] = Math.max(linesBox[side], start + step - room)
}
