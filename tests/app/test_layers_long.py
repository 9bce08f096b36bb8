"""The layers page with a text that fills the 512 positions of a model."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.experiments.token_numbers import part_numbers
from bertviz_core.trace import Texts
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import checked, finished
from tests.app.test_layers import PANELS
from tests.core.checkpoint_copies import hf_copy, weights_of_hf

NUM_TOKENS, NUM_NEURONS = 512, 3072  # of BERT-base
LAST = NUM_TOKENS - 1
TEXT = "ab cab ba " * 250
# What a phone on a slow line still takes: all figures of the page together.
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The golden model with as many positions and neurons as a BERT-base."""
    rng = np.random.default_rng(8)
    weights = weights_of_hf()

    def random(name, *shape):
        weights[name] = rng.normal(0, 0.1, shape).astype("float32")

    place = "bert.embeddings.position_embeddings.weight"
    hidden = weights[place].shape[1]
    random(place, NUM_TOKENS, hidden)
    layers = {name.split(".")[3] for name in weights if ".encoder.layer." in name}
    for layer in layers:
        block = f"bert.encoder.layer.{layer}"
        random(f"{block}.intermediate.dense.weight", NUM_NEURONS, hidden)
        random(f"{block}.intermediate.dense.bias", NUM_NEURONS)
        random(f"{block}.output.dense.weight", hidden, NUM_NEURONS)
    sizes = {
        "max_position_embeddings": NUM_TOKENS,
        "intermediate_size": NUM_NEURONS,
    }
    weights.pop("bert.embeddings.position_ids", None)
    return str(hf_copy(tmp_path_factory.mktemp("long"), weights, sizes))


def open_page(model: str, **params: str) -> AppTest:
    return ended(real_pages.open_page("layers", model=model, text=TEXT, **params))


def ended(app: AppTest) -> AppTest:
    """Starts the work that waits for a button, and waits for it."""
    for button in app.button:
        if (button.key or "").startswith("job_") and button.key.endswith("_start"):
            button.click().run()
    return finished(app)


def sent_bytes(app: AppTest) -> int:
    kinds = ("plotly_chart", "bidi_component")
    return sum(chart.proto.ByteSize() for kind in kinds for chart in app.get(kind))


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_stays_usable_at_512_tokens(model, panel):
    app = open_page(
        model,
        layers_panel=panel,
        token=str(LAST),
        layers_step="embedding_sum",
        layers_factor_layer="1",
        layers_by_hand="real",
    )
    assert any("502 tokens" in one.value or "752" in one.value for one in app.warning)
    assert app.selectbox(key="token").value == str(LAST)
    assert len(app.get("plotly_chart")) >= 1
    assert sent_bytes(app) < MOST_BYTES
    if panel in ("residual", "factors"):
        captions = " ".join(caption.value for caption in app.caption)
        assert "64" in captions or str(NUM_TOKENS) in captions


def test_every_step_and_its_table_are_light_at_512_tokens(model):
    token = {"token": "300", "layers_all_tokens": "true"}
    app = open_page(model, layers_panel="orders", **token)
    for step in ("query", "attention_scores", "attention_probs", "context", "neurons"):
        app.session_state["layers_step"] = f"layer_1/{step}"
        checked(app.run())
        assert len(app.get("plotly_chart")) >= 1
        assert sent_bytes(app) < MOST_BYTES
        captions = " ".join(caption.value for caption in app.caption)
        assert "tokens 268 to 331" in captions
    part = client().ask(part_numbers)(model, Texts(TEXT), "layer_1", 299)
    assert part.of("layer_1/attention_probs").shape[1] == NUM_TOKENS
