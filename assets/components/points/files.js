// Part 6: pictures to take away, with what they show below them.

const PIXELS_IN_FILE = 2 // of a PNG, for each one on the page

/** The name of the map and the number of its state, with an ending. */
function fileName({ data, state }, ending) {
  const number = data.numStates > 1 ? `_${state.layer}` : ''
  return `${data.name || 'map'}${number}.${ending}`
}

/** The canvas and its caption at twice their size, on the page's background. */
function savePng(app) {
  const canvas = document.createElement('canvas')
  draw(app, canvas, PIXELS_IN_FILE)
  const whole = document.createElement('canvas')
  const height = app.height + captionHeight(app)
  const context = prepare(whole, app.width, height, PIXELS_IN_FILE)
  context.fillStyle = app.theme.background
  context.fillRect(0, 0, app.width, height)
  context.drawImage(canvas, 0, 0, app.width, app.height)
  drawCaption(app, context, app.height)
  whole.toBlob((blob) => saveBlob(blob, fileName(app, 'png')))
}

/** The same as drawn shapes: the drawing code runs on a context that writes SVG. */
function saveSvg(app) {
  const writer = svgWriter(app.width, app.height + captionHeight(app), app.theme)
  drawPoints(app, writer)
  drawLabels(app, writer)
  drawRings(app, writer)
  drawCaption(app, writer, app.height)
  saveOutlined(writer.finish(), fileName(app, 'svg'))
}

/** As much of a canvas' context as drawing needs. */
function svgWriter(width, height, theme) {
  const safe = (text) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  const short = (...numbers) => numbers.map((number) => number.toFixed(1)).join(' ')
  const measure = document.createElement('canvas').getContext('2d')
  const made = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `font-family="sans-serif" font-size="${FONT_SIZE}">`,
    `<rect width="100%" height="100%" fill="${theme.background}"/>`,
  ]
  let path = []
  const writer = {
    beginPath: () => (path = []),
    moveTo: (x, y) => path.push(`M${short(x, y)}`),
    lineTo: (x, y) => path.push(`L${short(x, y)}`),
    closePath: () => path.push('Z'),
    rect: (x, y, w, h) => path.push(`M${short(x, y)}h${short(w)}v${short(h)}h${short(-w)}Z`),
    arc: (x, y, r) => path.push(
      `M${short(x + r, y)}A${short(r, r)} 0 1 1 ${short(x - r, y)}A${short(r, r)} 0 1 1 ` +
        `${short(x + r, y)}`
    ),
    fill: () => path.length && made.push(`<path fill="${writer.fillStyle}" d="${path.join('')}"/>`),
    stroke: () => made.push(
      `<path fill="none" stroke="${writer.strokeStyle}" ` +
        `stroke-width="${writer.lineWidth}" d="${path.join('')}"/>`
    ),
    strokeText: () => {},
    fillText: (text, x, y) => made.push(
      `<text x="${short(x)}" y="${short(y + 4)}" fill="${theme.text}">${safe(text)}</text>`
    ),
    measureText: (text) => {
      measure.font = `${FONT_SIZE}px sans-serif`
      return measure.measureText(text)
    },
    finish: () => [...made, '</svg>'].join('\n'),
  }
  return writer
}
