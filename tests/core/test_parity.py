"""The whole model against checkpoints that other programs wrote and evaluated.

`hf_tiny` comes from `transformers`; `google_tiny` has Google's names and layout
and was evaluated by the NumPy oracle. `tests/make_golden.py` made both.

Tolerance: 1e-5 absolute for numbers of order 1 after a few layers in float32,
about fifty times what is left of float32's precision (1.2e-7).
"""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.library import open_model
from bertviz_core.model.compiled import CompiledForward
from tests.core.random_models import agree

FOLDER = Path(__file__).parents[1] / "data" / "checkpoints"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def run(name):
    """What we compute, what is expected, and where the tokens are."""
    loaded = open_model(str(FOLDER / name))
    expected = dict(np.load(FOLDER / f"{name}_expected.npz", allow_pickle=False))
    inputs = {key: expected[key] for key in INPUTS}
    places = np.arange(inputs["input_ids"].size)
    output = CompiledForward(loaded.model)(inputs | {"mlm_positions": places})
    output["mlm_logits"] = output["mlm_logits"].reshape(expected["mlm_logits"].shape)
    return output, expected, inputs["attention_mask"] == 1


@pytest.fixture(scope="module", params=["hf_tiny", "google_tiny"])
def outcome(request):
    return run(request.param)


def test_every_hidden_state_agrees(outcome):
    output, expected, kept = outcome
    by_token = [array["hidden_states"].swapaxes(1, 2) for array in (output, expected)]
    agree(by_token[0][kept], by_token[1][kept])  # [tokens, L + 1, H]


def test_every_attention_probability_agrees(outcome):
    output, expected, kept = outcome
    by_query = [
        array["attention_probs"].transpose(0, 3, 1, 2, 4)
        for array in (output, expected)
    ]
    agree(by_query[0][kept], by_query[1][kept])  # [tokens, L, N, K]


def test_pooled_output_agrees(outcome):
    agree(outcome[0]["pooled_output"], outcome[1]["pooled_output"])


def test_masked_word_logits_agree_at_every_token(outcome):
    output, expected, kept = outcome
    agree(output["mlm_logits"][kept], expected["mlm_logits"][kept])


def test_next_sentence_logits_agree(outcome):
    agree(outcome[0]["nsp_logits"], outcome[1]["nsp_logits"])


def test_the_tolerance_would_notice_the_other_gelu(tmp_path):
    """Were the curves too alike on this input, the tests above would prove less."""
    source = FOLDER / "hf_tiny"
    for path in source.iterdir():
        text = path.read_bytes().replace(b'"gelu"', b'"gelu_new"')
        data = text if path.name == "config.json" else path.read_bytes()
        (tmp_path / path.name).write_bytes(data)
    expected = dict(np.load(FOLDER / "hf_tiny_expected.npz", allow_pickle=False))
    forward = CompiledForward(open_model(str(tmp_path)).model)
    output = forward({key: expected[key] for key in INPUTS}, ("pooled_output",))
    assert np.abs(output["pooled_output"] - expected["pooled_output"]).max() > 1e-4


@pytest.mark.peer
def test_the_golden_files_are_what_the_script_writes(tmp_path):
    pytest.importorskip("torch", reason="make peers installs it")
    from tests.make_golden import main

    main(tmp_path)
    for name in ("hf_tiny", "google_tiny"):
        again = np.load(tmp_path / f"{name}_expected.npz", allow_pickle=False)
        stored = np.load(FOLDER / f"{name}_expected.npz", allow_pickle=False)
        assert sorted(again.files) == sorted(stored.files)
        for key in stored.files:
            # Another processor adds in another order: 2e-6 between an Intel and an AMD.
            agree(again[key], stored[key], atol=1e-5)
