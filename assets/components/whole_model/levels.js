// Part 4: a part that is opened in place, one level at a time.

/** Opens a part; the page is asked for what is inside. */
function openPart(app, name, event) {
  const { parts, state } = app
  const box = parts.stage.getBoundingClientRect()
  if (event?.clientX) parts.panel.style.transformOrigin = `${event.clientX - box.left}px ${event.clientY - box.top}px`
  Object.assign(state, { open: name, part: name.split('.').slice(0, name.startsWith('layer') ? 2 : 1).join('.') })
  app.tell()
  showPanel(app)
  parts.panel.focus({ preventScroll: true })
  parts.status.textContent = app.lastSaid()
}

/** One level back: from a head or a half to its layer, from all others to the picture. */
function closePart(app) {
  const { state, parts } = app
  const [place, layer, inside] = state.open.split('.')
  if (place === 'layer' && inside) return openPart(app, `layer.${layer}`)
  state.open = ''
  app.tell()
  showPanel(app)
  parts.paper.focus({ preventScroll: true })
  parts.status.textContent = app.lastSaid()
}

/** Covers the rails, not the guesses: what is switched off inside shows there. */
function showPanel(app) {
  const { state, parts, root, layout } = app
  const isNew = root.dataset.open !== state.open
  const { activeElement } = root.getRootNode()
  const hadFocus = activeElement === parts.paper || parts.panel.contains(activeElement)
  const at = isNew ? -1 : touched(parts).indexOf(activeElement)
  root.dataset.open = state.open
  parts.panel.hidden = !state.open
  parts.scroll.inert = Boolean(state.open)
  if (!state.open) {
    parts.panel.replaceChildren()
    if (hadFocus) parts.paper.focus({ preventScroll: true })
    return
  }
  parts.panel.style.margin = layout.isWide ? `0 ${layout.width - layout.words.x + 14}px 0 0` : `${layout.top - 12 * layout.type}px 0 0`
  const opened = app.isAlone ? savedInside(app) : app.opened
  const isHere = opened && opened.open === state.open && opened.focus === app.token()
  const inside = isHere ? insideOf(app, opened) : [element('p', {}, [app.isAlone ? onlyInApp(app) : say(app.data, 'opening')])]
  const back = button(app, 'back', () => closePart(app))
  const title = element('h2', {}, [titleOf(app)])
  const switches = state.open.startsWith('layer') ? [switchFor(app, state.open)] : []
  const head = element('div', { className: 'panel-head' }, [back, title, ...switches])
  parts.panel.replaceChildren(head, ...inside)
  parts.panel.setAttribute('aria-busy', String(!isHere))
  if (isNew) restart(parts.panel, 'zoomed')
  if (hadFocus) (touched(parts)[at] ?? parts.panel).focus({ preventScroll: true })
}

function touched({ panel }) {
  return [...panel.querySelectorAll('button, input, [tabindex]')]
}

function onlyInApp({ data }) {
  return say(data, 'only_in_app', { piece: data.tokens[placeOf(data, data.told.focus)] })
}

/** The part and the piece; of a layer, also what the guess was before and is after it. */
function titleOf(app) {
  const { data, state: { open, place } } = app
  const layer = /^layer\.(\d+)$/.exec(open)?.[1]
  const title = `${partName(app, open)} · ${data.tokens[place]}`
  if (!layer || !data.numGuesses) return title
  const said = [+layer, +layer + 1].map((level) => guessesAt(app, level, place)[0])
  return `${title}: ${said.map(({ word, prob }) => `${word} ${percent(prob)}`).join(' → ')}`
}

function restart(node, name) {
  node.classList.remove(name)
  node.classList.add(name)
}

function button(app, word, act, places) {
  return element('button', { type: 'button', onclick: act, textContent: say(app.data, word, places) })
}

function switchFor(app, name) {
  const isOff = app.state.off.has(name)
  const made = button(app, isOff ? 'switch_on' : 'switch_off', () => toggleOff(app, name))
  made.setAttribute('aria-pressed', String(isOff))
  made.setAttribute('data-name', name)
  made.setAttribute('aria-label', `${made.textContent}: ${partName(app, name)}`)
  return made
}

