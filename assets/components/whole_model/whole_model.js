// Part 6: one state, the elements, the keys, and what the page is told and tells.

const apps = new WeakMap()
const TOLD = 'bert-explorer-whole'

/**
 * Shows the picture below an element; called again, what is there moves to its new place.
 * @param {Uint8Array} bytes see `whole_model_payload`.
 * @param {function(object): void} send takes what is chosen, or how the text is to change.
 * @returns {function(): void} ends it.
 */
function showWhole(parent, bytes, send) {
  const began = performance.now()
  const data = readPayload(bytes)
  const app = apps.get(parent) ?? startWhole(parent)
  const { data: before, edit, turn, state } = app
  Object.assign(app, { data, send })
  if (before.id !== data.id) {
    // What was clicked while this picture was on its way is of the text before.
    const moved = turn > app.answered ? tokenIn(data, before, state.place, edit) : null
    const late = app.late.splice(0).map((one) => ({ ...one, token: tokenIn(data, before, one.token - before.first, edit) }))
    state.place = placeOf(data, moved ?? data.focus)
    if (data.numLayers !== before.numLayers) state.open = ''
    app.parts.status.textContent = ''
    state.off = new Set([...state.off].filter((name) => !name.includes('edge')))
    Object.assign(app, { edit: null, opened: null, switched: null, removed: null, agreement: undefined })
    late.forEach((one) => one.token === null || app.tell(one))
    if (turn > (edit?.turn ?? 0) && moved !== null) app.tell()
  }
  // What the page answers comes apart from the picture: it is small.
  app.endAnswers?.()
  app.endAnswers = hear(TOLD, (told) => takeAnswers(app, readPayload(told)))
  app.redraw()
  app.resized.observe(app.root)
  requestAnimationFrame(() => (app.root.dataset.arrivalMs = (performance.now() - began).toFixed(1)))
  return () => {
    app.endAnswers()
    app.deafen()
    app.resized.disconnect()
    clearTimeout(app.timer)
    app.root.remove()
    apps.delete(parent)
  }
}

/** In a saved file, where nobody answers. */
function showAlone(parent, bytes) {
  showWhole(parent, bytes, () => {})
  const app = apps.get(parent)
  app.isAlone = true
  app.parts.svg.hidden = app.parts.png.hidden = false
  app.root.classList.add('alone')
  app.parts.status.textContent = ''
  takeAnswers(app, app.data.told)
}

function startWhole(parent) {
  const parts = buildWhole()
  const state = { place: 0, raw: false, open: '', off: new Set(), part: '', station: null }
  const still = matchMedia('(prefers-reduced-motion: reduce)')
  const app = { data: { id: null }, parts, state, root: parts.root, turn: 0, answered: 0, edit: null, late: [] }
  Object.assign(app, {
    token: () => app.state.place + app.data.first,
    moveMs: () => (still.matches || app.isNew ? 0 : MOVE_MS),
    lastSaid: () => lastSaid(app),
    tell: (edit) => tellPage(app, edit),
    typeOver: (word) => app.tell({ token: app.token(), word }),
    redraw: () => redrawWhole(app),
    focusOn: (place) => focusOn(app, place),
  })
  ;(parent.querySelector('.whole-host') ?? parent).append(app.root)
  apps.set(parent, app)
  app.resized = new ResizeObserver(() => app.root.clientWidth !== app.room && app.redraw())
  listenToPointer(app)
  listenToControls(app)
  app.root.onkeydown = (event) => onKey(app, event)
  return app
}

function buildWhole() {
  const parts = {}
  for (const group of GROUPS) parts[group] = shape('g', { 'data-part': group })
  parts.hover = shape('path', { 'pointer-events': 'none' })
  parts.paper = shape('svg', { class: 'paper', tabindex: 0, role: 'application' }, [
    ...['rails', 'kept', 'curves'].map((group) => parts[group]), parts.hover,
    ...['nodes', 'foot', 'counts', 'names', 'beside', 'answer'].map((group) => parts[group]),
  ])
  for (const name of ['raw', 'hide', 'reset', 'before', 'play', 'after', 'svg', 'png']) {
    parts[name] = element('button', { type: 'button', className: name })
  }
  parts.svg.hidden = parts.png.hidden = true // on a page, tools below save it
  parts.word = element('input', { type: 'text', className: 'word', maxLength: 60 })
  parts.scroll = element('div', { className: 'scroll' }, [parts.paper])
  parts.panel = element('div', { className: 'panel', tabIndex: -1, role: 'region', hidden: true })
  parts.stage = element('div', { className: 'stage' }, [parts.scroll, parts.panel])
  parts.status = element('p', { className: 'status', role: 'status' })
  parts.proof = element('p', { className: 'proof' })
  parts.table = element('table')
  parts.summary = element('summary')
  parts.details = element('details', {}, [parts.summary, element('div', { className: 'table-box' }, [parts.table])])
  parts.root = element('div', { className: 'whole-model' }, [
    element('div', { className: 'bar' }, [
      parts.before, parts.play, parts.after, parts.word, parts.hide, parts.raw, parts.reset,
    ]),
    parts.stage, parts.status, parts.proof,
    element('div', { className: 'bar' }, [parts.details, parts.svg, parts.png]),
  ])
  return parts
}

