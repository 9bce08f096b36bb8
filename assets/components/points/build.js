// Part 4: the elements of the map, made once, and the words on them.

const MATCHES_AS_BUTTONS = 12

function buildParts() {
  const button = (className) => element('button', { type: 'button', className })
  const parts = {
    searchText: element('span'),
    search: element('input', { type: 'search', spellcheck: false }),
    colorText: element('span'),
    color: element('select'),
    only: element('input', { type: 'checkbox' }),
    onlyText: element('span'),
    near: element('input', { type: 'checkbox' }),
    nearText: element('span'),
    stateText: element('span'),
    state: element('input', { type: 'range', min: '0', step: '1' }),
    play: button('play'),
    nearer: button('nearer'),
    further: button('further'),
    reset: button('reset'),
    note: element('p', { className: 'note', role: 'note' }),
    status: element('p', { className: 'status', role: 'status', 'aria-live': 'polite' }),
    legend: element('div', { className: 'legend', role: 'group' }),
    found: element('div', { className: 'found', role: 'group' }),
    canvas: element('canvas', { tabIndex: 0, role: 'application' }),
  }
  parts.stateBox = element('div', { className: 'bar states' }, [
    element('label', {}, [parts.stateText, parts.state]), parts.play,
  ])
  parts.onlyBox = element('label', {}, [parts.only, parts.onlyText])
  parts.nearBox = element('label', {}, [parts.near, parts.nearText])
  parts.root = element('div', { className: 'point-map' }, [
    element('div', { className: 'bar' }, [
      element('label', {}, [parts.searchText, parts.search]), parts.onlyBox,
      element('label', {}, [parts.colorText, parts.color]),
    ]),
    parts.found, parts.stateBox, parts.note,
    element('div', { className: 'canvas-box' }, [parts.canvas]),
    element('div', { className: 'bar' }, [
      parts.nearBox, parts.nearer, parts.further, parts.reset,
    ]),
    parts.legend, parts.status,
  ])
  return parts
}

/** Writes the texts of the interface, in the language of the data. */
function writeWords({ data, parts }) {
  for (const name of ['search', 'color', 'only', 'near']) {
    parts[`${name}Text`].textContent = say(data, name)
  }
  for (const name of ['nearer', 'further', 'reset']) parts[name].textContent = say(data, name)
  parts.search.placeholder = say(data, 'search_hint')
  parts.color.replaceChildren(
    ...data.colors.map((color, value) =>
      element('option', { value: String(value), textContent: color.title })
    )
  )
  parts.stateBox.hidden = data.numStates < 2
  parts.state.max = String(data.numStates - 1)
  const shown = { count: data.numPoints, axes: data.numAxes }
  parts.canvas.setAttribute('aria-label', say(data, 'alt', shown))
  parts.legend.setAttribute('aria-label', say(data, 'legend'))
  parts.found.setAttribute('aria-label', say(data, 'search'))
}

/** Controls, words and attributes show the state. */
function showState(app) {
  const { data, parts, state, root } = app
  if (parts.search.value !== state.search) parts.search.value = state.search
  parts.color.value = String(state.color)
  parts.only.checked = state.only
  parts.only.disabled = !app.matches
  const near = nearOf(app)
  parts.near.checked = state.near
  parts.nearBox.hidden = !near.length && !state.near
  parts.state.value = String(state.layer)
  parts.stateText.textContent = data.stateNames[state.layer] ?? ''
  parts.state.setAttribute('aria-valuetext', data.stateNames[state.layer] ?? '')
  parts.play.textContent = say(data, app.playing ? 'stop' : 'play')
  parts.note.textContent = data.notes[state.layer] ?? ''
  const said = describe(app)
  if (parts.status.textContent !== said) parts.status.textContent = said
  Object.assign(root.dataset, {
    state: state.layer,
    selected: state.selected === null ? '' : data.labels[state.selected],
    shown: app.seen.reduce((sum, one) => sum + one, 0),
    marked: near.length,
    matches: app.matches ? app.matches.reduce((sum, one) => sum + one, 0) : '',
  })
  writeLegend(app)
  writeFound(app)
}

/** What the pointer is at, or what is chosen, or how many there are. */
function describe(app) {
  const { data, state, seen } = app
  const point = state.hover ?? state.selected
  if (point === null) {
    const count = seen.reduce((sum, one) => sum + one, 0)
    const key = matchMedia('(pointer: coarse)').matches ? 'nothing_touch' : 'nothing'
    const told = say(data, key, { count, all: data.numPoints })
    return farInWords(app) + told
  }
  const value = valueInWords(data, state.color, point)
  return [data.labels[point], contextAt(data, point), value].filter(Boolean).join(' · ')
}

/** That some points are not in view, with the gap behind it; '' where all are. */
function farInWords(app) {
  const count = countFar(app)
  if (!count) return ''
  const told = say(app.data, 'far', { count })
  return told.endsWith('。') ? told : `${told} `
}

/** A button for each category that takes it away; the ends of a scale of numbers. */
function writeLegend(app) {
  const { data, parts, state, theme } = app
  const color = data.colors[state.color]
  const key = `${app.groups.key}/${theme.background}/${[...state.hidden]}/${data.words.legend}`
  if (app.legendKey === key) return
  app.legendKey = key
  if (color.names) return writeCategories(app, color.names)
  const strip = theme.steps.map((step) => {
    const cell = element('span', { className: 'step' })
    cell.style.background = step
    return cell
  })
  parts.legend.replaceChildren(
    element('span', { textContent: `${color.title}: ${numberInWords(color.low)}` }), ...strip,
    element('span', { textContent: numberInWords(color.high) })
  )
}

function writeCategories(app, names) {
  const buttons = names.map((name, group) => {
    const count = app.groups.members[group].length
    const sign = element('span', { textContent: SHAPES[shapeOfGroup(group)] })
    sign.style.color = colorOfGroup(app, group)
    const made = element('button', { type: 'button', className: 'category' }, [
      sign, ` ${name} (${count})`,
    ])
    made.hidden = count === 0
    made.setAttribute('aria-pressed', String(!app.state.hidden.has(group)))
    made.onclick = () => toggleGroup(app, group)
    return made
  })
  app.parts.legend.replaceChildren(...buttons)
}

/** The first matches as buttons, for the keyboard. */
function writeFound(app) {
  const { data, parts, matches, state } = app
  const key = `${state.search}/${state.selected}/${data.numPoints}`
  if (app.foundKey === key) return
  app.foundKey = key
  const points = matches
    ? rankedMatches(data, matches, state.search, MATCHES_AS_BUTTONS)
    : []
  const buttons = points.map((point) => {
    const made = element('button', { type: 'button', textContent: shortened(data.labels[point]) })
    made.setAttribute('aria-pressed', String(point === state.selected))
    made.onclick = () => select(app, point)
    return made
  })
  const count = matches ? matches.reduce((sum, one) => sum + one, 0) : 0
  const told = matches ? [element('span', { textContent: say(data, 'matches', { count }) })] : []
  parts.found.replaceChildren(...told, ...buttons)
}
