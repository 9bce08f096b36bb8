// Part 2: colours, scales and the legend.

// Apart in hue and in lightness; every head is numbered and dashed as well.
const HUES_ON_LIGHT = [
  '#1A64A4', '#B0570A', '#05764F', '#A3186E', '#4A2DB0', '#6B4A12',
  '#C1272D', '#0A7785', '#5F6B00', '#8E3FA8', '#2F7D1F', '#4A5568',
]
const HUES_ON_DARK = [
  '#6FB1F2', '#F2A25C', '#4FD6A4', '#F278C0', '#A995FF', '#D9B97A',
  '#FF8A80', '#5CD3E0', '#D3DC5A', '#DB9BF0', '#9ADF7D', '#B6C2D2',
]
const DASHES = [[], [7, 3], [2, 3]]
// Of each hue: two that look alike to a colour-blind reader never share their dashes.
const DASH_OF_HUE = [0, 0, 0, 1, 1, 2, 0, 2, 2, 1, 1, 0]
const LOG_FLOOR = 1e-4

/** Colours of the page around, of heads and of both scales. */
function attentionTheme(root) {
  const theme = readTheme(root)
  const [sequential, diverging] = [theme.sequential.split(','), theme.diverging.split(',')]
  // A middle like the page makes zero look like nothing.
  diverging.splice(diverging.length / 2, 0, theme.background)
  return {
    ...theme,
    hues: theme.isDark ? HUES_ON_DARK : HUES_ON_LIGHT,
    sequential: shades(sequential, 256),
    diverging: shades(diverging, 256),
  }
}

/** Where a value stands on the scale: 0 to 1, or -1 to 1 for differences. */
function onScale(value, scale, top) {
  const size = Math.min(Math.abs(value) / top, 1)
  const shown = scale === 'log'
    ? Math.max(0, 1 - Math.log10(Math.max(size, LOG_FLOOR)) / Math.log10(LOG_FLOOR))
    : size
  return Math.sign(value) * shown
}

/** The colour (r, g, b) of a value on a scale. */
function colorOf(app, value, top) {
  const place = onScale(value, app.state.scale, top)
  if (!app.data.isDifference) return app.theme.sequential[Math.round(place * 255)]
  return app.theme.diverging[Math.round((place + 1) * 127.5)]
}

/** The value that the end of the scale stands for, in a row of the shown head. */
function scaleTop(app, from) {
  if (app.state.scale === 'row') return rowFacts(app.data, from).largest || 1
  return topOf(app.data)
}

/** Colour and dashes of a head in the lines. */
function headStyle(app, head) {
  const { hues } = app.theme
  const hue = head % hues.length
  const turn = Math.floor(head / hues.length)
  return { color: hues[hue], dash: DASHES[(DASH_OF_HUE[hue] + turn) % DASHES.length] }
}

/** Colours of the legend's strip, from its low end to its high one. */
function legendColors(app) {
  return app.data.isDifference ? app.theme.diverging : app.theme.sequential
}

/** What stands at both ends of the legend, and behind it. */
function legendTexts({ data, state }) {
  const { scale } = state
  const end = topOf(data)
  const top = scale === 'row' ? say(data, 'row_top') : numeral(end, 3)
  const low = scale === 'log' ? `≤ ${numeral(LOG_FLOOR * end, 3)}` : '0'
  return {
    low: data.isDifference ? `−${top}` : low,
    high: data.isDifference ? `+${top}` : top,
    name: say(data, legendKey(data), { scale: say(data, `scale_${scale}`), unit: data.unit }),
  }
}

/** Draws the legend: a strip of colours, its ends in numbers, the scale's name. */
function drawLegend(app) {
  const { legendStrip, legendLow, legendHigh, legendName } = app.parts
  const table = legendColors(app)
  const context = legendStrip.getContext('2d')
  legendStrip.width = 256
  legendStrip.height = 1
  table.forEach((color, index) => {
    context.fillStyle = css(color)
    context.fillRect(index, 0, 1, 1)
  })
  const texts = legendTexts(app)
  legendLow.textContent = texts.low
  legendHigh.textContent = texts.high
  legendName.textContent = texts.name
}

function legendKey(data) {
  if (data.mode === 'map') return 'legend_map'
  return data.isDifference ? 'legend_difference' : 'legend_weight'
}
