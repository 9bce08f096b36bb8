// Part 10: what is chosen, and telling the page.

const SEND_CELL_MS = 350
const SEND_HEAD_MS = 180
const SEND_LOOK_MS = 500

/** What the page is told; tokens by their place in the text, which filters do not move. */
function selectionOf({ firstTokens, text }, { layer, head, from, to, turn, scale, threshold, isLying, heads, holds }) {
  const tokenOf = (place) => (place === null ? null : firstTokens[place])
  const cell = { from: tokenOf(from), to: tokenOf(to) }
  return { layer, head, ...cell, text, turn, scale, threshold, lying: isLying, heads, holds }
}

/** Tells the page what is chosen and how it is drawn, after a pause: a held key sends once. */
function sendSoon(app, pause) {
  app.turn += 1
  clearTimeout(app.timer)
  app.timer = setTimeout(() => {
    const { data, state } = app
    const heads = state.layer === data.layer ? [...state.heads] : []
    const cell = state.chosen ?? { from: null, to: null }
    const said = { ...state, ...cell, heads, turn: app.turn, holds: app.sent.held ?? null }
    app.send({ ...selectionOf(data, said), chosenAt: app.chosenAt ?? 0 })
  }, pause)
}

/** @param {number} askedAt when the visitor did it, on the clock of `performance`. */
function chooseHead(app, place, askedAt, pause = 0) {
  const { data, state } = app
  if (data.isFixed) {
    state.missing = place
    return showState(app)
  }
  const isSame = place.layer === state.layer && place.head === state.head
  Object.assign(state, { layer: place.layer, head: place.head, gridHover: null })
  // Heads that were added belong to the head that they were added to.
  if (!isSame) state.heads.clear()
  // The head in the frame is not what is shown while many are put together.
  if (!isSame || data.isOneHead === false) {
    app.chosenAt = Date.now()
    app.askedAt = askedAt
    app.isLeaving = app.sent.isOneHead === false
    sendSoon(app, pause)
  }
  drawAhead(app)
}

/** Locks a cell or token; the same one again frees it. */
function toggleLock(app, { from, to }) {
  const { state } = app
  const { chosen } = state
  const isSame = state.locked && chosen?.from === from && chosen?.to === to
  if (isSame) return unlock(app)
  Object.assign(state, { chosen: { from, to }, locked: true, hover: null, peek: null })
  sendSoon(app, SEND_CELL_MS)
  showFocus(app)
  showToken(app)
  refocus(app)
}

function unlock(app) {
  if (!app.state.locked) return
  Object.assign(app.state, { chosen: null, locked: false, hover: null, peek: null })
  sendSoon(app, SEND_CELL_MS)
  refocus(app)
}

/** Shows or hides a head of the layer among the lines. */
function toggleHead(app, head) {
  const shown = new Set(shownHeads(app))
  if (!shown.delete(head)) shown.add(head)
  // The head in the frame alone is no choice of heads: lines go on following the frame.
  if (shown.size === 1) shown.delete(app.data.head)
  app.state.heads = shown
  changeLook(app, {})
}

/** Changes how the pictures are drawn. */
function changeLook(app, change) {
  Object.assign(app.state, change)
  sendSoon(app, SEND_LOOK_MS)
  redraw(app)
}

/**
 * Follows the pointer.
 * @param {?object} cell under it, perhaps with one side only.
 * @param {?object} link the line under it.
 */
function hover(app, cell, link = null) {
  const { state } = app
  const peek = link ?? pairWith(state, cell)
  const isSame = sameCell(peek, state.peek) && (state.locked || sameCell(cell, state.hover))
  Object.assign(state, { hover: cell, peek, missing: null })
  if (!isSame) refocus(app)
}

function sameCell(one, other) {
  return ['from', 'to', 'head'].every((side) => one?.[side] === other?.[side])
}
