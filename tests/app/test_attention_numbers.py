"""What the questions of the attention page show is what the engine has computed."""

from __future__ import annotations

import base64
import csv
import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.attention_matrix import attention_mass, profile_heads
from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.cause_results import SparsePattern, Switches, Target
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace
from pages.attention import (
    arithmetic,
    combined,
    difference,
    downloads,
    maps,
    profile,
    sparse,
)
from pages.attention.token_table import PairColumns
from pages.shared.engine import client
from tests.app.test_attention import TEXT, said
from tests.app.test_attention import maps as drawn_maps
from tests.app.test_attention_questions import ask
from tests.app.test_embeddings import numbers
from tests.core.engine_waiting import ended
from tests.payloads import unpacked


@pytest.mark.parametrize("apart", [5e-7, 5e-6])
def test_a_weight_that_rounding_has_moved_says_so(monkeypatch, apart):
    found = client().ask(pair_arithmetic)(DEFAULT_MODEL, Texts(TEXT), 0, 0, 2, 4)
    moved = dataclasses.replace(
        found, exposed_prob=found.prob, unrounded_probs=found.probs + apart
    )
    monkeypatch.setattr(arithmetic, "ask", lambda _: lambda *_: moved)
    text = said(ask("arithmetic", attention_from="2", attention_to="4"))
    assert ("Without any rounding in this row" in text) == (apart > 1e-6)
    assert (f"{moved.rounding:+.0e}" in text) == (apart > 1e-6)


def files_of(monkeypatch, text: str, other: str) -> dict[str, Any]:
    """What a comparison offers, each file made as a click makes it."""
    made: dict[str, Callable[[], Any]] = {}

    def keep(label: str, make: Callable[[], Any], *, key: str, **rest: Any) -> None:
        made[key.removeprefix("attention_difference_save_")] = make

    monkeypatch.setattr(downloads, "download_svg", keep)
    monkeypatch.setattr("streamlit.download_button", keep)
    monkeypatch.setattr(difference, "attention_canvas", lambda *_: None)
    box = {"attention_difference_downloads": True}
    ask("compare", box, attention_text=text, attention_compared_text=other)
    return {name: make() for name, make in made.items()}


def differences(text: str, other: str) -> np.ndarray:
    traces = [
        client().ask(Trace.only)(DEFAULT_MODEL, Texts(one), ("attention_probs",))
        for one in (text, other)
    ]
    return traces[1].attention_probs - traces[0].attention_probs


def test_every_view_of_a_difference_can_be_taken_away(monkeypatch):
    other = TEXT.replace("dog", "horse")
    files = files_of(monkeypatch, TEXT, other)
    assert {"heatmap_svg", "lines_svg", "grid_svg"} < set(files)
    values = differences(TEXT, other)
    layers, heads, rows, _ = values.shape
    assert files["grid_svg"].count("<image") == layers * heads
    (_, *table) = csv.reader(files["grid_csv"].decode("utf-8-sig").splitlines())
    assert len(table) == layers * heads * rows
    largest = np.abs(values).max(axis=-1).ravel()
    found = np.abs([float(row[-1]) for row in table])
    np.testing.assert_allclose(found, largest, atol=1e-6)
    text = re.search(rb'id="payload">([^<]+)<', files["html"]).group(1)
    header, arrays = unpacked(base64.b64decode(text))
    assert header["isDifference"]
    np.testing.assert_allclose(
        arrays["everyHead"].reshape(values.shape), values, atol=1e-6
    )


def test_a_long_difference_takes_the_shown_head_along(monkeypatch):
    long = "the cat sat on a mat and " * 22
    files = files_of(monkeypatch, f"{long}the dog ran", f"{long}the cow ran")
    text = re.search(rb'id="payload">([^<]+)<', files["html"]).group(1)
    _, arrays = unpacked(base64.b64decode(text))
    assert "everyHead" not in arrays
    num_tokens = (
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, f"{long}the dog ran").num_tokens
    )
    assert len(arrays["matrix"]) == num_tokens**2 > 128**2
    assert files["grid_csv"].count(b"\n") == 1 + 6 * 8 * num_tokens


def likeliest() -> Target:
    """What the page watches in `TEXT` at first."""
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("mlm_logits",))
    position = int(trace.mlm_positions[0])
    return Target("mlm", int(trace.mlm_logits[0].argmax()), position)


@pytest.mark.parametrize("panel", ["switch", "sparse"])
def test_what_a_change_does_is_drawn_with_the_answers_of_both_sides(panel):
    app = ask(panel)
    if panel == "switch":
        switches = Switches(heads=((0, 0),))
        found = client().ask(switch_off)(DEFAULT_MODEL, TEXT, likeliest(), switches)
    else:
        pattern = SparsePattern(window=2, num_global=1)
        found = client().ask(predict_sparsely)(
            DEFAULT_MODEL, TEXT, likeliest(), pattern
        )
    bars, marks = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    np.testing.assert_allclose(numbers(bars["x"]), found.answers.values[1], rtol=1e-6)
    np.testing.assert_allclose(numbers(marks["x"]), found.answers.values[0], rtol=1e-6)
    assert (bars["name"], marks["name"]) == ("after", "before")
    assert not np.array_equal(*found.answers.values)


