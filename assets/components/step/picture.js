// Part 7: the picture of the step that is looked at. All steps of a layer come at once,
// so the next one is drawn before the page answers.

const picturesApps = new WeakMap()

/**
 * Shows a payload below an element, see `pictures_payload`; which of its pictures, the
 * strip tells.
 * @param {HTMLElement|ShadowRoot} parent
 * @param {Uint8Array} bytes
 * @returns {function(): void} ends it.
 */
function showPicture(parent, bytes) {
  const host = parent.querySelector('.step-picture')
  const app = picturesApps.get(host) ?? startPicture(host)
  takePictures(app, readPayload(bytes))
  return () => endPicture(host)
}

function startPicture(host) {
  const app = { host, told: element('div', { className: 'told', hidden: true }) }
  app.sheet = element('div', { className: 'sheet' })
  app.ring = shape('rect', { class: 'ring', visibility: 'hidden' })
  host.replaceChildren(app.sheet)
  picturesApps.set(host, app)
  listenToPointer(app)
  app.endSaves = saveWhenTold(host, ({ kind }) => (kind === 'svg' ? saveSvg : savePng)(app))
  app.resized = new ResizeObserver(() => drawPicture(app))
  app.resized.observe(host)
  return app
}

function endPicture(host) {
  const app = picturesApps.get(host)
  app.resized.disconnect()
  app.endSaves()
  app.deafen?.()
  picturesApps.delete(host)
}

function takePictures(app, data) {
  if (app.data?.key === data.key) return
  app.data = data
  app.colors = Object.fromEntries(
    Object.entries(data.scales).map(([name, stops]) => [name, shades(stops.map((stop) => stop[1]), 256)])
  )
  app.deafen?.()
  app.deafen = hear(TOLD, (name) => {
    if (app.step === name && app.shown === data) return
    app.step = name
    app.width = 0 // another picture: draw it, whatever is drawn
    drawPicture(app)
  })
}

function drawPicture(app) {
  const { host, data, step } = app
  const width = host.clientWidth
  // Of a part whose numbers are on their way, the last picture stays, but pale.
  const isHeld = Boolean(data?.pictures[step])
  host.setAttribute('aria-busy', String(!isHeld))
  if (!isHeld || width === 0 || width === app.width) return
  const picture = { ...data.pictures[step], values: data.arrays[step] }
  Object.assign(app, { picture, width, widthOf: ruler(host), shown: data })
  app.drawn = picture.kind === 'bars' ? drawBars(app, picture) : drawStrips(app, picture)
  showDrawn(app)
}

function showDrawn(app) {
  const { drawn, picture, width, sheet, told, ring } = app
  const size = { width, height: drawn.height, viewBox: `0 0 ${width} ${drawn.height}` }
  const words = { role: 'img', 'aria-label': picture.description }
  const svg = shape('svg', { ...size, ...words, 'font-size': FONT_SIZE }, [drawn.paper, ring])
  sheet.replaceChildren(...(drawn.cells ? [placed(drawn)] : []), svg, told)
  sheet.dataset.step = app.step
  forgetCell(app)
}

function placed({ cells, box }) {
  const place = { left: box.left, top: box.top, width: box.width, height: box.height }
  for (const [name, value] of Object.entries(place)) cells.style[name] = `${value}px`
  return cells
}
