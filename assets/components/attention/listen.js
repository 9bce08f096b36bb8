// Part 12: what hands do.

function listen(app) {
  const { parts, state } = app
  listenGrid(app)
  const save = (asked) => {
    app.asked = asked
    saveIfAsked(app)
  }
  parts.save.onclick = () => save({ kind: 'png' })
  app.deafen = saveWhenTold(app.root, save)
  parts.gridDetails.ontoggle = () => fillTables(app)
  if (app.data.mode === 'map') return
  for (const name of ['cell', 'lines']) {
    parts[`${name}Details`].ontoggle = () => fillTables(app)
    parts[`${name}More`].onclick = () => {
      state.tableRows += MORE_ROWS
      fillTables(app)
    }
  }
  listenCells(app, parts.heat, cellAt)
  listenCells(app, parts.lines, tokenAt, linkAt)
  parts.heatBox.onscroll = () => requestAnimationFrame(() => drawHeatmap(app))
  parts.linesBox.onscroll = () => requestAnimationFrame(() => drawLines(app))
  parts.heat.onkeydown = (event) => onCellKey(app, event, moveCell)
  parts.lines.onkeydown = (event) => onLineKey(app, event)
  parts.scale.onchange = () => changeLook(app, { scale: parts.scale.value })
  parts.threshold.oninput = () => changeLook(app, { threshold: Number(parts.threshold.value) })
  parts.layout.onclick = () => changeLook(app, { isLying: !state.isLying })
}

function listenGrid(app) {
  const { grid } = app.parts
  grid.onpointermove = (event) => {
    const place = headAt(app, pointIn(grid, event))
    const { missing, gridHover } = app.state
    // The pointer moves far more often than from head to head.
    if (gridHover?.layer === place?.layer && gridHover?.head === place?.head) return
    const isMissing = missing?.layer === place?.layer && missing?.head === place?.head
    Object.assign(app.state, { gridHover: place, missing: isMissing ? missing : null })
    drawGrid(app)
    showState(app)
  }
  grid.onpointerleave = () => {
    Object.assign(app.state, { gridHover: null, missing: null })
    drawGrid(app)
    showState(app)
  }
  grid.onclick = (event) => {
    const place = headAt(app, pointIn(grid, event))
    if (place) chooseHead(app, place, event.timeStamp)
  }
  grid.onkeydown = (event) => onGridKey(app, event)
}

/** A pointer over cells or tokens, and over lines where `findLink` finds them. */
function listenCells(app, canvas, find, findLink = () => null) {
  const under = (event) => {
    const point = pointIn(canvas, event)
    const cell = find(app, point)
    return { cell, link: cell ? null : findLink(app, point) }
  }
  canvas.onpointermove = (event) => {
    const { cell, link } = under(event)
    hover(app, cell, link)
  }
  canvas.onpointerleave = () => hover(app, null)
  canvas.onclick = (event) => {
    const { cell, link } = under(event)
    if (cell ?? link) toggleLock(app, cell ?? link)
  }
}
