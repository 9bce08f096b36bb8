// Shared by the views that know colours, tables and the pointer.

// As Streamlit or a saved file declares them, and what stands for them elsewhere.
const DECLARED = {
  text: ['--st-text-color', '#0F1620'],
  background: ['--st-background-color', '#FFFFFF'],
  panel: ['--st-secondary-background-color', '#F1F4F8'],
  primary: ['--st-primary-color', '#1A64A4'],
  border: ['--st-border-color', '#C9D1DC'],
  font: ['--st-font', 'sans-serif'],
  sequential: ['--st-chart-sequential-colors', '#F1F6FC,#B5D0EC,#689ED2,#2B69AD,#082A55'],
  diverging: ['--st-chart-diverging-colors', '#9A4A00,#DA9550,#F8E2CB,#D6E5F5,#74A6D6,#1A5591'],
}

/** All that is declared, by its name, and whether the page is dark. */
function readTheme(root) {
  readFontSize()
  const style = getComputedStyle(root)
  const theme = Object.fromEntries(Object.entries(DECLARED).map(
    ([name, [property, usual]]) => [name, style.getPropertyValue(property).trim() || usual]
  ))
  return { ...theme, isDark: luminance(parseColor(theme.background)) < 0.4 }
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

function css([red, green, blue]) {
  return `rgb(${red},${green},${blue})`
}

/** So many colours (red, green, blue) from the first of the given ones to the last. */
function shades(names, count) {
  const stops = names.map(parseColor)
  return Array.from({ length: count }, (_, index) => {
    const place = (index / (count - 1)) * (stops.length - 1)
    const left = Math.min(Math.floor(place), stops.length - 2)
    return stops[left].map((low, channel) =>
      Math.round(low + (stops[left + 1][channel] - low) * (place - left))
    )
  })
}

/** A row of a table. `scope` makes headers: "col" of all cells, "row" of the first. */
function rowOf(cells, scope) {
  return element('tr', {}, cells.map((cell, index) => {
    const isHeader = scope === 'col' || (scope === 'row' && index === 0)
    return element(isHeader ? 'th' : 'td', isHeader ? { scope } : {}, [cell])
  }))
}

/** Where the pointer is in an element, in CSS pixels. */
function pointIn(part, event) {
  const box = part.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}

/** How far along a curve is (0 to 1) that has come so far across, where both its handles
 *  lie in the middle: the t at which 1.5 t - 1.5 t² + t³ is `place`. */
function shareOfCurve(place) {
  return 0.5 + Math.sinh(Math.asinh(4 * place - 2) / 3)
}
