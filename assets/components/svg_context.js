// Shared: canvases, sharp on every screen, and a context like theirs, as much of one as
// drawing needs, that writes SVG: a picture is saved by the code that draws it on the page.

const KEPT = ['fillStyle', 'strokeStyle', 'lineWidth', 'globalAlpha', 'font', 'textAlign', 'textBaseline']
const NOT_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
const ANCHORS = { center: 'middle', right: 'end' }

/** Sizes a canvas in CSS pixels and gives its context, scaled to the screen, on a ground. */
function prepare(canvas, { width, height }, ground, pixelRatio = window.devicePixelRatio || 1) {
  canvas.width = Math.max(1, Math.round(width * pixelRatio))
  canvas.height = Math.max(1, Math.round(height * pixelRatio))
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const context = canvas.getContext('2d')
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0)
  context.fillStyle = ground
  context.fillRect(0, 0, width, height)
  return context
}

/**
 * @param {{background: string, font: string}} look of the paper.
 * @param {string} title of the picture, for who cannot see it.
 * @returns {object} a context in pixels of the page. `within(left, top, paint)` calls `paint`
 *   with a canvas that lies there; `finish()` gives the file. A clip is the last rectangle of
 *   its path and lasts until `restore`; a turn holds for text alone.
 */
function svgContext(width, height, { background, font }, title = '') {
  const safe = (text) => text.replace(NOT_XML, '').replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  const n = (value) => +value.toFixed(2)
  const measure = document.createElement('canvas').getContext('2d')
  const made = []
  const states = []
  let [path, box, filled] = [[], null, null]
  let now = { base: [0, 0], left: 0, top: 0, turn: 0, dash: [], clips: 0 }
  const at = (x, y) => `${n(now.left + x)} ${n(now.top + y)}`
  const rectangle = (x, y, w, h) => `M${at(x, y)}h${n(w)}v${n(h)}h${n(-w)}z`
  const put = (markup) => {
    if (filled) made.push(`<path ${filled.look} d="${filled.parts.join('')}"/>`)
    filled = null
    made.push(markup)
  }
  const fill = (part) => {
    const look = `fill="${safe(writer.fillStyle)}"${faded('fill')}`
    // Cells of one colour, one after the other, share a path.
    if (filled?.look === look) return void filled.parts.push(part)
    put('')
    filled = { look, parts: [part] }
  }
  const stroke = (d) => {
    const dash = now.dash.length ? ` stroke-dasharray="${now.dash.join(' ')}"` : ''
    const look = `stroke="${safe(writer.strokeStyle)}" stroke-width="${n(writer.lineWidth)}"`
    put(`<path fill="none" ${look}${dash}${faded('stroke')} d="${d}"/>`)
  }
  const faded = (kind) => (writer.globalAlpha < 1 ? ` ${kind}-opacity="${n(writer.globalAlpha)}"` : '')
  const writer = {
    fillStyle: 'black', strokeStyle: 'black', lineWidth: 1, globalAlpha: 1,
    font: `${FONT_SIZE}px ${font}`, textAlign: 'left', textBaseline: 'alphabetic',
    save: () => {
      states.push([now, KEPT.map((name) => writer[name])])
      now = { ...now, clips: 0 }
    },
    restore: () => {
      if (now.clips) put('</svg>'.repeat(now.clips))
      const [before, values] = states.pop()
      now = before
      KEPT.forEach((name, index) => (writer[name] = values[index]))
    },
    setTransform: () => Object.assign(now, { left: now.base[0], top: now.base[1], turn: 0 }),
    translate: (x, y) => Object.assign(now, { left: now.left + x, top: now.top + y }),
    rotate: (angle) => (now.turn += (angle * 180) / Math.PI),
    setLineDash: (dash) => (now.dash = dash),
    beginPath: () => (path = []),
    moveTo: (x, y) => path.push(`M${at(x, y)}`),
    lineTo: (x, y) => path.push(`L${at(x, y)}`),
    bezierCurveTo: (a, b, c, d, x, y) => path.push(`C${at(a, b)} ${at(c, d)} ${at(x, y)}`),
    closePath: () => path.push('Z'),
    rect: (x, y, w, h) => {
      box = { x: n(now.left + x), y: n(now.top + y), width: n(w), height: n(h) }
      path.push(rectangle(x, y, w, h))
    },
    /** A whole circle, whatever its ends. */
    arc: (x, y, r) => path.push(
      `M${at(x + r, y)}A${n(r)} ${n(r)} 0 1 1 ${at(x - r, y)}A${n(r)} ${n(r)} 0 1 1 ${at(x + r, y)}`
    ),
    fill: () => path.length && fill(path.join('')),
    stroke: () => path.length && stroke(path.join('')),
    fillRect: (x, y, w, h) => fill(rectangle(x, y, w, h)),
    strokeRect: (x, y, w, h) => stroke(rectangle(x, y, w, h)),
    clip: () => {
      const { x, y, width: w, height: h } = box
      now.clips += 1
      put(`<svg x="${x}" y="${y}" width="${w}" height="${h}" viewBox="${x} ${y} ${w} ${h}">`)
    },
    measureText: (text) => {
      measure.font = writer.font
      return measure.measureText(text)
    },
    strokeText: () => {},
    fillText: (text, x, y) => {
      const turned = now.turn ? ` transform="translate(${at(0, 0)}) rotate(${n(now.turn)})"` : ''
      const [left, top] = turned ? [x, y] : [now.left + x, now.top + y]
      const anchor = ANCHORS[writer.textAlign] ? ` text-anchor="${ANCHORS[writer.textAlign]}"` : ''
      const down = writer.textBaseline === 'middle' ? ' dy="0.35em"' : ''
      const bold = writer.font.startsWith('600') ? ' font-weight="600"' : ''
      const look = `fill="${safe(writer.fillStyle)}"${anchor}${down}${bold}${turned}`
      put(`<text x="${n(left)}" y="${n(top)}" ${look}>${safe(text)}</text>`)
    },
    drawImage: (image, x, y, w, h, left, top, wide, high) => {
      const part = element('canvas', { width: w, height: h })
      part.getContext('2d').drawImage(image, x, y, w, h, 0, 0, w, h)
      const place = `x="${n(now.left + left)}" y="${n(now.top + top)}" width="${n(wide)}" height="${n(high)}"`
      const look = 'preserveAspectRatio="none" style="image-rendering: pixelated"'
      put(`<image ${place} ${look} href="${part.toDataURL()}"/>`)
    },
    within: (left, top, paint) => {
      writer.save()
      now.base = [left, top]
      paint({ style: {}, getContext: () => writer })
      writer.restore()
    },
    finish: () => {
      put('</svg>')
      const size = `width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}"`
      const first = `<svg xmlns="${SVG}" ${size} font-family="${safe(font)}" font-size="${FONT_SIZE}">`
      const told = title && `<title>${safe(title)}</title>`
      return [first, told, `<rect width="100%" height="100%" fill="${background}"/>`, ...made].join('\n')
    },
  }
  return writer
}
