// Part 9: the keyboard. Arrows move, Enter locks, Escape frees.

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
  const layer = within(state.layer + arrow[0], data.numLayers)
  const head = within(state.head + arrow[1], data.numHeads)
  chooseHead(app, { layer, head }, SEND_HEAD_MS)
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
  if (state.locked) {
    state.chosen = cell
    sendSoon(app, SEND_CELL_MS)
  } else state.hover = cell
  showFocus(app)
  showToken(app)
  refocus(app)
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
  const isStanding = state.layout === 'standing'
  const [along, across] = isStanding ? [down, right] : [right, down]
  const index = within((from ?? to) + along, data.numTokens)
  const isFrom = across === 0 ? from !== null : across < 0
  return isFrom ? { from: index, to: null } : { from: null, to: index }
}

function showToken(app) {
  const { linesBox } = app.parts
  const { step } = linesGeometry(app)
  const { from, to } = focusOf(app.state)
  const start = (from ?? to) * step
  const isStanding = app.state.layout === 'standing'
  const room = isStanding ? linesBox.clientHeight : linesBox.clientWidth
  const side = isStanding ? 'scrollTop' : 'scrollLeft'
  if (start < linesBox[side]) linesBox[side] = start
  linesBox[side] = Math.max(linesBox[side], start + step - room)
}
