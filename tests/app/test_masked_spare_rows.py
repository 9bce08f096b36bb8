"""The masked-word page with a model that has more word embeddings than words."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import draw_tokens, sampling_distribution
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.explorer import Explorer
from pages.masked_word import two_sentences
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import said, specs
from tests.core.checkpoint_copies import spare_rows_copy

SPARE = [f"[row {index}]" for index in range(41, 61)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(spare_rows_copy(tmp_path_factory.mktemp("model"), len(SPARE)))


def open_page(model: str, **params: str) -> AppTest:
    link = {"model": model, "text": "ab [MASK]", **params}
    state = {"masked_compare_all": True}
    return real_pages.open_page("masked_word", state=state, **link)


def unescaped(shown: str) -> str:
    return shown.replace("\\", "").replace("\u2060", "")


def test_every_row_is_shown_and_only_words_can_be_inserted(model):
    names = client().ask(vocabulary)(model)
    assert len(names) == 61
    assert list(names[41:]) == SPARE
    app = open_page(model, masked_shown="100")
    bars = specs(app)[0]["data"][0]
    shown = {word for word, *_ in bars["customdata"]}
    assert all(any(name in word for word in shown) for name in SPARE)
    options = app.get_by_key("masked_insert").proto.options
    offered = [unescaped(option.content) for option in options]
    assert "a" in offered
    assert not [word for word in offered if word.startswith("[")]


def test_a_row_without_a_word_can_be_drawn(model):
    app = open_page(model, masked_temperature="2", masked_seed="3", masked_draws="100")
    logits = client().ask(Explorer.predict_masks)(model, "ab [MASK]").logits[0]
    draws = draw_tokens(sampling_distribution(logits, 2.0, None, 1.0), 100, 3)[:10]
    names = [client().ask(vocabulary)(model)[index] for index in draws]
    assert set(names) & set(SPARE)
    assert ", ".join(names) in unescaped(said(app))


def test_two_sentences_are_compared_over_every_row(model, monkeypatch):
    files = {}
    monkeypatch.setattr(
        two_sentences, "download_csv", lambda table, name: files.update({name: table})
    )
    app = open_page(
        model,
        masked_panel="compare",
        masked_other="ba [MASK] ab",
        masked_compare_search="row 4",
    )
    assert set(app.dataframe[-1].value["Word"]) == {
        name for name in SPARE if name.startswith("[row 4")
    }
    everything = files["masked_all_words"]
    assert {*everything["masked_panels.word"]} == {*client().ask(vocabulary)(model)}
    for side in ("in_a", "in_b"):
        assert sum(everything[f"masked_panels.{side}"]) == pytest.approx(1, abs=1e-5)
