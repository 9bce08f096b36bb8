"""The embeddings page with other models: Chinese, without pairs, with its own maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.experiments.embedding_tables import take_input_apart
from bertviz_core.experiments.sentence_states import word_senses
from bertviz_core.experiments.stored_maps import digest_of, store_map
from bertviz_core.experiments.vocabulary_maps import exported_vectors, map_by_neighbours
from bertviz_core.explorer import Explorer
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import answer, finished, said, specs
from tests.app.test_embeddings import open_page, sent
from tests.core.checkpoint_copies import hf_copy, weights_of_hf
from tests.core.sent_figures import numbers

SENTENCES = ("我喜欢吃苹果。", "他每天都吃苹果。", "苹果很好。", "去北京吃苹果。")
SENSES = ("吃", "吃", "好", "好")
LINES = "\n".join(f"{s} | {text}" for s, text in zip(SENSES, SENTENCES, strict=True))
WORDS = 700  # enough that drawing them takes longer than a click


def test_a_chinese_word_is_followed_through_all_layers(chinese):
    app = open_page(
        "zh",
        model=chinese,
        embeddings_panel="senses",
        embeddings_sense_word="苹果",
        embeddings_senses=LINES,
    )
    layers = client().ask(Explorer.info)(chinese).config.num_hidden_layers
    header = sent(app)
    assert header["numStates"] == layers + 1
    assert tuple(header["labels"]) == SENTENCES
    assert sorted(header["colors"][0]["names"]) == ["吃", "好"]
    within = numbers(specs(app)[0]["data"][0]["y"])
    assert len(within) == layers + 1
    found = answer(
        client().ask(word_senses).about(chinese, SENTENCES, "苹果", SENSES, cut=True)
    )
    np.testing.assert_allclose(
        within, [one.within_cosine for one in found.separations], atol=1e-6
    )


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
    strips = [
        np.array(trace["customdata"]) for trace in specs(finished(app))[0]["data"]
    ]
    assert strips[0].shape == (4, found.summed.shape[1])
    assert found.largest_difference < 1e-5


def model_of_many_words(folder: Path) -> str:
    weights, rng = weights_of_hf(), np.random.default_rng(4)
    for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
        old = weights[name]
        more = rng.normal(size=(WORDS - len(old), *old.shape[1:])).astype("f4")
        weights[name] = np.concatenate([old, more])
    target = hf_copy(folder, weights, {"vocab_size": WORDS}, name="many")
    path = target / "vocab.txt"
    words = path.read_text("utf-8").split()
    words += [f"word{i}" for i in range(WORDS - len(words))]
    path.write_text("\n".join(words) + "\n", "utf-8")
    return str(target)


def test_a_vocabulary_map_is_drawn_anew_stopped_and_begun_again(tmp_path):
    pytest.importorskip("sklearn")
    model = model_of_many_words(tmp_path)
    table = client().ask(exported_vectors)(model, tuple(range(WORDS)))
    kept = map_by_neighbours(table, seed=0, num_stages=1)
    store_map(kept, model, digest_of(table))
    app = open_page(model=model, embeddings_panel="map", embeddings_map_perplexity="10")
    before = sent(app)
    assert "steps, seed 0: " in before["notes"][0]
    assert "Seed 0 begins at the PCA map" in before["notes"][0]
    assert "perplexity 30" in before["notes"][0]
    app.number_input(key="embeddings_map_seed").set_value(7).run()
    app.button(key="job_embeddings_map_start").click().run()
    assert sent(app)["id"] == before["id"], "the old one stays till then"
    app.button(key="job_embeddings_map_cancel").click().run()
    assert "cannot be interrupted" in said(finished(app))
    assert sent(app)["id"] == before["id"]
    app.button(key="job_embeddings_map_start").click().run()
    drawn = sent(finished(app))
    assert drawn["id"] != before["id"]
    assert "perplexity 10" in drawn["notes"][0]
    assert "seed 7" in drawn["notes"][0]
    assert "1,200 steps" in drawn["notes"][0]
    assert drawn["numPoints"] == WORDS
    app.number_input(key="embeddings_map_seed").set_value(0).run()
    app.slider(key="embeddings_map_perplexity").set_value(30.0).run()
    assert sent(finished(app))["id"] == before["id"]
    assert "drawn with these settings" in said(app)
