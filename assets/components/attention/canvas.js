// Part 3: canvases, sharp on every screen, and text on them.


/** Sizes a canvas in CSS pixels and gives its context, scaled to the screen. */
function prepare(canvas, width, height, pixelRatio = window.devicePixelRatio || 1) {
  canvas.width = Math.max(1, Math.round(width * pixelRatio))
  canvas.height = Math.max(1, Math.round(height * pixelRatio))
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0)
  return context
}

function setFont(app, context, isBold = false) {
  context.font = `${isBold ? '600 ' : ''}${FONT_SIZE}px ${app.theme.font}`
  context.textBaseline = 'middle'
}

/** Cuts a text to a width in the font of a canvas. */
function fittedOn(context, text, width) {
  return fitted(text, width, (part) => context.measureText(part).width)
}

/** Writes a text upright: one character below the other. */
function writeUpright(context, text, x, top, height) {
  const step = FONT_SIZE + 1
  const letters = [...text]
  const room = Math.max(1, Math.floor(height / step))
  const shown = letters.length > room ? [...letters.slice(0, room - 1), '…'] : letters
  context.textAlign = 'center'
  shown.forEach((letter, index) => context.fillText(letter, x, top + step * (index + 0.5)))
}

/** Writes a column's name: Chinese upright, letters turned by a quarter. */
function writeColumnName(context, text, x, bottom, height) {
  if (CJK.test(text)) {
    const length = Math.min([...text].length * (FONT_SIZE + 1), height)
    writeUpright(context, text, x, bottom - length, height)
    return
  }
  context.save()
  context.translate(x, bottom)
  context.rotate(-Math.PI / 2)
  context.textAlign = 'left'
  context.fillText(fittedOn(context, text, height), 0, 0)
  context.restore()
}

/** Pointer position in a canvas, in CSS pixels. */
function pointIn(canvas, event) {
  const box = canvas.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}

/** Whether a token begins the second text. */
function beginsSegment(data, index) {
  return index > 0 && data.segments[index] !== data.segments[index - 1]
}
