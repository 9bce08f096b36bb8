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

function saveSvg(app) {
  const writer = svgContext(app.width, app.height + captionHeight(app), app.theme)
  drawPoints(app, writer)
  drawLabels(app, writer)
  drawRings(app, writer)
  drawCaption(app, writer, app.height)
  saveOutlined(writer.finish(), fileName(app, 'svg'))
}
