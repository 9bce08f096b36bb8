// Part 9: the elements of the component, made once.

/** Makes the elements of a component and gives them by name. */
function buildParts(data) {
  const parts = {
    filters: element('p', { className: 'filters' }),
    status: element('p', { className: 'status', role: 'status', 'aria-live': 'polite' }),
    legendStrip: element('canvas', { className: 'strip', 'aria-hidden': 'true' }),
    legendLow: element('span'),
    legendHigh: element('span'),
    legendName: element('span', { className: 'legend-name' }),
    grid: focusableCanvas('grid'),
    gridTable: element('table'),
  }
  parts.gridBox = element('div', { className: 'box grid-box' }, [parts.grid])
  parts.gridTitle = element('h2')
  parts.gridDetails = tableDetails(parts, 'gridSummary', [parts.gridTable])
  // On a page, tools below save it.
  parts.save = element('button', { type: 'button', className: 'save', hidden: true })
  parts.saveNote = element('p', { className: 'save-note', role: 'status', hidden: true })
  const legend = element('div', { className: 'legend' }, [
    parts.legendLow, parts.legendStrip, parts.legendHigh, parts.legendName,
  ])
  const gridPart = section('grid-part', [parts.gridTitle, parts.gridBox, parts.gridDetails])
  if (data.mode === 'map') {
    parts.root = element('div', { className: 'attention' }, [
      element('div', { className: 'bar' }, [legend, parts.save]),
      parts.saveNote,
      parts.status,
      gridPart,
    ])
    return parts
  }
  buildHeadParts(parts)
  parts.root = element('div', { className: 'attention' }, [
    element('div', { className: 'bar' }, [
      parts.scaleLabel, parts.thresholdLabel, legend, parts.layout, parts.save,
    ]),
    parts.saveNote,
    parts.filters,
    parts.status,
    element('div', { className: 'views' }, [gridPart, parts.heatPart, parts.linesPart]),
  ])
  return parts
}

function buildHeadParts(parts) {
  parts.scaleText = element('span')
  parts.scale = element('select')
  parts.scaleLabel = element('label', {}, [parts.scaleText, parts.scale])
  parts.thresholdText = element('span')
  parts.threshold = element('input', { type: 'range', min: '0', max: '0.5', step: '0.005' })
  parts.thresholdLabel = element('label', {}, [parts.thresholdText, parts.threshold])
  parts.layout = element('button', { type: 'button', className: 'layout' })
  Object.assign(parts, scrollingCanvas('heat'), scrollingCanvas('lines'))
  parts.heatTitle = element('h2')
  parts.linesTitle = element('h2')
  parts.linesCount = element('p', { className: 'lines-count' })
  for (const name of ['cell', 'lines']) {
    const table = element('table')
    const more = element('button', { type: 'button', className: 'more' })
    Object.assign(parts, { [`${name}Table`]: table, [`${name}More`]: more })
    parts[`${name}Details`] = tableDetails(parts, `${name}Summary`, [table, more])
  }
  parts.chips = element('div', { className: 'chips', role: 'group' })
  parts.heatPart = section('heat-part', [parts.heatTitle, parts.heatBox, parts.cellDetails])
  parts.linesPart = section('lines-part', [
    parts.linesTitle, parts.chips, parts.linesCount, parts.linesBox, parts.linesDetails,
  ])
}

function section(className, children) {
  return element('section', { className }, children)
}

function focusableCanvas(className) {
  return element('canvas', { className, tabIndex: 0, role: 'application' })
}

/** A canvas that stays in sight while its box scrolls over a larger space. */
function scrollingCanvas(name) {
  const canvas = focusableCanvas(name)
  const space = element('div', { className: 'space' })
  const box = element('div', { className: `box ${name}-box` }, [canvas, space])
  return { [name]: canvas, [`${name}Space`]: space, [`${name}Box`]: box }
}

