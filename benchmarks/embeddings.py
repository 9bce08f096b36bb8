"""Maps and neighbours: a vocabulary of BERT-base's size, 200 sentences at every layer.

The vectors of the vocabulary are random: their values do not change the time. The
browser's share of a map is not in here; the component writes it into `data-draw-ms`.
"""

import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from bertviz_core.analysis.nearest_words import METRICS, WordTable
from bertviz_core.analysis.wordlists import MAIN_KINDS, main_kinds
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments import sentence_maps, stored_maps, vocabulary_maps
from bertviz_core.experiments.map_results import DrawnMap
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import Colour, PointMap, point_payload
from bertviz_core.sentences import bundled_sentences

NUM_WORDS, HIDDEN_SIZE = 30_522, 768
NUM_SENTENCES = 200
ROUNDS = 15
NEIGHBOUR_SECONDS, MAP_SECONDS, SENTENCE_SECONDS = 0.050, 3.0, 5.0
MAP_BYTES = 1_000_000

Row = tuple[str, str, str, str, str]


def measure() -> Table:
    """Asks a vocabulary, draws it, and sends sentences through every layer."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((NUM_WORDS, HIDDEN_SIZE), np.float32)
    rows = [_neighbours(WordTable(vectors), metric) for metric in METRICS]
    for num_axes in (2, 3):
        rows += _vocabulary_map(vectors, num_axes)
    rows += [_sentences(reading) for reading in ("mean", "token")]
    return Table(
        f"Embeddings: {NUM_WORDS:,} x {HIDDEN_SIZE} words, {NUM_SENTENCES} sentences",
        ("what", "measured", "target", "met", "others"),
        rows,
        (
            "Neighbours are exact, among all words, as the median of "
            f"{ROUNDS} questions. A map by PCA is fitted, its quality measured on "
            f"{vocabulary_maps.CHECKED_AT_ONCE} words, and packed for the browser; one "
            "from a file is held against the SHA-256 of the vectors instead.",
            f"Sentences are read by {DEFAULT_MODEL}, all layers, then drawn by PCA "
            "with the quality of every layer; nothing is kept from before.",
        ),
    )


def _neighbours(table: WordTable, metric: str) -> Row:
    rng = np.random.default_rng(1)
    queries = table.vectors[rng.integers(NUM_WORDS, size=ROUNDS)]
    table.nearest(queries[0], 10, metric)
    wait_until_quiet()
    work = OtherWork()
    seconds = [_timed(functools.partial(table.nearest, q, 10, metric)) for q in queries]
    median = statistics.median(seconds)
    return _row(f"10 nearest words, {metric}", median, NEIGHBOUR_SECONDS, work)


def _vocabulary_map(vectors: np.ndarray, num_axes: int) -> list[Row]:
    made = vocabulary_maps.map_by_pca(vectors, num_axes)
    wait_until_quiet()
    work = OtherWork()
    at_once = _timed(lambda: _payload(vocabulary_maps.map_by_pca(vectors, num_axes)))
    rows = [_row(f"map by PCA, {num_axes} axes", at_once, MAP_SECONDS, work)]
    with tempfile.TemporaryDirectory() as folder:
        # A folder with a config is a model to the store; a map lies beside it.
        (Path(folder) / "config.json").write_text("{}", encoding="utf-8")
        stored_maps.store_map(made, folder, stored_maps.digest_of(vectors))
        work = OtherWork()
        stored = _timed(lambda: _payload(_stored(folder, vectors, num_axes)))
    rows.append(_row(f"map from a file, {num_axes} axes", stored, MAP_SECONDS, work))
    size = len(_payload(made))
    target = f"{MAP_BYTES / 1e6:.0f} MB"
    name = f"bytes of a map, {num_axes} axes"
    return [*rows, (name, f"{size / 1e6:.2f} MB", target, met(size, MAP_BYTES), "")]


def _stored(folder: str, vectors: np.ndarray, num_axes: int) -> DrawnMap:
    digest = stored_maps.digest_of(vectors)
    found = stored_maps.find_map(folder, digest, num_axes, len(vectors))
    if found is None:
        raise RuntimeError("The map that was stored is not found.")
    return found


def _payload(found: DrawnMap) -> bytes:
    labels = tuple(f"word{index}" for index in range(NUM_WORDS))
    colours = (
        Colour("kind", main_kinds(labels), MAIN_KINDS),
        Colour("length", np.linspace(0.5, 2.0, NUM_WORDS)),
        Colour("place", np.arange(NUM_WORDS)),
    )
    return point_payload(PointMap(labels, found.coordinates[None], colours, {}))


def _sentences(reading: str) -> Row:
    explorer = Explorer.open(DEFAULT_MODEL)
    known = [sentence.text for sentence in bundled_sentences("en")]
    texts = (known * 2)[:NUM_SENTENCES]
    sentence_states(explorer, texts[:8], reading)  # compiled and warm

    def draw() -> None:
        states = sentence_states(explorer, texts, reading)
        sentence_maps.map_by_pca(states)

    wait_until_quiet()
    work = OtherWork()
    seconds = _timed(draw)
    name = f"{NUM_SENTENCES} sentences, all layers, by {reading}"
    return _row(name, seconds, SENTENCE_SECONDS, work)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _row(name: str, seconds: float, target: float, work: OtherWork) -> Row:
    is_short = target < 1
    shown, limit = (
        (f"{seconds * 1e3:.1f} ms", f"{target * 1e3:.0f} ms")
        if is_short
        else (f"{seconds:.2f} s", f"{target:.0f} s")
    )
    return (name, shown, limit, met(seconds, target), f"{work.cores():.2f}")
