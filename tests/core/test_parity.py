"""The whole model against checkpoints that other programs wrote or evaluated.

`hf_tiny` comes from `transformers`, which also evaluated the bundled models;
`google_tiny` has Google's names and layout and was evaluated by the NumPy oracle.
`tests/make_golden.py` made them all; `test_backends.py` runs this on other backends.

Tolerance: 1e-5 absolute for numbers of order 1 after a few layers in float32,
about fifty times what is left of float32's precision (1.2e-7).

That the bundled weights give the right numbers is held here alone: each step on the way
is compared with the oracle in models with random weights, see `test_layer_steps.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.library import open_model
from bertviz_core.experiments.reference import (
    check_against_reference,
    outputs_beside_reference,
)
from bertviz_core.explorer import Explorer
from bertviz_core.model.compiled import CompiledForward
from tests.core.bundled import open_bundled
from tests.core.random_models import agree
from tests.make_golden import SENTENCES

FOLDER = Path(__file__).parents[1] / "data" / "checkpoints"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TINY = ("hf_tiny", "google_tiny")


def expected_of(name):
    return dict(np.load(FOLDER / f"{name}_expected.npz", allow_pickle=False))


def run_tiny(name):
    """What we compute, what is expected, and where the tokens are."""
    loaded, expected = open_model(str(FOLDER / name)), expected_of(name)
    inputs = {key: expected[key] for key in INPUTS}
    places = np.arange(inputs["input_ids"].size)
    output = CompiledForward(loaded.model)(inputs | {"mlm_positions": places})
    output["mlm_logits"] = output["mlm_logits"].reshape(expected["mlm_logits"].shape)
    return output, expected, inputs["attention_mask"] == 1


def run_bundled(name):
    """The same of the tokens and words that are kept."""
    ours, reference = outputs_beside_reference(open_bundled(name))
    return ours, reference, np.ones((1, len(reference["rows"])), bool)


@pytest.mark.parametrize("name", [*TINY, *SENTENCES])
def test_every_output_agrees(name):
    agree_in_all(*(run_tiny if name in TINY else run_bundled)(name))


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", TINY)
def test_every_output_agrees_on_what_trains(name):
    agree_in_all(*run_tiny(name))


def agree_in_all(output, expected, kept):
    def at_tokens(name, *axes):
        return [array[name].transpose(axes)[kept] for array in (output, expected)]

    agree(*at_tokens("hidden_states", 0, 2, 1, 3))  # [tokens, L + 1, H]
    agree(*at_tokens("attention_probs", 0, 3, 1, 2, 4))  # [tokens, L, N, K]
    agree(output["pooled_output"], expected["pooled_output"])
    agree(output["nsp_logits"], expected["nsp_logits"])
    logits = at_tokens("mlm_logits", 0, 1, 2)
    # Those of the bundled models reach 12, and two millionths of each are added.
    np.testing.assert_allclose(*logits, rtol=2e-6, atol=1e-5)


def test_the_tolerance_would_notice_the_other_gelu(tmp_path):
    """Were the curves too alike on this input, the tests above would prove less."""
    source = FOLDER / "hf_tiny"
    for path in source.iterdir():
        text = path.read_bytes().replace(b'"gelu"', b'"gelu_new"')
        data = text if path.name == "config.json" else path.read_bytes()
        (tmp_path / path.name).write_bytes(data)
    expected = expected_of("hf_tiny")
    forward = CompiledForward(open_model(str(tmp_path)).model)
    output = forward({key: expected[key] for key in INPUTS}, ("pooled_output",))
    assert np.abs(output["pooled_output"] - expected["pooled_output"]).max() > 1e-4


@pytest.mark.parametrize("name", SENTENCES)
def test_the_page_is_told_the_largest_difference(name):
    explorer = open_bundled(name)
    found = check_against_reference(explorer)
    assert found.source.startswith("transformers ")
    assert found.tokens == explorer.tokenize(*SENTENCES[name]).tokens
    ours, theirs = outputs_beside_reference(explorer)
    for key, difference in found.differences.items():
        far = np.abs(ours[key].astype("float64") - theirs[key])
        np.testing.assert_allclose(difference, far.max(), rtol=1e-6)
        assert 0 < difference < 2e-5 < found.magnitudes[key]


def test_a_model_without_a_reference_is_not_checked():
    explorer = Explorer.open(str(FOLDER / "hf_tiny"))
    assert check_against_reference(explorer) is None


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentences_are_split_as_transformers_splits_them(name):
    split = open_bundled(name).tokenizer.encode(*SENTENCES[name])
    expected = np.load(BUNDLED_FOLDER / name / "reference.npz")
    assert split.input_ids.tolist() == expected["input_ids"][0].tolist()
    assert split.token_type_ids.tolist() == expected["token_type_ids"][0].tolist()


@pytest.mark.peer
@pytest.mark.tensorflow
def test_the_golden_files_are_what_the_script_writes(tmp_path):
    pytest.importorskip("torch", reason="make peers installs it")
    from tests.make_golden import main

    main(tmp_path, tmp_path)
    files = {f"{name}_expected.npz": FOLDER for name in TINY}
    files |= {f"{name}/reference.npz": BUNDLED_FOLDER for name in SENTENCES}
    for file, folder in files.items():
        again = np.load(tmp_path / file, allow_pickle=False)
        stored = np.load(folder / file, allow_pickle=False)
        assert set(again.files) == set(stored.files)
        for key in set(stored.files) - {"made"}:
            # Another processor adds in another order: 2e-6 between an Intel and an AMD.
            agree(again[key], stored[key], atol=1e-5)
