// Part 4: a bar for each name, with its number behind it.

const BAR = { row: 24, thick: 16, number: 64 }

function drawBars(app, picture) {
  const { width, widthOf } = app
  const values = [...picture.values]
  const names = rowNames(picture.rows, width, widthOf)
  const low = Math.min(0, ...values)
  const high = Math.max(0, ...values)
  const left = names.room + (low < 0 ? BAR.number : 0)
  const room = Math.max(40, width - left - (high > 0 ? BAR.number : 8))
  const at = (value) => left + ((value - low) / (high - low || 1)) * room
  const paper = shape('g')
  values.forEach((value, row) => {
    const y = TOP + (row + 0.5) * BAR.row
    const [start, end] = [Math.min(at(0), at(value)), Math.max(at(0), at(value))]
    const bar = { x: start, y: y - BAR.thick / 2, width: Math.max(1, end - start), height: BAR.thick }
    const isLeft = value < 0
    const told = shape('title', {}, [`${picture.rows[row]}: ${numeral(value, 6)}`])
    const number = { 'text-anchor': isLeft ? 'end' : 'start' }
    paper.append(
      text(names.shown[row], names.room - 8, y, { 'text-anchor': 'end' }),
      shape('rect', { ...bar, fill: app.data.barColor }, [told]),
      text(numeral(value, 4), isLeft ? start - 6 : end + 6, y, number)
    )
  })
  const bottom = TOP + values.length * BAR.row
  const axis = { d: `M${at(0)} ${TOP}V${bottom}`, stroke: 'currentColor', 'stroke-opacity': 0.6 }
  paper.append(shape('path', axis))
  paper.append(text(picture.title, left + room / 2, bottom + 14, { 'text-anchor': 'middle' }))
  return { paper, height: bottom + 30 }
}
