// Shared: Chinese letters of a picture as drawn shapes, so that a saved file looks alike
// wherever it is opened. The letters are those of this browser: its layout says where
// each stands, and a canvas shows what each looks like.

// Pixels of the canvas, of which a path counts tenths. Small fonts are measured in whole
// pixels of theirs, so the edge leaves room for one more.
const TRACED = { em: 96, edge: 10, most: 4096, tolerance: 0.12, perPixel: 10 }
const OWN = ['font-family', 'font-size', 'font-style', 'font-weight'] // of a text or around it
const PLACED = ['x', 'y', 'dx', 'dy']
const CARRIED = [...OWN, 'transform', 'fill', 'opacity'] // from a text to its letters
// Pictures in colours, which no outline can be; U+FE0F makes one of a sign before it.
const IN_COLOR = /\p{Emoji_Presentation}|\ufe0f/u
// Scripts whose letters stand alone; others are joined, so a word is traced as a whole.
const STANDS_ALONE = /^[\P{L}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u

/**
 * Draws each text with a wide letter, all of it, as shapes. The text itself stays, unseen,
 * for searching, copying and screen readers. Of texts without one nothing changes.
 * @param {string} svgText whose texts are placed by x, y, dx, dy, text-anchor and transform,
 *   and have no elements inside.
 * @returns {string} another SVG, or the same where there is nothing to outline.
 */
function outlined(svgText) {
  if (!CJK.test(svgText)) return svgText
  const file = new DOMParser().parseFromString(svgText, 'image/svg+xml')
  if (file.querySelector('parsererror')) throw new Error('This is no SVG.')
  const texts = [...file.querySelectorAll('text')].filter((text) => CJK.test(text.textContent))
  if (!texts.length) return svgText
  const sheet = layOut(texts)
  try {
    const letters = letterShapes(sheet.canvas, idPrefixOf(svgText))
    texts.forEach((text, index) => drawText(text, sheet.texts[index], letters))
    placeShapes(file.documentElement, letters.shapes)
  } finally {
    sheet.host.remove()
  }
  return new XMLSerializer().serializeToString(file)
}

/**
 * Has the browser save a picture with its letters outlined or, where it cannot, as it is.
 * @returns {boolean} whether they are.
 */
function saveOutlined(svgText, name) {
  let file = svgText
  let isDone = true
  try {
    file = outlined(svgText)
  } catch (error) {
    isDone = false
    console.warn(error)
  }
  saveBlob(new Blob([file], { type: 'image/svg+xml' }), name)
  return isDone
}

/** Where the page's styles do not reach, copies of texts that can be measured: letters and
 *  places alone, nothing that a file might bring along. */
function layOut(texts) {
  const copies = texts.map((text) => {
    const anchor = { 'text-anchor': around(text, 'text-anchor') ?? 'start' }
    const look = { ...attributesOf(text, PLACED), ...inheritedOf(text), ...anchor }
    return shape('text', look, [oneLine(text.textContent)])
  })
  const canvas = element('canvas')
  const host = element('div', { 'aria-hidden': 'true' }, [shape('svg', {}, copies), canvas])
  // Ligatures would share one outline among letters that are traced one by one.
  host.style.cssText =
    'all: initial; position: fixed; left: -9999px; top: 0; visibility: hidden; ' +
    'font-variant-ligatures: none'
  document.body.append(host)
  return { host, canvas, texts: copies }
}

function attributesOf(text, names) {
  const present = names.filter((name) => text.hasAttribute(name))
  return Object.fromEntries(present.map((name) => [name, text.getAttribute(name)]))
}

function inheritedOf(text) {
  const found = OWN.map((name) => [name, around(text, name)])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

function around(text, name) {
  return text.closest(`[${name}]`)?.getAttribute(name)
}

/** White space as SVG draws it. */
function oneLine(content) {
  return content.replace(/[ \t\r\n]+/g, ' ').replace(/^ | $/g, '')
}

/** Puts the shapes of a text behind it and hides the text. */
function drawText(text, measured, letters) {
  const content = measured.textContent
  if (measured.getNumberOfChars() !== content.length) throw new Error('Letters were left out.')
  const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(measured)
  const name = [fontStyle, fontWeight, fontSize, fontFamily].join(' ')
  const font = { name, size: parseFloat(fontSize) }
  const drawn = piecesOf(content).map(({ piece, start }) => {
    const first = measured.getStartPositionOfChar(start)
    // The left end, which is the last one of what is read from the right.
    const left = Math.min(first.x, measured.getEndPositionOfChar(start + piece.length - 1).x)
    const place = { x: +left.toFixed(2), y: +first.y.toFixed(2) }
    const id = letters.idOf(piece, font)
    if (id === null) return shape('text', { ...place, 'text-anchor': 'start' }, [piece])
    return id && shape('use', { href: `#${id}`, ...place })
  })
  const look = { ...attributesOf(text, CARRIED), 'aria-hidden': 'true' }
  text.after(shape('g', look, drawn.filter(Boolean)))
  text.setAttribute('fill-opacity', 0)
}

/** What is traced at once: a letter with its marks, or a word of joined letters. */
function piecesOf(content) {
  const pieces = []
  let isJoined = false
  for (const { segment, index } of new Intl.Segmenter().segment(content)) {
    const isJoining = !CJK.test(segment) && !STANDS_ALONE.test(segment)
    if (isJoining && isJoined) pieces.at(-1).piece += segment
    else pieces.push({ piece: segment, start: index })
    isJoined = isJoining
  }
  return pieces
}

/** Shapes of letters, each traced when it is first asked for. */
function letterShapes(canvas, name) {
  const ids = new Map()
  const shapes = []
  const context = canvas.getContext('2d', { willReadFrequently: true })
  const traced = (piece, font) => {
    const path = IN_COLOR.test(piece) ? null : tracedLetter(canvas, context, piece, font)
    if (!path) return path
    const id = `${name}-${shapes.length + 1}`
    const size = { transform: `scale(${font.size / TRACED.em / TRACED.perPixel})` }
    shapes.push(shape('path', { id, ...size, 'fill-rule': 'evenodd', d: path }))
    return id
  }
  /** Of the shape; '' for one without ink, null where the letter has colours of its own. */
  const idOf = (piece, font) => {
    const key = `${font.name} ${piece}`
    if (!ids.has(key)) ids.set(key, traced(piece, font))
    return ids.get(key)
  }
  return { idOf, shapes }
}

/** The data of a path around a letter that begins at 0 on its line. */
function tracedLetter(canvas, context, letter, { name, size }) {
  const scale = TRACED.em / size
  context.font = name
  const ink = context.measureText(letter)
  const [left, above] = [ink.actualBoundingBoxLeft, ink.actualBoundingBoxAscent].map(
    (length) => Math.ceil(length * scale) + TRACED.edge
  )
  const width = left + Math.ceil(ink.actualBoundingBoxRight * scale) + TRACED.edge
  const height = above + Math.ceil(ink.actualBoundingBoxDescent * scale) + TRACED.edge
  if (!(Math.max(width, height) <= TRACED.most)) throw new Error('A letter is too large.')
  Object.assign(canvas, { width, height })
  // Scaled, not set in a larger font: that may have other letters for other sizes.
  context.setTransform(scale, 0, 0, scale, left, above)
  context.font = name
  context.fillText(letter, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  const cover = new Uint8Array(width * height)
  for (let at = 0; at < cover.length; at++) cover[at] = data[4 * at + 3]
  const lines = contoursOf(cover, width, height)
    .map((line) => simplified(line, TRACED.tolerance))
    .filter((line) => line.length > 2)
    .map((line) => line.map(([x, y]) => [x - left, y - above]))
  return pathOf(lines, TRACED.perPixel)
}

/** Puts the shapes before all that is drawn with them. */
function placeShapes(root, shapes) {
  const told = [...root.querySelectorAll(':scope > title, :scope > desc')].at(-1)
  const defs = shape('defs', {}, shapes)
  if (told) told.after(defs)
  else root.prepend(defs)
}

/** A name for the shapes of a picture, the same each time: two pictures on one page shall
 *  not draw each other's letters. Source: FNV-1a, 32 bits. */
function idPrefixOf(svgText) {
  let hash = 0x811c9dc5
  for (let index = 0; index < svgText.length; index++) {
    hash = Math.imul(hash ^ svgText.charCodeAt(index), 0x01000193)
  }
  return `letter-${(hash >>> 0).toString(36)}`
}
