// What all canvas components begin with: reading what arrives, words, elements, files.

// Wide characters, fullwidth signs and rare characters included.
const CJK = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u

/**
 * Reads a payload: length of the header, header (JSON), then arrays, each starting at
 * a multiple of four bytes. See `pack` in bertviz_core/figures/payload.py.
 * @param {Uint8Array} bytes
 * @returns {object} the header with its arrays in `arrays`.
 */
function readPayload(bytes) {
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const length = new DataView(buffer).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)))
  const types = { float32: Float32Array, uint8: Uint8Array, uint16: Uint16Array }
  header.arrays = {}
  for (const [name, part] of Object.entries(header.parts)) {
    header.arrays[name] = new types[part.dtype](buffer, part.offset, part.length)
  }
  return header
}

// Of the letters in pictures, in pixels.
let FONT_SIZE = 12

/** Has them follow those of the page, which projector mode enlarges. */
function readFontSize() {
  FONT_SIZE = Math.round(0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize))
}

/** A template of the interface with its {places} filled. */
function say(data, key, places = {}) {
  return data.words[key].replace(/\{(\w+)\}/g, (whole, name) => places[name] ?? whole)
}

/** Makes an element with properties, attributes (`aria-…`, `role`) and children. */
function element(tag, properties = {}, children = []) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value
    else made.setAttribute(name, value)
  }
  made.append(...children)
  return made
}

const SVG = 'http://www.w3.org/2000/svg'

/** Makes an element of an SVG picture with attributes and children. */
function shape(tag, attributes = {}, children = []) {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/** Cuts a text to a width; what is left out ends in "…". */
function fitted(text, width, widthOf) {
  if (widthOf(text) <= width) return text
  const letters = [...text]
  while (letters.length > 1 && widthOf(`${letters.join('')}…`) > width) letters.pop()
  return `${letters.join('')}…`
}

/** A number as it is read: so many digits, no zeros behind them. */
function numeral(value, digits) {
  return String(Number(value.toPrecision(digits))).replace('-', '−')
}

/**
 * Takes what is told on the page under a name, now and whenever it is told anew: the
 * window keeps what was told last, see `teller` of pages/shared/components.py.
 * @returns {function(): void} ends it.
 */
function hear(event, take) {
  const hearIt = () => event in window && take(window[event])
  window.addEventListener(event, hearIt)
  hearIt()
  return () => window.removeEventListener(event, hearIt)
}

const SAVE = 'bert-explorer-save'

/**
 * Saves what an element shows when a button below its view says so, see `save_button`.
 * @param {HTMLElement} root
 * @param {function(object): void} save takes the `kind` of file and its name, `file`.
 * @returns {function(): void} ends it.
 */
function saveWhenTold(root, save) {
  const take = ({ detail }) => {
    if (root.getRootNode().host?.closest(`.st-key-${detail.key}`)) save(detail)
  }
  window.addEventListener(SAVE, take)
  return () => window.removeEventListener(SAVE, take)
}

/** Has the browser save a file. */
function saveBlob(blob, name) {
  const href = URL.createObjectURL(blob)
  element('a', { download: name, href }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}