function redrawWhole(app) {
  const { parts, data, state, root } = app
  app.isNew = app.room !== root.clientWidth
  app.room = root.clientWidth
  drawPicture(app)
  showFocusedRail(app)
  keepInSight(app)
  showWaiting(app)
  writeControls(app)
  showPanel(app)
  if (parts.details.open) fillTable(app)
  Object.assign(root.dataset, { focus: String(app.token()), raw: String(state.raw), off: [...state.off].join(' ') })
  parts.paper.setAttribute('aria-label', say(data, 'alt', { count: data.tokens.length, layers: data.numLayers }))
  // What a saved file says of itself, see `step/files.js`.
  app.picture = { name: say(data, 'file_title', { text: data.text }), description: parts.proof.textContent, file: data.file }
  Object.assign(app, { host: root, width: app.layout.width })
  app.drawn = { paper: parts.paper, height: app.layout.height }
}

/** What is said where nothing is pointed at: of the station, of what is open, or a hint. */
function lastSaid({ data, state, isAlone }) {
  const { station, open } = state
  if (station !== null) return `${station + 1} / ${STATIONS.length}  ${say(data, `station_${station + 1}`)}`
  if (isAlone && !open) return onlyInApp({ data })
  const [place, , kind = ''] = open.split('.')
  const told = { '': 'hint', embeddings: 'station_2', mlm: 'station_8' }[place]
  return say(data, told ?? { head: 'in_head', mlp: 'station_5' }[kind] ?? (isAlone ? 'station_4' : 'in_layer'))
}

function writeControls(app) {
  const { parts, data, state, root } = app
  const piece = data.tokens[state.place]
  const isMask = data.isMask[state.place]
  const put = (name, word, places) => (parts[name].textContent = say(data, word, places))
  put('raw', state.raw ? 'show_shares' : 'show_raw')
  parts.raw.setAttribute('aria-pressed', String(state.raw))
  put('hide', isMask ? 'unhide' : 'hide')
  put('reset', 'all_on')
  parts.reset.hidden = !state.off.size
  for (const [name, word] of [['before', 'step_back'], ['after', 'step_on']]) {
    parts[name].textContent = name === 'before' ? '‹' : '›'
    parts[name].setAttribute('aria-label', say(data, word))
  }
  showPlaying(app, Boolean(app.timer))
  parts.before.disabled = !state.station
  put('svg', 'save_svg')
  put('png', 'save_png')
  // What somebody is typing stays.
  const { value, dataset } = parts.word
  const isTyped = root.getRootNode().activeElement === parts.word && value !== dataset.put
  if (!isTyped && dataset.of !== `${data.id} ${app.token()}`) {
    parts.word.value = dataset.put = isMask ? '' : piece
    dataset.of = `${data.id} ${app.token()}`
  }
  parts.word.placeholder = say(data, 'type_over', { piece })
  parts.word.setAttribute('aria-label', parts.word.placeholder)
  parts.word.disabled = data.isAdded[state.place]
  parts.hide.hidden = !canHide(app)
  parts.summary.textContent = say(data, 'as_table')
  parts.panel.setAttribute('aria-label', say(data, 'inside'))
  parts.status.textContent ||= app.lastSaid()
  parts.status.classList.toggle('station', state.station !== null)
  parts.proof.textContent = proofOf(app)
}

function proofOf({ data, agreement }) {
  if (agreement === undefined) return ''
  const { value, count } = agreement
  return value === null ? say(data, 'no_proof') : say(data, 'proof', { value: value.toFixed(2).replace('-', '−'), count })
}

/** Shares at each height of the piece in focus, for who cannot see them. */
function fillTable(app) {
  const { data, state, parts, reached } = app
  const heights = reached.map((_, level) => level)
  const name = (level) => (level ? say(data, 'layer', { layer: level }) : say(data, 'embeddings'))
  const guess = heights.map((level) => (data.numGuesses ? guessesAt(app, level, state.place)[0] : null))
  const head = rowOf([say(data, 'piece'), ...heights.map(name)], 'col')
  const first = rowOf([say(data, 'guess_of', { piece: data.tokens[state.place] }), ...guess.map((one) => (one ? `${one.word} ${percent(one.prob)}` : ''))])
  const rows = data.tokens.map((token, place) => rowOf([token, ...heights.map((level) => percent(reached[level][place]))]))
  parts.table.replaceChildren(head, first, ...rows)
}

