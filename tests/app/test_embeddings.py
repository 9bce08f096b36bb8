"""The embeddings page on the bundled model, and with models of other kinds."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import read_lines
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    take_input_apart,
)
from bertviz_core.experiments.sentence_maps import MOST_CHECKED, layer_facts
from bertviz_core.experiments.sentence_states import vectors_at, word_senses
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from bertviz_core.experiments.stored_maps import digest_of, store_map
from bertviz_core.experiments.vocabulary_maps import (
    exported_vectors,
    map_by_pca,
    vocabulary_map,
)
from bertviz_core.experiments.word_axis import project_words, remove_axis
from bertviz_core.experiments.word_vectors import (
    nearest_words,
    solve_analogy,
    word_norms,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.labels import with_minus
from bertviz_core.sentences import bundled_text
from pages.embeddings import figures, input_embeddings
from pages.shared import answers
from pages.shared.engine import client
from pages.shared.export import show_map
from tests.app import real_pages
from tests.app.real_pages import (
    answer,
    checked,
    enter,
    finished,
    floats,
    link_of,
    run_program,
    said,
    specs,
    unfolded,
)
from tests.core.checkpoint_copies import HF, hf_copy, weights_of_hf
from tests.core.sent_figures import numbers
from tests.payloads import unpacked

TEXT = "She sat down on the bank of the river."
TINY = str(HF)  # where the numbers mean nothing
WORDS = 500


def num_states(model: str = DEFAULT_MODEL) -> int:
    """The layers of the model, and what enters the first."""
    return 1 + client().ask(Explorer.info)(model).config.num_hidden_layers


def open_page(language: str = "en", **params: str) -> AppTest:
    """With `TEXT`, unless the reader is another than usual."""
    usual = {"text": TEXT} if language == "en" and "model" not in params else {}
    return finished(real_pages.open_page("embeddings", language, **(usual | params)))


def sent(app: AppTest) -> dict:
    """The header of what the map of points is sent."""
    header, _ = unpacked(app.get("bidi_component")[0].proto.bytes)
    return header


def heat(app: AppTest) -> np.ndarray:
    (found,) = [s for s in specs(app) if s["data"][0]["type"] == "heatmap"]
    return np.array(found["data"][0]["z"], float)


def marks(app: AppTest) -> dict:
    """What the map is told to mark."""
    return json.loads(app.get("bidi_component")[1].proto.json)


def test_the_strips_are_the_parts_of_the_chosen_token():
    state = unfolded("embeddings_shares")
    app = open_page(token="7", embeddings_dimension="18", state=state)
    found = client().ask(take_input_apart)(DEFAULT_MODEL, TEXT)
    assert found.tokenized.tokens[6] == "bank"
    printed = run_program(app)[1]
    assert printed.startswith("bank ")
    assert str(found.normed[6, 17])[:6] in printed
    size = found.summed.shape[1]
    strips = [numbers(trace["z"]) for trace in specs(app)[0]["data"]]
    assert [np.isfinite(strip).sum() for strip in strips] == [4 * size, size]
    np.testing.assert_allclose(strips[1][4], found.normed[6], rtol=1e-5)
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["length"], found.part_norms[:, 6], rtol=1e-6)
    sum_formula, norm_formula = (element.value for element in app.get("latex"))
    assert f"{found.parts[0, 6, 17]:.5f}" in sum_formula
    assert f"= {found.normed[6, 17]:.5f}" in norm_formula
    assert app.subheader[1].value.startswith("Dimension 18")
    assert "Checked" in said(app)


@pytest.fixture(scope="module")
def many_words(tmp_path_factory) -> str:
    """A tiny model of so many words that drawing a map takes longer than a click.

    A map of it has been drawn before, with the usual settings.
    """
    weights, rng = weights_of_hf(), np.random.default_rng(4)
    for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
        old = weights[name]
        more = rng.normal(size=(WORDS - len(old), *old.shape[1:])).astype("f4")
        weights[name] = np.concatenate([old, more])
    target = hf_copy(tmp_path_factory.mktemp("many"), weights, {"vocab_size": WORDS})
    path = target / "vocab.txt"
    words = path.read_text("utf-8").split()
    words += [f"word{i}" for i in range(WORDS - len(words))]
    path.write_text("\n".join(words) + "\n", "utf-8")
    model = str(target)
    table = client().ask(exported_vectors)(model, tuple(range(WORDS)))
    drawn = map_by_pca(table)
    drawn = dataclasses.replace(
        drawn, method="tsne", explained=None, neighbourhood=30.0, num_steps=300
    )
    store_map(drawn, model, digest_of(table))
    return model


@pytest.mark.parametrize(("share", "kind"), [(0.9e-6, "success"), (1.1e-6, "warning")])
def test_a_layer_norm_that_differs_is_said_to_differ(monkeypatch, share, kind):
    found = client().ask(take_input_apart)(DEFAULT_MODEL, TEXT)
    difference = share * float(np.abs(found.normed).max())
    changed = dataclasses.replace(found, largest_difference=difference)
    monkeypatch.setattr(input_embeddings, "answer", lambda _: changed)
    app = open_page()
    shown = {"success": app.success, "warning": app.warning}
    (told,) = shown.pop(kind)
    assert f"{difference:.1e}" in told.value
    assert all(len(other) == 0 for other in shown.values())


def test_another_sentence_begins_with_its_first_word():
    app = open_page(token="7", embeddings_dimension="99999")
    dimension = app.number_input(key="embeddings_dimension")
    assert dimension.value == dimension.max > 1, "the last of a smaller model"

    def type_text(text: str, box: str = "text") -> str:
        app.text_area(key=box).set_value(text).run()
        return said(checked(app))

    type_text("Two words")
    assert app.get_by_key("token").value == "2"
    assert app.get_by_key("token").proto.wrap  # in a column most would be out of sight
    type_text("two lamps", "pair")
    assert app.get_by_key("token").options[-1].endswith("SEP\\]")
    assert not app.warning
    type_text("我们都喜欢茶。")
    assert "mean little" in app.warning[0].value
    assert "604 tokens" in type_text("a " * 599)
    assert "no text yet" in type_text("  ")


def test_positions_as_a_matrix_a_chain_and_a_curve():
    link = {"embeddings_panel": "positions", "embeddings_position": "5"}
    app = open_page(**link, state=unfolded("embeddings_position_row"))
    assert app.get_by_key("embeddings_panel").value == "positions"
    found = client().ask(measure_positions)(DEFAULT_MODEL)
    assert f"mean cosine of {found.by_distance[1]:.2f}" in said(app)
    np.testing.assert_array_equal(
        app.dataframe[0].value["position"], found.standing_apart + 1
    )
    assert len(found.standing_apart), "nothing to see"
    printed = run_program(app)[1].splitlines()[-len(found.standing_apart) :]
    assert [int(line.split()[0]) for line in printed] == [*found.standing_apart + 1]
    assert specs(app)[0]["layout"]["shapes"][0]["y0"] == 5
    assert "The row of position 5" in said(app)

    app.get_by_key("embeddings_positions_view").set_value("chain").run()
    traces = specs(checked(app))[0]["data"]
    for axis, name in enumerate("xy"):
        np.testing.assert_allclose(
            numbers(traces[0][name]), found.coordinates[:, axis], atol=1e-5
        )
    assert f"{found.explained[:2].sum():.0%} of the variance" in said(app)
    app.get_by_key("embeddings_position_axes").set_value("1-3").run()
    assert f"Trustworthiness {found.qualities[1].trustworthiness:.3f}" in said(app)
    assert "no seed plays a part" in said(app)
    assert f"{found.explained[[0, 2]].sum():.1%} of the variance" in said(app)

    app.get_by_key("embeddings_positions_view").set_value("curve").run()
    size = len(found.norms)
    distance = app.number_input(key="embeddings_distance")
    assert distance.min == 1, "no position is compared with itself"
    distance.set_value(size - 1).run()
    assert f"between 1 and {size}" in said(checked(app))
    distance.set_value(7).run()
    apart = [found.cosines[i, i + 7] for i in range(size - 7)]
    curve, means = (spec["data"][0] for spec in specs(checked(app)))
    assert numbers(curve["x"]).tolist() == list(range(1, len(apart) + 1))
    np.testing.assert_allclose(numbers(curve["y"]), apart, atol=1e-6)
    np.testing.assert_allclose(numbers(means["y"]), found.by_distance, atol=1e-6)
    lowest = with_minus(f"{min(apart):.2f}")
    assert f"{np.mean(apart):.2f} on average, lowest ({lowest})" in said(app)


def bars(app: AppTest, index: int = 0) -> tuple[list[str], list[float]]:
    spec = specs(app)[index]
    names = [text.strip("\u2068\u2069") for text in spec["layout"]["yaxis"]["ticktext"]]
    return names, spec["data"][0]["x"]


def first_words(printed: str) -> list[str]:
    return [line.split()[0] for line in printed.splitlines()]


def test_neighbours_are_those_of_the_engine_and_filters_are_in_the_link():
    app = open_page(
        embeddings_panel="words",
        embeddings_word="river",
        embeddings_count="4",
        embeddings_metric="euclidean",
        embeddings_left_out="piece,single_character",
        state=unfolded("embeddings_neighbours"),
    )
    found = client().ask(nearest_words)(
        DEFAULT_MODEL, "river", 4, "euclidean", ("piece", "single_character")
    )
    names, scores = bars(app)
    assert tuple(names) == found.neighbours.words
    assert first_words(run_program(app)[1]) == names
    np.testing.assert_allclose(scores, found.neighbours.scores)
    assert f"{found.num_compared:,}" in said(app)
    app.get_by_key("embeddings_left_out").set_value([]).run()
    assert app.query_params["embeddings_left_out"] in ("none", ["none"])
    assert not app.exception


def test_a_word_that_is_no_entry_is_the_mean_of_its_pieces_or_named():
    app = open_page(embeddings_panel="words", embeddings_word="qwertyuiop")
    found = client().ask(nearest_words)(
        DEFAULT_MODEL, "qwertyuiop", 10, "cosine", ("piece", "unused", "special")
    )
    ((_, pieces),) = found.in_pieces
    assert "qwertyuiop is no entry" in said(app).replace("**", "")
    assert " + ".join(pieces) in said(app)
    assert bars(app)[0] == list(found.neighbours.words)
    app.text_input(key="embeddings_word").set_value("[UNK] \U0001f9ff").run()
    assert "no entry" in app.error[0].value


def test_an_analogy_tells_both_ranks():
    link = {"embeddings_panel": "words", "embeddings_words_view": "analogy"}
    app = open_page(**link, state=unfolded("embeddings_analogy_all"))
    found = client().ask(solve_analogy)(
        DEFAULT_MODEL,
        ("king", "man", "woman"),
        "queen",
        10,
        "cosine",
        ("piece", "unused", "special"),
    )
    honest, told = (metric.value for metric in app.metric)
    assert honest == f"{found.rank:,} of {found.num_compared:,}"
    assert told.startswith(f"{found.rank_without_inputs:,} of ")
    assert bars(app, 0)[0] == list(found.nearest.words)
    first, rest = run_program(app)[1].split("\n", 1)
    assert floats(first) == [found.rank, found.rank_without_inputs]
    assert first_words(rest) == bars(app, 0)[0]
    assert bars(app, 1)[0] == list(found.nearest_without_inputs.words)
    assert not {"king", "man", "woman"} & set(bars(app, 1)[0])


def test_words_are_laid_out_between_two_words():
    app = open_page(
        embeddings_panel="words",
        embeddings_words_view="axis",
        embeddings_axis_first="cold",
        embeddings_axis_second="hot",
        embeddings_axis_words="summer, winter; fire",
        state=unfolded("embeddings_axis"),
    )
    found = client().ask(project_words)(
        DEFAULT_MODEL, "cold", "hot", ("summer", "winter", "fire")
    )
    order = np.argsort(found.cosines)
    assert bars(app)[0] == [found.words[i] for i in order]
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["cosine"], found.cosines[order], atol=1e-6)
    printed = run_program(app)[1]
    of_program = [float(line.split()[1]) for line in printed.splitlines()]
    of_page = dict(zip(*bars(app), strict=True))
    expected = [of_page[word] for word in first_words(printed)]
    assert len(expected) == len(order)
    np.testing.assert_allclose(of_program, expected, atol=1e-6)
    removed = client().ask(remove_axis)(
        DEFAULT_MODEL, "fire", "cold", "hot", ("piece", "unused", "special")
    )
    app.selectbox(key="embeddings_axis_removed").set_value("fire").run()
    assert app.query_params["embeddings_axis_removed"] in ("fire", ["fire"])
    assert bars(app, 1)[0] == list(removed.before.words)
    assert bars(app, 2)[0] == list(removed.after.words)
    assert f"{removed.share:.1%}" in said(app)
    app.text_input(key="embeddings_axis_first").set_value("cold, winter").run()
    pairs = client().ask(project_words)(
        DEFAULT_MODEL, ("cold", "winter"), "hot", ("summer", "winter", "fire")
    )
    np.testing.assert_allclose(bars(app)[1], np.sort(pairs.cosines), atol=1e-6)
    app.text_input(key="embeddings_axis_words").set_value("").run()
    assert "Type a word" in said(app)


VOCABULARY_MAP = {
    "model": TINY,
    "embeddings_panel": "map",
    "embeddings_map_method": "pca",
}


def test_the_map_has_every_entry_with_what_it_is_worth(many_words):
    # Nonsense in a link is a map all the same.
    nonsense = {
        "embeddings_map_selected": "99999999999999",
        "embeddings_map_state": "-1",
        "embeddings_map_color": "x",
    }
    app = open_page(**VOCABULARY_MAP | {"model": many_words}, **nonsense)
    first = sent(app)["first"]
    assert (first["selected"], first["color"]) == (None, 0)
    for num_axes in (2, 3):
        app.get_by_key("embeddings_map_axes").set_value(str(num_axes)).run()
        header = sent(finished(app))
        found = client().ask(vocabulary_map)(many_words, num_axes, "pca")
        assert header["numPoints"] == len(client().ask(word_norms)(many_words))
        assert header["numAxes"] == num_axes
        assert f"{found.explained:.1%}" in header["notes"][0]
        assert f"{found.quality.trustworthiness:.3f}" in header["notes"][0]
        assert "seed 0" in header["notes"][0]
    assert link_of(app, "embeddings_map_method") == "pca"
    assert header["name"] == "embeddings_map"
    assert header["title"].startswith("Vocabulary map · PCA · ")
    # The seed chooses the points that are checked.
    app.number_input(key="embeddings_map_seed").set_value(7).run()
    found = client().ask(vocabulary_map)(many_words, 3, "pca", 7)
    assert f"{found.quality.trustworthiness:.3f}" in sent(finished(app))["notes"][0]
    assert "seed 7" in sent(app)["notes"][0]
    printed = run_program(real_pages.choose(app, **unfolded("embeddings_map")))[1]
    assert float(printed.split()[0]) == pytest.approx(found.explained, abs=1e-6)


def test_maps_of_the_bundled_model_are_drawn_ahead():
    app = open_page(embeddings_panel="map")
    for num_axes in (2, 3):
        app.get_by_key("embeddings_map_axes").set_value(str(num_axes)).run()
        header = sent(finished(app))
        size = header["numPoints"], header["numAxes"]
        assert size == (len(client().ask(vocabulary)(DEFAULT_MODEL)), num_axes)
        assert "perplexity 30" in header["notes"][0]


def test_a_link_finds_and_marks_a_word_and_names_its_neighbours():
    row = client().ask(vocabulary)(TINY).index("be")
    app = open_page(
        **VOCABULARY_MAP, embeddings_map_search="b", embeddings_map_selected=str(row)
    )
    assert sent(app)["first"]["selected"] == row
    assert sent(app)["first"]["search"] == "b"
    found = client().ask(nearest_words)(TINY, "be", 10)
    assert bars(app)[0] == list(found.neighbours.words)
    assert marks(app) == {
        "map": "embeddings_map",
        "of": row,
        "state": 0,
        "points": found.neighbours.ids.tolist(),
    }


def test_a_chosen_sentence_names_and_marks_the_nearest_of_the_shown_layer():
    app = open_page(
        model=TINY,
        embeddings_panel="sentences",
        embeddings_points_selected="4",
        embeddings_points_state="2",
        embeddings_points_near="true",
        embeddings_similarity="true",
        embeddings_points_search="THE ",
    )
    lines = read_lines(bundled_text("topics", "en"))
    vectors = client().ask(vectors_at)(TINY, lines.sentences, "mean", 2)
    all_cosines = cosine_matrix(vectors)
    cosines = all_cosines[4].copy()
    cosines[4] = -np.inf
    nearest = np.argsort(-cosines)[:10]
    assert marks(app)["points"] == nearest.tolist()
    assert (marks(app)["of"], marks(app)["state"]) == (4, 2)
    assert sent(app)["first"]["near"] is True
    names, scores = bars(app)
    for name, i in zip(names, nearest, strict=True):
        assert f"{i + 1} {lines.sentences[i]}".startswith(name.rstrip("…"))
    np.testing.assert_allclose(scores, cosines[nearest], atol=1e-5)
    np.testing.assert_allclose(heat(app), all_cosines, atol=1e-6)

    box = app.selectbox(key="embeddings_similarity_points")
    group = lines.labels[-1]
    asked = {
        f"group:{group}": [i for i, name in enumerate(lines.labels) if name == group],
        "found": [i for i, s in enumerate(lines.sentences) if "the" in s.lower()],
        "nearest": [4, *nearest],
    }
    for option, rows in asked.items():
        box.set_value(option).run()
        assert 1 < len(rows) < len(lines.sentences)
        np.testing.assert_allclose(
            heat(app), cosine_matrix(vectors[rows])[:40, :40], atol=1e-6
        )
    app.text_area(key="embeddings_topics").set_value("a | x y\nb | y z\nb | z x").run()
    assert len(heat(finished(app))) == 3


def test_a_chosen_occurrence_names_and_marks_its_nearest():
    app = open_page(
        embeddings_panel="senses",
        embeddings_senses_map_selected="1",
        # At the first, occurrences that stand on the same place are as near.
        embeddings_senses_map_state="2",
        state=unfolded("embeddings_sense_cosines"),
    )
    state = sent(app)["first"]["state"]
    assert state == 2
    assert (marks(app)["of"], marks(app)["state"]) == (1, state)
    lines = read_lines(app.text_area(key="embeddings_senses").value)
    found = answer(
        client()
        .ask(word_senses)
        .about(
            app.selectbox(key="model").value,
            lines.sentences,
            app.text_input(key="embeddings_sense_word").value,
            lines.labels,
        )
    )
    cosines = found.cosines[state][1].copy()
    cosines[1] = -np.inf
    assert marks(app)["points"] == np.argsort(-cosines, kind="stable")[:10].tolist()
    lines = run_program(app)[1].splitlines()
    for one, line in zip(found.separations, lines, strict=True):
        expected = [one.score, one.within_cosine, one.between_cosine]
        assert floats(line)[1:] == pytest.approx(expected, abs=1e-6)


def test_sentences_are_points_of_every_layer():
    app = open_page(
        model=TINY, embeddings_panel="sentences", embeddings_points_seed="3"
    )
    header = sent(app)
    lines = read_lines(bundled_text("topics", "en"))
    assert header["numStates"] == num_states(TINY)
    assert tuple(header["labels"]) == lines.sentences
    assert len(header["notes"]) == num_states(TINY)
    assert all("Trustworthiness" in note for note in header["notes"])
    assert set(header["colors"][0]["names"]) == set(lines.labels)
    # What a move means depends on how layers are aligned.
    assert "share the same axes" in said(app)
    app.get_by_key("embeddings_points_alignment").set_value("procrustes").run()
    assert "its own widest axes" in said(finished(app))
    assert "share the same axes" not in said(app)
    box = app.text_area(key="embeddings_topics")
    box.set_value("ab | b\na | ab\nb | a b").run()
    assert not finished(app).warning
    box.set_value("我们都喜欢茶。\n他们也是。\n这个手机很好。").run()
    assert "mean little" in finished(app).warning[0].value
    box.set_value("<b>x</b> | <i>one</i> two\n*y* | [three](z)\n*y* | five").run()
    assert sent(finished(app))["labels"][0] == "<i>one</i> two"


def test_word_pieces_in_space_turned_onto_each_other_come_from_a_link():
    app = open_page(
        "zh",
        model=TINY,
        embeddings_panel="sentences",
        embeddings_topics="a | one small lamp\nb | two large lamps",
        embeddings_points_reading="token",
        embeddings_points_axes="3",
        embeddings_points_alignment="procrustes",
    )
    header = sent(app)
    assert header["numAxes"] == 3
    assert header["contexts"] == ["one small lamp", "two large lamps"]
    assert header["numPoints"] >= 6
    assert "可信度" in header["notes"][0]


def test_pieces_beyond_the_colours_have_no_other_pieces_name():
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    whole = [word for word in words if word.isascii() and word.isalpha()][-280:]
    lines = "\n".join(" ".join(whole[i : i + 40]) for i in range(0, 280, 40))
    app = open_page(
        embeddings_panel="sentences",
        embeddings_points_reading="token",
        embeddings_topics=lines,
    )
    header = sent(app)
    assert len(set(header["labels"])) == 280
    names = header["colors"][0]["names"]
    assert len(names) == 256
    assert names[-1] == "all other names"
    assert set(names[:-1]) < set(header["labels"])


def test_tokens_of_pairs_are_coloured_by_segment():
    pairs = {
        "model": TINY,
        "embeddings_panel": "sentences",
        "embeddings_topics": "one lamp || two lamps\na house || the bank\nalone",
    }
    app = open_page(embeddings_points_reading="token", **pairs)
    (colour,) = [c for c in sent(app)["colors"] if c["title"] == "segment"]
    assert len(colour["names"]) == 2
    app.get_by_key("embeddings_points_reading").set_value("mean").run()
    assert "segment" not in [c["title"] for c in sent(finished(app))["colors"]]


def test_too_many_sentences_are_refused_not_sampled():
    app = open_page(model=TINY, embeddings_panel="sentences")
    app.text_area(key="embeddings_topics").set_value("one line\n" * 201).run()
    finished(app)
    assert "201 sentences" in said(app)
    assert [one.key for one in app.get("bidi_component")] == ["frame"]
    app.text_area(key="embeddings_topics").set_value("").run()
    assert "no sentences yet" in said(app)
    app.button(key="embeddings_topics_reset").click().run()
    assert sent(finished(app))["numStates"] == num_states(TINY)


def test_senses_are_scored_and_mapped_at_the_last_layer():
    app = open_page(embeddings_panel="senses")
    header = sent(app)
    assert header["first"]["state"] == num_states() - 1
    assert sorted(header["colors"][0]["names"]) == ["money", "river"]
    assert all("Trustworthiness" in note for note in header["notes"])
    assert all("no seed plays a part" in note for note in header["notes"])
    assert header["title"].endswith(" · bank")
    assert "scores 50%" in said(app)
    assert len(specs(app)) == 2


def test_the_file_of_cosines_between_senses_has_more_than_the_picture(monkeypatch):
    tables = {}

    def keep(name, *about, table, **others):
        tables[name] = table
        show_map(name, *about, table=table, **others)

    monkeypatch.setattr(figures, "show_map", keep)
    lines = "\n".join(f"{'ab'[i % 2]} | bank number {i}" for i in range(50))
    link = {"embeddings_panel": "senses", "embeddings_senses": lines}
    app = open_page(model=TINY, **link)
    assert heat(app).shape == (40, 40)
    assert "between 40 of 50 occurrences" in said(app)
    assert "Occurrences in the table to download: 50" in said(app)
    names, *columns = tables["embeddings_sense_cosines"].values()
    assert names[:2] == ["a 1", "a 3"]
    assert names[-1] == "b 50"
    cosines = np.array(columns)
    assert cosines.shape == (50, 50)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)
    np.testing.assert_allclose(cosines[:40, :40], heat(app), atol=1e-6)


@pytest.mark.parametrize(
    ("panel", "box"), [("sentences", "topics"), ("senses", "senses")]
)
def test_sentences_that_are_cut_are_counted_and_told(panel, box):
    short = "a | a bank\nb | bank\nb | b bank"
    link = {"embeddings_panel": panel, f"embeddings_{box}": short}
    app = open_page(model=TINY, **link)
    assert "limit is 19" not in said(app)
    lines = f"a | bank{' a' * 20}\n{short}\nb | bank{' b' * 20}"
    app.text_area(key=f"embeddings_{box}").set_value(lines).run()
    assert "2 of 5" in said(finished(app))
    assert "limit is 19" in said(app)


def test_a_sentence_without_the_word_is_named():
    lines = "x | a bank\ny | a banker\nx | the bank"
    link = {"embeddings_panel": "senses", "embeddings_senses": lines}
    app = real_pages.open_page("embeddings", may_fail=True, **link)
    assert "Sentence 2" in finished(app, may_fail=True).error[0].value
    app.text_area(key="embeddings_senses").set_value("x | the bank").run()
    assert "One occurrence alone" in said(finished(app))
    assert "Three occurrences" in said(app)


def test_occurrences_without_a_sense_are_on_the_map_and_not_scored():
    text = "a | the bank\nthe old bank\na | this bank\nb | my bank\nb | no bank"
    app = open_page(embeddings_panel="senses", embeddings_senses=text)
    assert sorted(sent(app)["colors"][0]["names"]) == ["a", "b", "no group"]
    assert "of 4 occurrences lie nearest" in said(app)
    assert "without a sense, not counted here: 1" in said(app)
    one = text.replace("b | ", "")
    app.text_area(key="embeddings_senses").set_value(one).run()
    assert len(sent(finished(app))["labels"]) == 5
    assert "name two of them before the sentences" in said(app)
    assert "lie nearest" not in said(app)


def test_geometry_names_the_dimensions_that_stand_out_also_of_one_layer():
    app = open_page(
        embeddings_panel="geometry",
        embeddings_deviations="2.5",
        embeddings_geometry_layer="1",
        state=unfolded("embeddings_dimensions"),
    )
    table = app.dataframe[0].value
    assert len(table) == num_states()
    assert len(table.columns) == 5  # as many as a laptop has room for
    named = [text for text in table["outlier dimensions"] if text != "–"]
    assert named
    assert "2.5 standard deviations" in said(app)
    lines = read_lines(bundled_text("topics", "en"))
    found = answer(
        client()
        .ask(layer_facts)
        .about(DEFAULT_MODEL, lines.sentences, "token", num_deviations=2.5, seed=0)
    )
    shown = {
        "mean cosine of all pairs": found.mean_cosines,
        "neighbours that stay": found.neighbours_kept,
        "the same without the outliers": found.mean_cosines_without,
    }
    for name, values in shown.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-6)
    lengths = {line["name"]: line["y"] for line in specs(app)[1]["data"]}
    without = numbers(lengths["mean length without the outliers"])
    np.testing.assert_allclose(without, found.mean_norms_without, rtol=1e-6)
    assert 0 < min(found.neighbours_kept) < 1
    out = ", ".join(str(dimension + 1) for dimension in found.outliers[1])
    assert table["outlier dimensions"][1] == out != ""
    printed = run_program(app)[1].splitlines()[::2]
    for layer, (line, out) in enumerate(zip(printed, found.outliers, strict=True)):
        assert line.startswith(f"{layer} {[dimension + 1 for dimension in out]} ")
    largest = np.sort(np.abs(found.contributions[1]))[::-1][:12]
    _, shown = bars(app, 2)
    np.testing.assert_allclose(np.sort(np.abs(shown))[::-1], largest, atol=1e-6)
    assert "mean cosine of layer 1:" in said(app)
    last = str(num_states() - 1)
    app.selectbox(key="embeddings_geometry_layer").set_value(last).run()
    assert "embeddings_geometry_layer" not in app.query_params


def test_a_sample_of_word_pieces_is_told():
    lines = "\n".join(f"{'ba be bi bo ' * 4}{letter}" for letter in "abcdefghi" * 3)
    app = open_page(
        model=TINY,
        embeddings_panel="geometry",
        embeddings_topics=lines[:1000],
        embeddings_geometry_seed="3",
    )
    assert "tokens, drawn with seed 3" not in said(app)
    app.text_area(key="embeddings_topics").set_value(lines).run()
    count = int(re.search(r"Measured on ([\d,]+) tokens of", said(finished(app)))[1])
    assert count > MOST_CHECKED
    told = f"{MOST_CHECKED} of the {count} tokens, drawn with seed 3"
    assert told in said(app)


# A choice on a map stays with its point, or is given up.

MAP, POINTS = "embeddings_map", "embeddings_points"


def choose(app: AppTest, key: str, **choice) -> AppTest:
    """Chooses on the map as the browser tells it."""
    first = sent(app)["first"] | {"labels": sent(app)["labelsId"]}
    app.session_state[key] = {"choice": first | choice}
    return finished(app.run())


def with_a_word_chosen(model: str) -> tuple[AppTest, int]:
    row = client().ask(vocabulary)(model).index("be")
    app = open_page(**VOCABULARY_MAP | {"model": model})
    points = app.get("bidi_component")[0].proto.bytes
    choose(app, MAP, search="b", selected=row)
    assert "Nearest to be" in app.subheader[0].value
    assert app.get("bidi_component")[0].proto.bytes == points, "they travel once"
    return app, row


@pytest.mark.parametrize(
    ("widget", "value", "num_axes"),
    [("embeddings_map_axes", "3", 3), ("embeddings_map_method", "tsne", 2)],
)
def test_a_chosen_word_stays_chosen_where_the_points_move(
    many_words, widget, value, num_axes
):
    app, row = with_a_word_chosen(many_words)
    before = sent(app)
    assert before["first"]["selected"] is None, "chosen on the map, not sent to it"
    app.get_by_key(widget).set_value(value).run()
    after = sent(finished(app))
    assert after["id"] != before["id"]
    assert after["numAxes"] == num_axes
    assert (after["first"]["selected"], after["first"]["search"]) == (row, "b")
    assert "Nearest to be" in app.subheader[0].value
    assert marks(app)["of"] == row
    assert link_of(app, f"{MAP}_selected") == str(row)


@pytest.mark.parametrize("from_link", [False, True])
def test_another_vocabulary_has_no_word_chosen(chinese, from_link):
    model = chinese
    if from_link:
        app = open_page(
            **VOCABULARY_MAP, embeddings_map_search="b", embeddings_map_selected="9"
        )
        assert marks(app)["of"] == 9
    else:
        app, _ = with_a_word_chosen(TINY)
        choose(app, MAP, search="b", selected=9)
    app.session_state["next_model"] = model
    header = sent(finished(app.run()))
    assert header["numPoints"] == len(client().ask(vocabulary)(model))
    assert header["first"]["selected"] is None
    assert header["first"]["search"] == "b"
    assert not app.subheader
    assert link_of(app, f"{MAP}_selected") == ""
    app.run()
    assert not app.subheader
    choose(app, MAP, selected=9)
    assert client().ask(vocabulary)(model)[9] in app.subheader[0].value


def test_a_chosen_sentence_is_kept_when_turned_and_given_up_when_edited():
    app = open_page(model=TINY, embeddings_panel="sentences")
    text = bundled_text("topics", "en")
    choose(app, POINTS, state=2, selected=5, near=True)
    assert marks(app)["of"] == 5
    title, (nearest, _) = app.subheader[0].value, bars(app)
    app.get_by_key(f"{POINTS}_alignment").set_value("procrustes").run()
    first = sent(finished(app))["first"]
    assert (first["selected"], first["state"], bars(app)[0]) == (5, 2, nearest)
    app.text_area(key="embeddings_topics").set_value(f"one more lamp\n{text}").run()
    header = sent(finished(app))
    assert len(header["labels"]) == len(read_lines(text).sentences) + 1
    assert header["first"]["selected"] is None
    assert (header["first"]["state"], header["first"]["near"]) == (2, False)
    assert app.subheader[0].value != title
    assert "nearest" not in said(app).split("What the maps are worth")[0].lower()
    assert link_of(app, f"{POINTS}_selected") == ""


# What a map is worth.

FIVE = "\n".join(
    ["The cat sat.", "It rained.", "We ate soup.", "Birds sing.", "He ran home."]
)


def test_a_t_sne_map_says_what_its_seed_moves():
    pytest.importorskip("sklearn")
    app = open_page(
        model=TINY,
        embeddings_panel="sentences",
        embeddings_topics=FIVE,
        embeddings_points_method="tsne",
    )
    app.button(key="job_embeddings_tsne_start").click().run()
    first, *later = sent(finished(app))["notes"]
    assert "Seed 0 begins at the PCA map" in first
    assert all("Seed 0 begins just at the map of the layer before" in n for n in later)


def test_points_that_are_one_have_no_quality():
    """Before the first layer all sentences have the same [CLS]."""
    app = open_page(
        model=TINY,
        embeddings_panel="sentences",
        embeddings_topics=FIVE,
        embeddings_points_reading="cls",
    )
    first, *later = sent(app)["notes"]
    one, trust = "All points are one here", "Trustworthiness"
    assert first.startswith(one)
    assert trust not in first
    assert "%" not in first
    assert all(trust in note and one not in note for note in later)
    curves = [numbers(trace["y"]) for trace in specs(app)[0]["data"]]
    assert len(curves) == 3
    for curve in curves:
        assert np.isnan(curve[0])
        assert np.isfinite(curve[1:]).all()
    assert "All points are one at: input of layer 1" in said(app)


# Similar contexts.

LAYER = "embeddings_contexts_layer"


def listed(app) -> list[str]:
    """The sentences of the list, the token of each in brackets."""
    (rows,) = [m.value for m in app.markdown if m.value.startswith("1. ")]
    plain = re.sub(r":primary-background\[\*\*(.*?)\*\*\]", r"[\1]", rows)
    return [re.sub(r"\\(.)", r"\1", row.split(" · ")[1]) for row in plain.splitlines()]


@pytest.mark.parametrize("is_job", [False, True])
def test_the_list_is_that_of_the_chosen_token_and_layer(monkeypatch, is_job):
    if is_job:  # as with a larger model
        monkeypatch.setattr(answers, "is_short", lambda _, passes, __: passes < 100)
    text = "Please close the window."
    app = open_page(
        embeddings_panel="contexts",
        text=text,
        token="5",
        state=unfolded("embeddings_contexts"),
        **{LAYER: "2"},
    )
    sentences = searched_sentences("en")
    asked = ((text,), "token", DEFAULT_MODEL, sentences, "token")
    found = client().ask(similar_contexts)(DEFAULT_MODEL, *asked, 2, 3)
    rows = [f"{one.before}[{one.token}]{one.after}" for one in found.contexts]
    assert listed(app) == rows
    told = run_program(app)[0]["found"].contexts
    assert [f"{one.before}[{one.token}]{one.after}" for one in told] == rows
    assert sum("[window]" in row for row in rows[:3]) == 3
    assert "“window” at layer 2" in app.subheader[0].value
    assert f"{found.num_tokens:,} tokens of {len(sentences)} sentences" in said(app)
    app.selectbox(key=LAYER).set_value("0").run()
    assert listed(finished(app)) != rows


def test_a_chinese_model_searches_chinese_sentences_and_no_text_none(chinese):
    link = {"embeddings_panel": "contexts", "text": "他喝水。", "token": "4"}
    app = open_page("zh", model=chinese, **link)
    nearest = re.sub(r"[][]", "", listed(app)[0])
    assert nearest in "\n".join(searched_sentences("zh"))
    app.get_by_key("token").set_value("1").run()  # [CLS]
    assert "模型给每段文本加上的" in said(checked(app))
    app.text_area(key="text").set_value(" ").run()
    assert "还没有文本" in said(checked(app))


# Models of other kinds.


def test_a_model_without_segments_refuses_a_pair_and_reads_one_text(tmp_path):
    weights = weights_of_hf()
    name = "bert.embeddings.token_type_embeddings.weight"
    weights[name] = weights[name][:1].copy()
    model = str(hf_copy(tmp_path, weights, {"type_vocab_size": 1}))
    link = {"text": "ba be", "pair": "bi bo"}
    app = real_pages.open_page("embeddings", may_fail=True, model=model, **link)
    assert "type_vocab_size=1" in app.error[0].value.replace("\\", "")
    assert not app.get("plotly_chart")
    app.text_area(key="pair").set_value("").run()
    found = client().ask(take_input_apart)(model, "ba be")
    strips = [numbers(trace["z"]) for trace in specs(finished(app))[0]["data"]]
    size = found.summed.shape[1]
    assert [np.isfinite(strip).sum() for strip in strips] == [4 * size, size]
    assert found.largest_difference < 1e-5


def test_a_vocabulary_map_is_drawn_anew_stopped_and_begun_again(many_words):
    link = {"embeddings_panel": "map", "embeddings_map_perplexity": "10"}
    app = open_page(model=many_words, **link)
    before = sent(app)
    assert "steps, seed 0: " in before["notes"][0]
    assert "Seed 0 begins at the PCA map" in before["notes"][0]
    assert "perplexity 30" in before["notes"][0]
    app.number_input(key="embeddings_map_seed").set_value(7).run()
    app.button(key="job_embeddings_map_start").click().run()
    assert sent(app)["id"] == before["id"], "the old one stays till then"
    app.button(key="job_embeddings_map_cancel").click().run()
    assert "first finishes the current stage" in said(finished(app))
    assert sent(app)["id"] == before["id"]
    app.button(key="job_embeddings_map_start").click().run()
    drawn = sent(finished(app))
    assert drawn["id"] != before["id"]
    assert "perplexity 10" in drawn["notes"][0]
    assert "seed 7" in drawn["notes"][0]
    assert "1,200 steps" in drawn["notes"][0]
    assert drawn["numPoints"] == WORDS
    enter(app, embeddings_map_seed=0, embeddings_map_perplexity=30.0)
    assert sent(finished(app))["id"] == before["id"]
    assert "drawn with these settings" in said(app)
