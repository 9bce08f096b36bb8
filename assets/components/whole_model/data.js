// Part 1: the numbers of the picture, and what follows from them for a piece in focus.

const LEAST_SHARE = 0.002 // of the piece in focus; thinner curves are not drawn
const MOST_CURVES = 40 // between two heights

/** A piece's place among those that are shown. */
function placeOf(data, token) {
  return Math.max(0, Math.min(token - data.first, data.tokens.length - 1))
}

/** Where a piece of one text stands in another: it, what is before it or behind it stayed. */
function tokenIn(after, before, place, edit) {
  const [old, now] = [before.tokens ?? [], after.tokens]
  if (before.first !== after.first || old.length < before.numTokens) return null
  const isSame = (from, shift) => old.slice(from).every((token, at) => token === now[from + at + shift])
  const shift = now.length - old.length
  if (isSame(place, shift)) return place + shift
  const stays = old.slice(0, place + 1).every((token, at) => token === now[at])
  return stays || place === edit?.token ? place : null
}

/** How much of the state of `to` after a layer comes from the state of `from` before it. */
function shareOf({ data, state }, layer, to, from) {
  const size = data.tokens.length
  return data.arrays[state.raw ? 'attention' : 'shares'][(layer * size + to) * size + from]
}

/**
 * The piece in focus followed down: how much of it comes from each piece at each height,
 * rows from the input up. Of a text that is shown in part, the page has followed it.
 */
function followDown(app) {
  const { data, state } = app
  const size = data.tokens.length
  const known = data.arrays[state.raw ? 'looked' : 'reached']
  if (size < data.numTokens) {
    return Array.from({ length: data.numLayers + 1 }, (_, level) =>
      known.subarray(level * size, (level + 1) * size))
  }
  const rows = [Float64Array.from({ length: size }, (_, place) => +(place === state.place))]
  for (let layer = data.numLayers - 1; layer >= 0; layer--) {
    const next = new Float64Array(size)
    rows[0].forEach((weight, to) => {
      if (weight) for (let from = 0; from < size; from++) next[from] += weight * shareOf(app, layer, to, from)
    })
    rows.unshift(next)
  }
  return rows
}

/** The strongest curves between two heights, and the piece of the focus that each carries. */
function curvesOf(app, layer) {
  const { data, reached } = app
  const found = []
  reached[layer + 1].forEach((weight, to) => {
    if (weight < LEAST_SHARE) return
    data.tokens.forEach((_, from) => {
      const share = shareOf(app, layer, to, from)
      const flow = weight * share
      if (from !== to && flow >= LEAST_SHARE) found.push({ layer, to, from, share, flow })
    })
  })
  found.sort((one, other) => other.flow - one.flow)
  return found.slice(0, MOST_CURVES).map((curve) => ({ ...curve, name: edgeName(data, curve) }))
}

function edgeName({ first }, { layer, to, from }) {
  return `layer.${layer}.edge.${to + first}.${from + first}`
}

/** The likeliest words at a height: `{word, prob}`, best first. */
function guessesAt({ data }, level, place) {
  const { numGuesses, tokens, guesses, arrays } = data
  const start = (level * tokens.length + place) * numGuesses
  return Array.from({ length: numGuesses }, (_, rank) => ({
    word: guesses[arrays.guess_words[start + rank]],
    prob: arrays.guess_probs[start + rank],
  }))
}

/** What a saved file holds of the part that is open; nothing for other pieces. */
function savedInside({ data, state: { open } }) {
  const inside = data.inside[open]
  const arrays = {}
  for (const [name, numbers] of Object.entries(data.arrays)) {
    if (name.startsWith(`${open}/`)) arrays[name.slice(open.length + 1)] = numbers
  }
  return inside && { ...inside, arrays, open, focus: data.told.focus }
}

function percent(share) {
  const shown = 100 * share
  return `${shown.toFixed(shown < 9.95 ? 1 : 0)}%`
}

/** What a part is called, by its name. */
function partName(app, name) {
  const { data } = app
  const [place, layer, kind, number] = name.split('.')
  if (place !== 'layer') return say(data, place === 'mlm' ? 'answer' : 'embeddings')
  const places = { layer: +layer + 1, head: +number + 1 }
  if (kind === 'edge') {
    const [to, from] = name.split('.').slice(3).map((token) => data.tokens[placeOf(data, +token)])
    return say(data, 'curve', { ...places, to, from })
  }
  return say(data, { head: 'head', mlp: 'feed_forward' }[kind] ?? 'layer', places)
}
