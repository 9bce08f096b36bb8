// Part 2: drawing with SVG, whose text stays text on the page.

const MOST_OF_WIDTH = 0.4 // for the names of rows

function text(content, x, y, attributes = {}) {
  return shape('text', { x, y, dy: '0.35em', fill: 'currentColor', ...attributes }, [content])
}

/** Measures texts in the font of the page. */
function ruler(host) {
  readFontSize()
  const context = document.createElement('canvas').getContext('2d')
  context.font = `${FONT_SIZE}px ${getComputedStyle(host).fontFamily}`
  return (content) => context.measureText(content).width
}

/** Room for the names of rows, and these names cut to it. */
function rowNames(names, width, widthOf) {
  const most = MOST_OF_WIDTH * width
  const shown = names.map((name) => fitted(name, most, widthOf))
  return { shown, room: Math.ceil(Math.max(0, ...shown.map(widthOf))) + 10 }
}

/** A round number of at least so much: 1, 2 or 5 with zeros. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)))
  return [1, 2, 5, 10].find((factor) => factor * power >= least) * power
}
