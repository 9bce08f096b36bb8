"""No padding is ever shown: every row and column is a token that the model reads."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tokenizers import BertWordPieceTokenizer

from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace
from pages.attention import difference, pictures
from pages.shared.engine import client
from tests.app.test_attention_questions import ask
from tests.core.checkpoint_copies import hf_copy

SHORT, LONG = "ab cab", "ab cab [MASK] ab cab ba ab"
PADDED = 24


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A checkpoint whose tokenizer asks for texts of at least `PADDED` tokens."""
    folder = hf_copy(tmp_path_factory.mktemp("models"))
    vocabulary = folder / "vocab.txt"
    tokenizer = BertWordPieceTokenizer(str(vocabulary))
    tokenizer.enable_padding(length=PADDED)
    assert tokenizer.encode(SHORT).tokens.count("[PAD]") > 3
    tokenizer.save(str(folder / "tokenizer.json"))
    assert json.loads((folder / "tokenizer.json").read_text("utf-8"))["padding"]
    vocabulary.unlink()
    return str(folder)


@pytest.fixture
def drawn(monkeypatch):
    """What canvases show, in place of those; the difference is the last."""
    seen = []
    for module in (pictures, difference):
        monkeypatch.setattr(
            module, "attention_canvas", lambda view, *_, **__: seen.append(view)
        )
    return seen


def test_no_picture_has_a_row_of_padding(model, drawn):
    ask("compare", model=model, attention_text=SHORT, attention_compared_text=LONG)
    text, both = drawn
    trace = client().ask(Trace.only)(model, Texts(SHORT), ("attention_probs",))
    assert text.tokens == trace.tokenized.tokens
    np.testing.assert_array_equal(text.matrix, trace.attention_probs[0, 0])
    for view in drawn:
        assert "[PAD]" not in view.tokens
        assert len(view.tokens) == len(view.matrix) < PADDED
    assert set(both.tokens) <= {*text.tokens, "ba", "[MASK]"}


@pytest.mark.parametrize("panel", ["combine", "sparse", "arithmetic"])
def test_no_question_is_answered_about_padding(model, panel):
    app = ask(panel, model=model, attention_text=LONG)
    specs = [chart.proto.spec for chart in app.get("plotly_chart")]
    assert specs
    for shown in (*specs, *(str(frame.value) for frame in app.dataframe)):
        assert "[PAD]" not in shown
    tokens = client().ask(Explorer.tokenize)(model, LONG).num_tokens
    sizes = {len(json.loads(spec)["data"][0].get("z", ())) for spec in specs}
    assert tokens < PADDED
    assert (tokens in sizes) == (panel != "arithmetic")
