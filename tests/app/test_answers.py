"""Answers that pages keep are forgotten when a name may mean other weights."""

import pytest

from pages.ui import answers
from pages.ui.attention.answers import attention_matrix
from pages.ui.embeddings.answers import position_geometry
from pages.ui.layers.answers import layer_steps
from pages.ui.masked_word.answers import read_layers
from pages.ui.text_pair import Texts

MODEL = "own-model"


@pytest.mark.parametrize(
    ("store", "arguments"),
    [
        (answers.vocabulary, ()),
        (attention_matrix, (Texts("ab", None), "weights", 0, 0)),
        (position_geometry, ()),
        (layer_steps, (Texts("ab", None),)),
        (read_layers, ("ab", (5,))),
    ],
)
def test_a_page_asks_anew_after_a_download(store, arguments, client):
    asked = []

    def answer(*args, **kwargs):
        asked.append(args)
        return (len(asked),)

    setattr(client, store.__name__, answer)
    store(MODEL, *arguments)
    assert store(MODEL, *arguments) == (1,)
    answers.forget_models()
    assert store(MODEL, *arguments) == (2,)