function listenToControls(app) {
  const { parts, state } = app
  parts.scroll.onscroll = () => keepInSight(app)
  parts.details.ontoggle = () => fillTable(app)
  parts.raw.onclick = () => {
    state.raw = !state.raw
    app.tell()
    app.redraw()
  }
  parts.hide.onclick = () => app.typeOver(null)
  parts.word.onkeydown = (event) => {
    event.stopPropagation()
    const word = parts.word.value.trim()
    if (event.key === 'Enter' && word) app.typeOver(word)
  }
  parts.reset.onclick = () => {
    state.off.clear()
    switchedOff(app)
  }
  parts.play.onclick = () => (app.timer ? pausePlay(app) : playOn(app))
  parts.before.onclick = () => stepTo(app, -1)
  parts.after.onclick = () => stepTo(app, 1)
  const save = ({ kind }) => saveWhole(app, kind === 'svg' ? saveSvg : savePng)
  for (const kind of ['svg', 'png']) parts[kind].onclick = () => save({ kind })
  app.deafen = saveWhenTold(app.root, save)
}

/** A file has the whole width: what stays in sight goes back to its place before. */
function saveWhole(app, save) {
  for (const part of [app.parts.names, app.parts.answer]) part.removeAttribute('transform')
  save(app)
  keepInSight(app)
}

function focusOn(app, place) {
  const { state, data } = app
  state.place = Math.max(0, Math.min(place, data.tokens.length - 1))
  Object.assign(app, { switched: null, removed: null, agreement: undefined })
  app.tell()
  app.redraw()
  if (app.isAlone && app.token() === data.told.focus) takeAnswers(app, { ...data.told, open: state.open, raw: state.raw })
  app.parts.status.textContent = describe(app, { place: state.place, level: data.numLayers })
}

function toggleOff(app, name) {
  if (app.isAlone) return
  const { off } = app.state
  if (!off.delete(name)) off.add(name)
  switchedOff(app)
}

function switchedOff(app) {
  app.switched = null
  app.tell()
  app.redraw()
}

/** Arrow keys walk over pieces and parts, Enter opens, Escape goes back. */
function onKey(app, event) {
  const { state, data, parts } = app
  if (event.key === 'Escape') {
    if (state.open) closePart(app)
    else if (state.station !== null) {
      pausePlay(app)
      goToStation(app, null)
    } else return
    event.stopPropagation()
    return event.preventDefault()
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const [target] = event.composedPath()
  const names = ['embeddings', ...levelsOf(app).map((layer) => `layer.${layer}`), 'mlm.logits']
  const at = names.indexOf(state.part === 'mlm' ? 'mlm.logits' : state.part)
  const walks = {
    ' ': () => (app.timer ? pausePlay(app) : playOn(app)),
    '.': () => stepTo(app, 1),
    ',': () => stepTo(app, -1),
  }
  const moves = {
    ArrowLeft: () => app.focusOn(state.place - 1),
    ArrowRight: () => app.focusOn(state.place + 1),
    ArrowUp: () => moveTo(app, names[Math.min(at + 1, names.length - 1)]),
    ArrowDown: () => moveTo(app, names[Math.max(at - 1, 0)]),
    Enter: () => state.part && openPart(app, names[at]),
    Delete: () => state.part.startsWith('layer') && toggleOff(app, state.part),
  }
  // A part that is open covers the picture, and the walk goes on in it.
  const keys = target === parts.paper ? { ...moves, ...walks } : target === parts.panel ? walks : {}
  const act = keys[event.key]
  if (!act) return
  event.preventDefault()
  act()
}

function moveTo(app, name) {
  app.state.part = name
  drawLayerNames(app)
  app.parts.status.textContent = say(app.data, 'enter_opens', { part: partName(app, name) })
}

/** Says what is chosen and, until the text has changed, what it is to be changed to. */
function tellPage(app, edit) {
  const { state, data } = app
  if (edit && app.edit) return app.late.push(edit)
  app.turn += 1
  if (edit) app.edit = { ...edit, turn: app.turn }
  showWaiting(app)
  app.send({
    id: data.id, turn: app.turn, focus: app.token(), open: state.open, raw: state.raw, off: [...state.off], edit: app.edit,
  })
}

function showWaiting({ parts, edit }) {
  parts.scroll.setAttribute('aria-busy', String(Boolean(edit)))
}

function takeAnswers(app, told) {
  const { state, data } = app
  if (told.id !== data.id) return
  // Who has gone on since waits for the answer to that.
  if (told.turn < app.turn && !app.isAlone) return
  app.turn = app.answered = told.turn
  app.edit = null
  const isOther = state.open !== told.open
  Object.assign(state, { place: placeOf(data, told.focus), raw: told.raw, open: told.open, off: new Set(told.off) })
  app.opened = told.opened && { ...told.opened, arrays: told.arrays, open: told.open, focus: told.focus }
  app.switched = told.switched
  app.agreement = told.agreement ?? undefined
  app.removed = told.agreement && new Map(told.agreement.moved)
  if (isOther) app.parts.status.textContent = ''
  app.redraw()
}
