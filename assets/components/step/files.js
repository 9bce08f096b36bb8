// Part 6: the picture as a file: SVG with Chinese letters as shapes, PNG with twice the pixels.

const FILE = { margin: 12, title: 28, ratio: 2 }

/** The picture with its title on the page's background, as the text of an SVG file. */
function svgFile({ host, drawn, picture, width }) {
  const { text: fill, background, font } = readTheme(host)
  const size = { width: width + 2 * FILE.margin, height: drawn.height + FILE.title + 2 * FILE.margin }
  const shift = `translate(${FILE.margin} ${FILE.margin + FILE.title})`
  const moved = shape('g', { transform: shift }, [...cellsImage(drawn), drawn.paper.cloneNode(true)])
  const title = text(picture.name, FILE.margin, FILE.margin + FILE.title / 2, { 'font-weight': 600 })
  const look = { color: fill, 'font-family': font, 'font-size': FONT_SIZE }
  const file = shape('svg', { ...size, viewBox: `0 0 ${size.width} ${size.height}`, ...look }, [
    shape('title', {}, [picture.name]),
    shape('desc', {}, [picture.description]),
    shape('rect', { width: '100%', height: '100%', fill: background }),
    title,
    moved,
  ])
  return { written: new XMLSerializer().serializeToString(file), ...size }
}

function cellsImage({ cells, box }) {
  if (!cells) return []
  const place = { x: box.left, y: box.top, width: box.width, height: box.height }
  const look = { preserveAspectRatio: 'none', style: 'image-rendering: pixelated' }
  return [shape('image', { href: cells.toDataURL(), ...place, ...look })]
}

function saveSvg(app) {
  const { written } = svgFile(app)
  saveOutlined(written, fileName(app, 'svg'))
}

function savePng(app) {
  const { written, width, height } = svgFile(app)
  const image = new Image()
  image.onload = () => {
    const canvas = element('canvas', { width: width * FILE.ratio, height: height * FILE.ratio })
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height)
    canvas.toBlob((blob) => saveBlob(blob, fileName(app, 'png')))
  }
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written)}`
}

function fileName({ picture }, ending) {
  return `${picture.file}.${ending}`
}
