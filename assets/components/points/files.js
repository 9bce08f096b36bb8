// Part 6: pictures to take away, with what they show below them.

const PIXELS_IN_FILE = 2 // of a PNG, for each one on the page

/** The name of the map and the number of its state, with an ending. */
function fileName({ data, state }, ending) {
  const number = data.numStates > 1 ? `_${state.layer}` : ''
  return `${data.name || 'map'}${number}.${ending}`
}

/** What is on the screen and, below it, the caption. */
function drawFile(app, context) {
  context.save()
  context.beginPath()
  context.rect(0, 0, app.width, app.height)
  context.clip()
  drawMap(app, context)
  context.restore()
  drawCaption(app, context, app.height)
}

function savePng(app) {
  const canvas = element('canvas')
  const height = app.height + captionHeight(app)
  drawFile(app, prepare(canvas, { width: app.width, height }, app.theme.background, PIXELS_IN_FILE))
  canvas.toBlob((blob) => saveBlob(blob, fileName(app, 'png')))
}

function saveSvg(app) {
  const writer = svgContext(app.width, app.height + captionHeight(app), app.theme)
  drawFile(app, writer)
  saveOutlined(writer.finish(), fileName(app, 'svg'))
}
