"""The mean of models: computed by hand, saved like any other, refused in a sentence."""

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file

from bertviz_core.cli import main
from tests.core.checkpoint_copies import HF, hf_copy, weights_of_hf, without_part


def other_weights(seed):
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(size=array.shape).astype("float32")
        for name, array in weights_of_hf().items()
    }


def average(folder, models, shares=(), *flags):
    arguments = ["average-models", "--out", str(folder / "mean"), *flags]
    for model in models:
        arguments += ["--model", str(model)]
    for share in shares:
        arguments += ["--share", str(share)]
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [((), (1 / 3, 1 / 3, 1 / 3)), ((1, 2, 5), (0.125, 0.25, 0.625))],
)
def test_a_mean_weighs_each_model_by_its_share(tmp_path, shares, expected):
    drawn = [other_weights(seed) for seed in range(3)]
    models = [hf_copy(tmp_path, drawn[i], name=f"copy{i}") for i in range(3)]
    done = average(tmp_path, models, shares)
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'mean'}\n")
    found = load_file(tmp_path / "mean" / "model.safetensors")
    assert len(found) > 20
    for name, array in found.items():
        stacked = np.stack([weights[name] for weights in drawn]).astype("float64")
        mean = np.tensordot(expected, stacked, 1)
        np.testing.assert_allclose(array, mean, atol=1e-6, rtol=0, err_msg=name)
    words = (HF / "vocab.txt").read_text("utf-8").split()
    assert (tmp_path / "mean" / "vocab.txt").read_text("utf-8").split() == words


def test_a_mean_may_be_stored_in_half_the_room_whatever_the_dropout_was(tmp_path):
    gentle = hf_copy(tmp_path, config={"hidden_dropout_prob": 0.0}, name="gentle")
    done = average(tmp_path, [HF, gentle], (), "--half")
    assert done.exit_code == 0, done.output
    found, there = load_file(tmp_path / "mean" / "model.safetensors"), weights_of_hf()
    for name, array in found.items():
        assert array.dtype == "float16"
        np.testing.assert_array_equal(array, there[name].astype("float16"))


@pytest.mark.parametrize(
    ("count", "shares", "message"),
    [
        (1, (), "two models or more. Received: 1."),
        (2, (0.5,), "Received: 0.5 for 2 models."),
        (2, (1, 0), "Received: 1, 0 for 2 models."),
        (2, (2, -1), "Received: 2, -1 for 2 models."),
        (2, (1, "nan"), "Received: 1, nan for 2 models."),
        (2, ("inf", "-inf"), "Received: inf, -inf for 2 models."),
        (2, (1e308, 1e308), "Received: 1e+308, 1e+308 for 2 models."),
        (2, None, "not empty"),
    ],
)
def test_what_gives_no_mean_is_refused(tmp_path, count, shares, message):
    mine = tmp_path / "mean" / "mine.txt"
    if shares is None:  # a folder with something in it
        mine.parent.mkdir()
        mine.write_text("kept")
    done = average(tmp_path, [HF] * count, shares or ())
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert [*tmp_path.rglob("*.*")] == ([mine] if shares is None else [])


def copies(folder):
    """Models that differ from `hf_tiny` in more than their weights."""
    headless = without_part(weights_of_hf(), "cls.")
    words = (HF / "vocab.txt").read_text("utf-8").split("\n")
    words[-2], words[-3] = words[-3], words[-2]
    swapped = hf_copy(folder, name="swapped")
    (swapped / "vocab.txt").write_text("\n".join(words), "utf-8")
    return {
        "words": swapped,
        "layer_norm_eps": hf_copy(folder, config={"layer_norm_eps": 0.01}, name="eps"),
        "heads": hf_copy(folder, headless, name="headless"),
    }


@pytest.mark.parametrize("differing", ["words", "layer_norm_eps", "heads"])
def test_models_of_another_kind_are_refused(tmp_path, differing):
    done = average(tmp_path, [HF, copies(tmp_path)[differing]])
    assert done.exit_code == 2
    assert f"with different {differing}. Choose models" in done.stderr
    assert not (tmp_path / "mean").exists()