function insideOf(app, opened) {
  const [place, layer, kind] = opened.open.split('.')
  if (place === 'embeddings') return insideFoot(app, opened)
  if (place === 'mlm') return insideAnswer(app, opened)
  if (kind === 'head') return insideHead(app, opened)
  if (kind === 'mlp') return insideFeedForward(app, opened, +layer)
  return insideLayer(app, opened, +layer)
}

/** Heads side by side: what each brings to the piece in focus, and from where. */
function insideLayer(app, { arrays, kept, attention, feed_forward }, layer) {
  const size = app.data.numTokens
  const count = arrays.weights.length / size
  const heads = Array.from({ length: count }, (_, head) => {
    const name = `layer.${layer}.head.${head}`
    const weights = arrays.weights.subarray(head * size, (head + 1) * size)
    const { piece, share } = strongest(app, weights)
    const title = say(app.data, 'head_number', { head: head + 1 })
    const shown = [element('b', {}, [title]), fan(app, weights), element('span', {}, [`${share} ${piece}`])]
    const look = element('button', { type: 'button', onclick: (event) => openPart(app, name, event), 'data-name': name }, shown)
    look.setAttribute('aria-label', `${title}, ${say(app.data, 'looks_most', { piece, share })}`)
    const box = element('div', { className: 'head' }, [look, switchFor(app, name)])
    box.classList.toggle('off', app.state.off.has(name))
    return box
  })
  const lengths = bars(app, [['kept', kept], ['attention', attention], ['feed_forward_adds', feed_forward]])
  const half = button(app, 'open_feed_forward', (event) => openPart(app, `layer.${layer}.mlp`, event))
  half.setAttribute('data-name', `layer.${layer}.mlp`)
  return [
    element('div', { className: 'bar' }, [lengths, half]),
    element('div', { className: 'heads', 'data-name': `layer.${layer}.attention` }, heads),
  ]
}

function strongest({ data }, weights) {
  const best = weights.indexOf(Math.max(...weights))
  const piece = data.tokens[best - data.first] ?? say(data, 'piece_number', { number: best + 1 })
  return { piece, share: percent(weights[best]) }
}