def test_the_exact_map_and_its_agreement_are_those_of_each_head_switched_off(
    monkeypatch,
):
    drawn = {}
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 1e20)
    monkeypatch.setattr(
        maps, "clickable_map", lambda shown, key, _: drawn.update({key: shown.values})
    )
    app, target = ask("maps"), likeliest()
    job = client().start(client().ask(ablate_heads).about(DEFAULT_MODEL, TEXT, target))
    exact = ended(client(), job).result
    found = drawn["attention_map_exact"]
    np.testing.assert_array_equal(found, exact.deltas)
    for layer, head in ((0, 3), (4, 1)):
        off = Switches(heads=((layer, head),))
        alone = client().ask(switch_off)(DEFAULT_MODEL, TEXT, target, off)
        change = alone.after.probability - alone.before.probability
        assert found[layer, head] == pytest.approx(change, abs=5e-6)
    mass = client().ask(attention_mass)(DEFAULT_MODEL, Texts(TEXT), target.position)
    np.testing.assert_array_equal(drawn["attention_map_mass"], mass)
    job = client().start(
        client().ask(estimate_heads).about(DEFAULT_MODEL, TEXT, target)
    )
    estimate = ended(client(), job).result.estimated_deltas
    shown = [float(metric.value) for metric in app.metric[:2]]
    right = rank_correlation(np.abs(found), mass), rank_correlation(found, estimate)
    assert shown == pytest.approx(right, abs=0.006)
    # What would be shown if one of the maps were another.
    for wrong in (
        rank_correlation(np.abs(found), estimate),
        rank_correlation(np.abs(exact.delta_logits), mass),
        rank_correlation(found, mass),
    ):
        assert abs(shown[0] - wrong) > 0.006


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(spearmanr(first.ravel(), second.ravel()).statistic)


def test_a_whole_layer_is_its_attention_and_its_feed_forward_block():
    app = ask("switch", attention_off_whole=["2"], attention_off_layers=["4"])
    switches = Switches(heads=((0, 0),), attention=(1, 3), feed_forward=(1,))
    expected = client().ask(switch_off)(DEFAULT_MODEL, TEXT, likeliest(), switches)
    drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"][0]
    np.testing.assert_allclose(
        numbers(drawn["x"]), expected.answers.values[1], rtol=1e-6
    )
    half = dataclasses.replace(switches, feed_forward=())
    other = client().ask(switch_off)(DEFAULT_MODEL, TEXT, likeliest(), half)
    assert abs(other.after.probability - expected.after.probability) > 1e-3
    assert "the biases of its output projections" in said(app)


@pytest.mark.parametrize(
    ("panel", "name", "tables"),
    [("combine", "attention_combine_mean", 3), ("sparse", "attention_sparse_edges", 1)],
)
def test_the_table_of_all_pairs_is_made_when_it_is_opened(
    monkeypatch, panel, name, tables
):
    titles, read = [], []

    class Watched(PairColumns):
        def __init__(self, labels, values, title):
            titles.append(title)
            super().__init__(labels, values, title)

        def __getitem__(self, name):
            read.append(name)
            return super().__getitem__(name)

    for module in (combined, sparse):
        monkeypatch.setattr(module, "PairColumns", Watched)
    ask(panel)
    assert (len(titles), read) == (tables, [])
    app = ask(panel, {f"{name}_table": True})
    assert read
    shown = app.dataframe[0].value
    tokens = client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT).tokens
    assert shown["from"].tolist() == [one for one in tokens for _ in tokens]
    assert shown["to"].tolist() == [*tokens] * len(tokens)
    values = np.array(shown[titles[0]], float).reshape(len(tokens), -1)
    np.testing.assert_allclose(values, drawn_maps(app)[0], atol=1e-6)


@pytest.mark.parametrize("num_heads", [1, 2])
def test_a_head_alone_is_like_no_other(monkeypatch, num_heads):
    found = client().ask(profile_heads)(DEFAULT_MODEL, Texts(TEXT))
    kept = found.profile.values[:, :1, :num_heads]
    few = dataclasses.replace(
        found,
        profile=dataclasses.replace(found.profile, values=kept),
        distances=found.distances[:1, :num_heads, :1, :num_heads],
    )
    monkeypatch.setattr(profile, "ask", lambda _: lambda *_: few)
    app = ask("profile")
    titles = [one.value for one in app.subheader]
    assert ("Heads that look like 1·1" in titles) == (num_heads > 1)
    boxes = [one.label for one in app.expander]
    assert ("Groups of heads that look alike" in boxes) == (num_heads > 1)