function tableDetails(parts, summaryName, children) {
  parts[summaryName] = element('summary')
  const box = element('div', { className: 'box table-box' }, children)
  return element('details', {}, [parts[summaryName], box])
}

/** Writes the texts of the interface, in the language of the data. */
function writeWords(app) {
  const { data, parts } = app
  const put = (name, key, places) => (parts[name].textContent = say(data, key, places))
  const isMap = data.mode === 'map'
  put('gridTitle', isMap ? 'map_title' : gridTitle(data))
  put('gridSummary', 'as_table')
  put('save', 'save_png')
  parts.saveNote.hidden = true
  const gridLabel = say(data, isMap ? 'map_alt' : 'grid_alt', {
    ...data.words, layers: data.numLayers, heads: data.numHeads,
  })
  parts.grid.setAttribute('aria-label', gridLabel)
  if (isMap) return
  put('scaleText', 'scale')
  for (const name of ['cell', 'lines']) {
    put(`${name}Summary`, 'as_table')
    put(`${name}More`, 'more_rows')
  }
  const name = nameShown(data)
  put('heatTitle', 'heat_title', { name })
  parts.filters.hidden = !data.filters.length
  parts.filters.textContent = filtersSaid(data)
  const count = { count: data.numTokens, name }
  parts.heat.setAttribute('aria-label', say(data, 'heat_alt', count))
  parts.lines.setAttribute('aria-label', say(data, 'lines_alt', count))
  parts.chips.setAttribute('aria-label', say(data, 'heads_shown'))
  writeScaleNames(app)
  writeChips(app)
}

/** The grid always shows single weights, whatever the other views measure. */
function gridTitle(data) {
  return data.top === 1 || data.isDifference ? 'grid_title' : 'grid_title_weights'
}

function filtersSaid(data) {
  return data.filters.length ? say(data, 'filters_are', { filters: data.filters.join(' · ') }) : ''
}

function writeScaleNames({ data, parts }) {
  const options = ['linear', 'log', 'row'].map((value) =>
    element('option', { value, textContent: say(data, `scale_${value}`) })
  )
  parts.scale.replaceChildren(...options)
}

/** A button for each head of the layer: its number on its colour. */
function writeChips(app) {
  const { data, parts } = app
  const isKnown = data.linksPerRow > 0 || (data.isOneHead && data.arrays.everyHead)
  const hasLinks = data.numHeads > 1 && isKnown
  const numbers = hasLinks ? Array.from({ length: data.numHeads }, (_, head) => head) : []
  parts.chips.hidden = !hasLinks
  // Those that are there stay: one of them may have the keyboard.
  if (parts.chips.childElementCount !== numbers.length) {
    parts.chips.replaceChildren(...numbers.map((head) => chipOf(app, head)))
  }
  ;[...parts.chips.children].forEach((chip, head) => {
    chip.setAttribute('aria-label', say(data, 'head_chip', { head: head + 1 }))
  })
}

function chipOf(app, head) {
  const chip = element('button', { type: 'button', className: 'chip' })
  chip.textContent = String(head + 1)
  chip.onclick = () => toggleHead(app, head)
  return chip
}

/** Controls show the state. */
function showControls(app) {
  const { data, parts, state } = app
  if (data.mode === 'map') return
  parts.scale.value = state.scale
  parts.threshold.value = String(state.threshold)
  parts.thresholdText.textContent = say(data, 'threshold', {
    threshold: (state.threshold * topOf(data)).toFixed(3),
  })
  parts.layout.textContent = say(data, state.isLying ? 'stand_up' : 'lay_down')
  const shown = shownHeads(app)
  parts.linesTitle.textContent = say(data, 'lines_title', { name: nameOfLines(app) })
  const said = linesSaid(app)
  if (parts.linesCount.textContent !== said) parts.linesCount.textContent = said
  ;[...parts.chips.children].forEach((chip, head) => {
    chip.setAttribute('aria-pressed', String(shown.includes(head)))
    chip.style.setProperty('--hue', headStyle(app, head).color)
  })
}
