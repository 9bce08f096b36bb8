// Part 13: what the views show, whole, as a file: SVG, or PNG with twice the pixels.

const PICTURE = { margin: 16, line: 20, least: 420, ratio: 2, side: 16000, area: 80e6 }
const LEAST_RATIO = 1 / 16

// What each kind of file shows; a map is all in its grid.
const VIEWS_IN = {
  png: ['grid', 'heatmap', 'lines'], svg: ['grid'],
  grid_svg: ['grid'], heatmap_svg: ['heatmap'], lines_svg: ['lines'],
}

/** Saves the picture that was asked for, once it is no sketch any more. */
function saveIfAsked(app) {
  if (!app.asked || isWaiting(app)) return
  const { kind, file } = app.asked
  app.asked = null
  savePicture(app, kind, file)
}

/** Saves views whole, with the legend and what is said of them. */
function savePicture(app, kind, file) {
  const blocks = pictureBlocks(app, VIEWS_IN[kind])
  const { margin, least } = PICTURE
  const width = Math.max(least, ...blocks.map((block) => block.width)) + 2 * margin
  const written = blocks.map((block) => (block.text ? wrappedBlock(app, block, width - 2 * margin) : block))
  const height = written.reduce((sum, block) => sum + block.height, 2 * margin)
  if (kind !== 'png') {
    const context = svgContext(width, height, app.theme, blocks.find((block) => block.isBold).text)
    paintBlocks(context, written)
    return saveOutlined(context.finish(), file || say(app.data, 'png_file').replace(/png$/, 'svg'))
  }
  // Browsers refuse larger canvases.
  const ratio = Math.min(
    PICTURE.ratio,
    PICTURE.side / Math.max(width, height),
    Math.sqrt(PICTURE.area / (width * height))
  )
  const paint = (size) => {
    const canvas = element('canvas')
    paintBlocks(prepare(canvas, { width, height }, app.theme.background, size), written, size)
    return canvas
  }
  savePainted(app, paint, ratio)
}

function paintBlocks(context, blocks, ratio) {
  let top = PICTURE.margin
  for (const block of blocks) {
    block.draw(context, PICTURE.margin, top, ratio)
    top += block.height
  }
}

/** Browsers whose limit is lower still, as those of phones, give nothing: then smaller. */
function savePainted(app, paint, ratio) {
  paint(ratio).toBlob((blob) => {
    if (!blob && ratio / 2 >= LEAST_RATIO) return savePainted(app, paint, ratio / 2)
    noteSize(app, blob ? ratio : 0)
    if (!blob) return
    saveBlob(blob, say(app.data, 'png_file'))
  })
}

/**
 * A long text makes a picture that is smaller than the screen, or none, where `ratio` is
 * 0: nobody should wonder.
 */
function noteSize({ data, parts }, ratio) {
  const isSmall = ratio < 1
  parts.saveNote.hidden = !isSmall
  const percent = Math.floor(100 * ratio)
  const key = ratio === 0 ? 'png_fails' : 'png_is_small'
  parts.saveNote.textContent = isSmall ? say(data, key, { percent }) : ''
}

function pictureBlocks(app, views) {
  const { data, parts, state } = app
  const isMap = data.mode === 'map'
  const title = (part) => ({ text: part.textContent, isBold: true, width: 0 })
  const blocks = [legendBlock(app)]
  if (!isMap && data.filters.length) blocks.push({ text: filtersSaid(data), width: 0 })
  if (views.includes('grid')) {
    const grid = gridGeometry(app)
    blocks.push(title(parts.gridTitle), sheet(grid, (canvas, ratio) => drawGrid(app, canvas, ratio)))
  }
  if (!isMap && views.includes('heatmap')) {
    const heat = { ...heatGeometry(app), x: 0, y: 0 }
    blocks.push(title(parts.heatTitle), sheet(heat, (canvas, ratio) => drawHeatmap(app, canvas, heat, ratio)))
  }
  if (!isMap && views.includes('lines')) {
    const lines = { ...linesGeometry(app), x: 0, y: 0 }
    const said = [parts.thresholdText.textContent, linesSaid(app)]
    blocks.push(title(parts.linesTitle), ...said.map((text) => ({ text, width: 0 })))
    if (shownHeads(app).length > 1) blocks.push(headsBlock(app))
    blocks.push(sheet(lines, (canvas, ratio) => drawLines(app, canvas, lines, ratio)))
  }
  if (state.locked || isMap) blocks.push({ text: parts.status.textContent, width: 0 })
  return blocks
}

/** A view that is painted on a canvas of its own, then put in its place. */
function sheet({ width, height }, paint) {
  const draw = (context, left, top, ratio) => {
    if (context.within) return context.within(left, top, paint)
    const canvas = element('canvas')
    paint(canvas, ratio)
    context.drawImage(canvas, left, top, width, height)
  }
  return { width, height: height + PICTURE.line / 2, draw }
}

function legendBlock(app) {
  const { low, high, name } = legendTexts(app)
  const draw = (context, left, top) => {
    const y = top + PICTURE.line / 2
    let x = left
    const write = (text) => {
      setFont(app, context)
      context.textAlign = 'left'
      context.fillStyle = app.theme.text
      context.fillText(text, x, y)
      x += context.measureText(text).width + 8
    }
    write(low)
    legendColors(app).forEach((color, index) => {
      context.fillStyle = css(color)
      context.fillRect(x + index / 2, y - 6, 1, 12)
    })
    x += 136
    write(high)
    write(name)
  }
  return { width: 0, height: 1.5 * PICTURE.line, draw }
}

/** The colour and the dashes of each head whose lines are drawn. */
function headsBlock(app) {
  const { data } = app
  const heads = shownHeads(app)
  const draw = (context, left, top) => {
    heads.forEach((head, index) => {
      const y = top + (index + 0.5) * PICTURE.line
      const { color, dash } = headStyle(app, head)
      context.strokeStyle = color
      context.lineWidth = 3
      context.setLineDash(dash)
      context.beginPath()
      context.moveTo(left, y)
      context.lineTo(left + 40, y)
      context.stroke()
      context.setLineDash([])
      setFont(app, context)
      context.textAlign = 'left'
      context.fillStyle = app.theme.text
      context.fillText(say(data, 'head_name', numbersOf({ layer: data.layer, head })), left + 48, y)
    })
  }
  return { width: 0, height: heads.length * PICTURE.line, draw }
}

/** A text in as many lines as it takes. */
function wrappedBlock(app, { text, isBold = false }, width) {
  const measure = document.createElement('canvas').getContext('2d')
  setFont(app, measure, isBold)
  const lines = ['']
  for (const piece of text.match(/[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+|\s+/gu) ?? []) {
    const longer = lines.at(-1) + piece
    if (measure.measureText(longer).width <= width) lines[lines.length - 1] = longer
    else lines.push(piece.trimStart())
  }
  const draw = (context, left, top) => {
    setFont(app, context, isBold)
    context.textAlign = 'left'
    context.fillStyle = app.theme.text
    lines.forEach((line, index) => {
      context.fillText(line, left, top + (index + 0.5) * PICTURE.line)
    })
  }
  return { width: 0, height: lines.length * PICTURE.line, draw }
}
