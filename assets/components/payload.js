// What all canvas components begin with: reading what arrives, words, elements.

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
