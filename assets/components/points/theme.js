// Part 2: colours and shapes. A category has both, and its name in the legend.

const HUES_ON_LIGHT = ['#1A64A4', '#B06F13', '#05A470', '#7D1652', '#3A139F', '#71501D']
const HUES_ON_DARK = ['#94ADE5', '#E99A72', '#95F6CB', '#D0348A', '#E4D440', '#785BD6']
const SHAPES = ['●', '■', '▲', '◆', '✚', '▼']
const NUM_STEPS = 12
// viridis, lightness rising all the way; its ends stay apart from both grounds.
const STEPS_ON_LIGHT = ['#440154', '#3b528b', '#21918c', '#5ec962', '#c8b400']
const STEPS_ON_DARK = ['#8a6fd1', '#5f8fd3', '#2fb3a8', '#7ddc6f', '#fde725']

/** Colours of the page around and of points. */
function pointsTheme(root) {
  const theme = readTheme(root)
  const { isDark } = theme
  return {
    ...theme,
    hues: isDark ? HUES_ON_DARK : HUES_ON_LIGHT,
    steps: shades(isDark ? STEPS_ON_DARK : STEPS_ON_LIGHT, NUM_STEPS).map(css),
    faint: isDark ? '#4A5568' : '#C3CBD6',
  }
}

/** Which group of one colour each point is in; made anew for another colour. */
function groupsOf(app) {
  const { data, state } = app
  const key = `${state.color}/${data.colors[state.color].byState ? data.shownState : ''}`
  if (app.groups?.key === key) return app.groups
  const color = data.colors[state.color]
  const raw = data.arrays[`color${state.color}`]
  const offset = offsetOf(data, color)
  const number = color.names ? color.names.length : NUM_STEPS
  const members = Array.from({ length: number }, () => [])
  for (let point = 0; point < data.numPoints; point++) {
    const value = raw[point + offset]
    members[color.names ? value : stepOf(color, value)].push(point)
  }
  app.groups = { key, members, isNamed: Boolean(color.names) }
  return app.groups
}

/** Which step of the scale a number has. */
function stepOf({ low, high }, value) {
  return Math.round(((value - low) / (high - low || 1)) * (NUM_STEPS - 1))
}

/** Index of a category's shape: with its colour, 36 looks before one comes again. */
function shapeOfGroup(group) {
  return (group + Math.floor(group / HUES_ON_LIGHT.length)) % SHAPES.length
}

function colorOfGroup(app, group) {
  const { hues, steps } = app.theme
  return app.groups.isNamed ? hues[group % hues.length] : steps[group]
}
