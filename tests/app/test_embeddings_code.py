"""The programs of the embeddings page run, and print the numbers that it shows."""

from __future__ import annotations

import contextlib
import io

import pytest

from bertviz_core.analysis.anisotropy import outlier_dimensions
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    take_input_apart,
)
from bertviz_core.experiments.sentence_states import vectors_at
from bertviz_core.experiments.vocabulary_maps import vocabulary_map
from bertviz_core.experiments.word_vectors import nearest_words
from bertviz_core.explorer import Explorer
from bertviz_core.snippets import embeddings as programs
from bertviz_core.snippets.writing import write_snippet
from pages.shared.engine import client
from tests.app.real_pages import finished, open_page, run_program

# Opens each model once for all programs.
pytestmark = pytest.mark.usefixtures("opened")
SENTENCES = "a | one small lamp\nb | two large lamps\na | a bank\nb | the bank"


TEXT = "She sat down on the bank of the river."


def printed(code: str, **params: str) -> str:
    """Opens a panel with its program unfolded, and runs that."""
    app = open_page("embeddings", state={f"{code}_code": True}, **params)
    return run_program(finished(app))[1]


def test_the_input_sum():
    output = printed("embeddings_shares", text=TEXT, token="2")
    found = client().ask(take_input_apart)(DEFAULT_MODEL, TEXT)
    assert output.startswith("she ")
    assert str(found.normed[1, 0])[:6] in output


def test_positions():
    output = printed("embeddings_position_row", embeddings_panel="positions")
    apart = client().ask(measure_positions)(DEFAULT_MODEL).standing_apart
    lines = output.splitlines()[-len(apart) :] if len(apart) else []
    assert [int(line.split()[0]) for line in lines] == (apart + 1).tolist()


def test_neighbours_analogy_and_axis():
    words = {"embeddings_panel": "words"}
    output = printed("embeddings_neighbours", **words)
    found = client().ask(nearest_words)(
        DEFAULT_MODEL, "river", 10, "cosine", ("piece", "unused", "special")
    )
    shown = [line.split()[0] for line in output.splitlines()]
    assert shown == list(found.neighbours.words)
    output = printed("embeddings_analogy_all", embeddings_words_view="analogy", **words)
    assert output.splitlines()[0].split()[1].isdecimal()
    assert len(output.splitlines()) == 11
    output = printed("embeddings_axis", embeddings_words_view="axis", **words)
    assert output.splitlines()[0].startswith("nurse ")


def test_the_vocabulary_map():
    output = printed(
        "embeddings_map", embeddings_panel="map", embeddings_map_method="pca"
    )
    found = client().ask(vocabulary_map)(DEFAULT_MODEL, 2, "pca")
    assert float(output.split()[0]) == pytest.approx(found.explained, abs=1e-6)


def test_sentences():
    shown = printed(
        "embeddings_points",
        embeddings_panel="sentences",
        embeddings_topics=SENTENCES,
    )
    # That of a map that is drawn as a job runs without the map.
    program = write_snippet(
        programs.SENTENCES_NEIGHBOURS,
        model=DEFAULT_MODEL,
        sentences=("one small lamp", "two large lamps"),
        reading="token",
        num_axes=2,
        seed=1,
        method="tsne",
        size=5.0,
    )
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    layers = client().ask(Explorer.info)(DEFAULT_MODEL).config.num_hidden_layers
    for text in (shown, output.getvalue()):
        assert text.count("MapQuality(") == layers + 1


def test_senses_and_geometry():
    output = printed(
        "embeddings_sense_cosines",
        embeddings_panel="senses",
        embeddings_senses="a | a bank\nb | the bank\na | one bank\nb | his bank",
    )
    layers = client().ask(Explorer.info)(DEFAULT_MODEL).config.num_hidden_layers
    assert len(output.splitlines()) == layers + 1
    output = printed(
        "embeddings_dimensions",
        embeddings_panel="geometry",
        embeddings_topics=SENTENCES,
    )
    lines = output.splitlines()
    assert len(lines) == 2 * (layers + 1)
    sentences = tuple(line.split(" | ")[1] for line in SENTENCES.splitlines())
    for layer, line in enumerate(lines[::2]):
        states = client().ask(vectors_at)(DEFAULT_MODEL, sentences, "token", layer)
        out = outlier_dimensions(states, 3.0).dimensions + 1
        assert line.startswith(f"{layer} {out.tolist()} ")
