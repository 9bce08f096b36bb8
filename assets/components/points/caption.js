// Part 5: what stands below a saved picture: what it shows, what it is worth, the legend.

const CAPTION_LINE = 18
const SIGN_SIZE = 4.5
const SIGN_ROOM = 14
const NAME_GAP = 12
// A sign of Chinese or Japanese with the marks after it, or letters up to the next gap.
const WORDS = /[\u2E80-\uFFFF][，。；：、？！）】》”]*\s*|[^\s\u2E80-\uFFFF]+\s*/g

/** Paragraphs of pieces `{text, sign}`; a sign is `{fill, shape}`. */
function captionOf(app) {
  const { data, state, seen } = app
  const count = seen.reduce((sum, one) => sum + one, 0)
  const searched = state.search.trim()
  const lines = [
    [data.title, data.stateNames[state.layer]].filter(Boolean).join(' · '),
    axesInWords(app),
    say(data, 'shown', { count, all: data.numPoints }),
    farInWords(app),
    searched && `${say(data, 'search')}: ${searched}`,
    data.notes[state.layer],
  ]
  const paragraphs = lines.filter(Boolean).map((line) =>
    (line.match(WORDS) ?? []).map((text) => ({ text }))
  )
  return [...paragraphs, legendPieces(app)]
}

function legendPieces(app) {
  const { data, state, theme, groups } = app
  const color = data.colors[state.color]
  const title = { text: `${color.title}:`, gap: NAME_GAP }
  if (!color.names) {
    const steps = theme.steps.map((fill) => ({ text: '', sign: { fill, shape: 1 } }))
    const [low, high] = [color.low, color.high].map(numberInWords)
    return [title, { text: low, gap: 4 }, ...steps, { text: high }]
  }
  const shown = color.names
    .map((name, group) => ({
      text: `${name} (${groups.members[group].length})`,
      sign: { fill: colorOfGroup(app, group), shape: shapeOfGroup(group) },
      gap: NAME_GAP,
      isShown: groups.members[group].length > 0 && !state.hidden.has(group),
    }))
    .filter((piece) => piece.isShown)
  return [title, ...shown]
}

/** Which axis lies which way, and from where to where; turned axes have no one way. */
function axesInWords(app) {
  const { data, state, width, height } = app
  if (data.numAxes === 3) return say(data, 'axes_space')
  const { middle, half } = data.frame
  const room = roomFor(app) * state.zoom
  const at = (axis, place) =>
    Number((data.origin[axis] + (middle[axis] + place * half) * data.unit).toPrecision(3))
  const [x, y] = [width / 2 + state.panX, height / 2 + state.panY]
  return say(data, 'axes_flat', {
    left: at(0, -x / room), right: at(0, (width - x) / room),
    bottom: at(1, (y - height) / room), top: at(1, y / room),
  })
}

/** Pixels that the caption takes. */
function captionHeight(app) {
  return drawCaption(app, svgContext(0, 0, app.theme), 0)
}

/** Writes the caption below `top` and gives its height. */
function drawCaption(app, context, top) {
  const { theme, width } = app
  context.font = `${FONT_SIZE}px ${theme.font}`
  context.textBaseline = 'middle'
  let y = top + CAPTION_LINE
  for (const pieces of captionOf(app)) {
    let x = PADDING
    for (const { text, sign, gap = 0 } of pieces) {
      const room = sign ? SIGN_ROOM : 0
      const wide = room + context.measureText(text).width
      if (x > PADDING && x + wide > width - PADDING) {
        x = PADDING
        y += CAPTION_LINE
      }
      if (sign) {
        context.fillStyle = sign.fill
        context.beginPath()
        addShape(context, x + SIGN_SIZE + 1, y, SIGN_SIZE, sign.shape)
        context.fill()
      }
      context.fillStyle = theme.text
      if (text) context.fillText(text, x + room, y)
      x += wide + gap
    }
    y += CAPTION_LINE
  }
  return y - top
}
