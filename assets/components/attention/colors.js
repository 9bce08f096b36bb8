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
const FALLBACK = {
  '--st-text-color': '#0F1620',
  '--st-background-color': '#FFFFFF',
  '--st-secondary-background-color': '#F1F4F8',
  '--st-primary-color': '#1A64A4',
  '--st-border-color': '#C9D1DC',
  '--st-font': 'sans-serif',
  '--st-chart-sequential-colors': '#F1F6FC,#B5D0EC,#689ED2,#2B69AD,#082A55',
  '--st-chart-diverging-colors': '#9A4A00,#DA9550,#F8E2CB,#D6E5F5,#74A6D6,#1A5591',
}

/** Colours of the page around, as Streamlit (or the saved file) declares them. */
function readTheme(element) {
  readFontSize()
  const style = getComputedStyle(element)
  const get = (name) => style.getPropertyValue(name).trim() || FALLBACK[name]
  const background = get('--st-background-color')
  const isDark = luminance(parseColor(background)) < 0.4
  return {
    text: get('--st-text-color'),
    background,
    panel: get('--st-secondary-background-color'),
    primary: get('--st-primary-color'),
    border: get('--st-border-color'),
    font: get('--st-font'),
    hues: isDark ? HUES_ON_DARK : HUES_ON_LIGHT,
    sequential: colorTable(get('--st-chart-sequential-colors').split(','), null),
    diverging: colorTable(get('--st-chart-diverging-colors').split(','), background),
  }
}

/** Red, green, blue of any CSS colour. */
function parseColor(text) {
  const context = document.createElement('canvas').getContext('2d')
  context.fillStyle = text.trim()
  context.fillRect(0, 0, 1, 1)
  return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)]
}

function luminance([red, green, blue]) {
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
}

/** 256 colours between the given ones; a middle makes zero look like nothing. */
function colorTable(names, middle) {
  const stops = names.map(parseColor)
  if (middle !== null) stops.splice(stops.length / 2, 0, parseColor(middle))
  return Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (stops.length - 1)
    const left = Math.min(Math.floor(place), stops.length - 2)
    return stops[left].map((low, channel) =>
      Math.round(low + (stops[left + 1][channel] - low) * (place - left))
    )
  })
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

function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`
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