/** The weights of one head, as curves into the piece in focus. */
function fan({ data, state, theme }, weights) {
  const [width, height] = [100, 64]
  const x = d3.scalePoint(data.tokens.map((_, place) => place), [6, width - 6])
  const path = d3.linkVertical()
  const lines = data.tokens.map((_, place) => shape('path', {
    d: path({ source: [x(place), height - 6], target: [x(state.place), 8] }),
    fill: 'none', stroke: theme.hues[data.segments[place] ? 1 : 0],
    'stroke-width': Math.max(0.3, 9 * weights[place + data.first]), opacity: opacityOf(weights[place + data.first]),
  }))
  const dots = data.tokens.map((_, place) => shape('circle', { cx: x(place), cy: height - 6, r: 2, fill: theme.text }))
  const top = shape('circle', { cx: x(state.place), cy: 8, r: 5, fill: theme.focus })
  return shape('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, [...lines, ...dots, top])
}

/** Lengths of vectors beside each other. */
function bars({ data }, rows) {
  const longest = Math.max(...rows.map(([, value]) => value))
  return element('table', { className: 'bars' }, rows.map(([word, value]) => (
    rowOf([say(data, word), value.toFixed(2), meter(value / longest)], 'row')
  )))
}

function meter(share) {
  return element('span', { className: 'meter', style: `--share:${share}` })
}

/** A vector as a strip of cells, blue below and orange above 0. */
function strip({ theme }, values, largest) {
  const canvas = element('canvas', { className: 'strip', width: values.length, height: 1, 'aria-hidden': 'true' })
  const context = canvas.getContext('2d')
  values.forEach((value, place) => {
    context.globalAlpha = Math.min(1, Math.abs(value) / largest)
    context.fillStyle = value < 0 ? theme.hues[0] : theme.focus
    context.fillRect(place, 0, 1, 1)
  })
  return canvas
}

function largestOf(values) {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
}

/** Query times key, scaled, softmax, values: for all pieces at once. */
function insideHead(app, { arrays }) {
  const { data, state } = app
  const { query, keys, values, products, scores, weights, output } = arrays
  const size = query.length
  const [ofKeys, ofValues] = [largestOf(keys), largestOf(values)]
  const steps = ['query', 'key', 'products', 'scores', 'probs', 'value']
  const names = steps.map((step) => say(data, `step_${step}`, { root: Math.sqrt(size).toFixed(2) }))
  const rows = data.tokens.map((token, place) => {
    const at = place + data.first
    return rowOf([
      token, strip(app, keys.subarray(at * size, (at + 1) * size), ofKeys), products[at].toFixed(2), scores[at].toFixed(2),
      element('span', {}, [meter(weights[at]), ` ${(100 * weights[at]).toFixed(1)}%`]),
      strip(app, values.subarray(at * size, (at + 1) * size), ofValues),
    ])
  })
  const head = rowOf([say(data, 'piece'), ...names.slice(1)], 'col')
  // Numbers of the query stand above those of the keys that they meet, sums below values.
  const first = rowOf([`${names[0]}: ${data.tokens[state.place]}`, strip(app, query, largestOf(query)), '', '', '', ''])
  const last = rowOf(['', '', '', '', say(data, 'step_output'), strip(app, output, ofValues)])
  return [element('table', {}, [head, first, ...rows, last])]
}

function insideFeedForward(app, { arrays, attention, feed_forward, words }, layer) {
  const { data } = app
  const rows = [...arrays.neurons].map((neuron, place) => rowOf([
    String(neuron + 1), arrays.activations[place].toFixed(2), arrays.contributions[place].toFixed(2), (words[place] ?? []).join(', '),
  ]))
  const head = rowOf(['neuron', 'activation', 'adds', 'promotes'].map((word) => say(data, word)), 'col')
  const lengths = bars(app, [['attention', attention], ['feed_forward_adds', feed_forward]])
  lengths.setAttribute('data-name', `layer.${layer}.mlp.output`)
  const neurons = element('table', { 'data-name': `layer.${layer}.mlp.post` }, [head, ...rows])
  return [lengths, neurons]
}

/** Word, position and segment, added and normalized. */
function insideFoot(app, { arrays }) {
  const rows = ['word', 'position', 'token_type', 'sum', 'norm'].map((name, place) => {
    const length = Math.sqrt(arrays[name].reduce((sum, value) => sum + value * value, 0))
    const made = rowOf([
      `${['', '+ ', '+ ', '= ', '→ '][place]}${say(app.data, `vector_${name}`)}`,
      strip(app, arrays[name], largestOf(arrays[name])), length.toFixed(2),
    ])
    made.setAttribute('data-name', `embeddings.${name}`)
    return made
  })
  const head = rowOf(['vector', 'numbers', 'length'].map((word) => say(app.data, word)), 'col')
  return [element('table', {}, [head, ...rows])]
}

/** Scores, temperature, softmax: exact over the whole vocabulary. */
function insideAnswer(app, { arrays, best, words }) {
  const { data } = app
  const table = element('table')
  const slider = element('input', { type: 'range', min: '0.2', max: '3', step: '0.1', value: app.heat ?? '1', 'aria-label': say(data, 'temperature') })
  const shown = element('output')
  const fill = () => {
    const heat = +(app.heat = slider.value)
    const top = arrays.logits[best[0]] / heat
    const sum = arrays.logits.reduce((total, logit) => total + Math.exp(logit / heat - top), 0)
    shown.textContent = heat.toFixed(1)
    const head = rowOf(['word', 'logit', 'divided', 'softmax'].map((word) => say(data, word)), 'col')
    table.replaceChildren(head, ...best.map((index, place) => {
      const prob = Math.exp(arrays.logits[index] / heat - top) / sum
      return rowOf([words[place], arrays.logits[index].toFixed(2), (arrays.logits[index] / heat).toFixed(2),
        element('span', {}, [meter(prob), ` ${(100 * prob).toFixed(2)}%`])])
    }))
  }
  slider.oninput = fill
  fill()
  return [element('label', { className: 'bar' }, [say(data, 'temperature'), slider, shown]), table]
}
