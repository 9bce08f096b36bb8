// Part 5: eight stations from the foot to the top.

const STATION_MS = 7000
const STATIONS = [
  { parts: ['foot'] },
  { parts: ['foot', 'nodes'], at: 0, open: 'embeddings' },
  { parts: ['rails', 'kept', 'curves'], layer: 0 },
  { open: 'layer.0', parts: [] },
  { open: 'layer.0.mlp', parts: [] },
  { parts: ['beside', 'names'] },
  { parts: ['curves', 'kept', 'nodes', 'foot', 'counts'] },
  { parts: ['answer'] },
]
const GROUPS = ['rails', 'kept', 'curves', 'nodes', 'foot', 'counts', 'names', 'beside', 'answer']

/** Goes to a station, from 0; `null` ends the walk. */
function goToStation(app, number) {
  const { state, parts } = app
  state.station = number === null ? null : Math.max(0, Math.min(number, STATIONS.length - 1))
  const open = state.station === null ? '' : STATIONS[state.station].open ?? ''
  if (state.open !== open) {
    state.open = open
    app.tell()
    showPanel(app)
  }
  const isOn = state.station !== null
  parts.status.textContent = app.lastSaid()
  parts.before.disabled = !isOn || state.station === 0
  markStation(app)
}

function markStation(app) {
  const { state, parts } = app
  const station = state.station === null ? null : STATIONS[state.station]
  for (const group of GROUPS) parts[group].setAttribute('opacity', !station || station.open || station.parts.includes(group) ? 1 : 0.18)
  d3.select(parts.curves).selectAll('path').attr('display', ({ layer }) => (station?.layer === undefined || station.layer === layer ? null : 'none'))
  app.root.dataset.station = state.station === null ? '' : String(state.station + 1)
}

function playOn(app) {
  const { state } = app
  clearTimeout(app.timer)
  const isLast = state.station === STATIONS.length - 1
  goToStation(app, state.station === null || isLast ? 0 : state.station + 1)
  app.timer = setTimeout(() => {
    if (state.station === STATIONS.length - 1) pausePlay(app)
    else playOn(app)
  }, STATION_MS)
  showPlaying(app, true)
}

function pausePlay(app) {
  clearTimeout(app.timer)
  app.timer = null
  showPlaying(app, false)
}

function showPlaying(app, isOn) {
  app.parts.play.textContent = say(app.data, isOn ? 'pause' : 'play')
  app.parts.play.setAttribute('aria-pressed', String(isOn))
}

function stepTo(app, by) {
  pausePlay(app)
  goToStation(app, app.state.station === null ? 0 : app.state.station + by)
}
