// Part 3: text on canvases, and those that scroll.

const HIGHEST = 560 // CSS pixels of a box that scrolls

/** Sizes the space that a canvas scrolls over, and the box around. */
function sizeSpace(space, box, { width, height }) {
  Object.assign(space.style, { width: `${width}px`, height: `${height}px` })
  box.style.height = `${Math.min(height + 16, HIGHEST)}px`
}

/** What a box shows of something larger. */
function viewIn(box, { width, height }) {
  return {
    width: Math.min(box.clientWidth, width),
    height: Math.min(box.clientHeight, height),
    x: box.scrollLeft,
    y: box.scrollTop,
  }
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

/** Whether a token begins the second text. */
function beginsSegment(data, index) {
  return index > 0 && data.segments[index] !== data.segments[index - 1]
}
