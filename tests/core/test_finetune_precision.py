"""Half precision while learning, whole precision in what is said of the result."""

import dataclasses
import time

import numpy as np
import pytest
from scipy.special import softmax

from bertviz_core.explorer import Explorer
from bertviz_core.training import precision
from bertviz_core.training.finetune.run import finetune
from bertviz_core.training.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import number_data, random_data, shared_loaded

pytestmark = pytest.mark.tensorflow

SETTINGS = FinetuneSettings(
    level="head", epochs=2, batch_size=5, learning_rate=0.01, max_tokens=11, seed=3,
    precision="bfloat16",
)  # fmt: skip


def answers_of(result):
    """Outputs `[R, C]` of the finished model, a row at a time."""
    explorer, part = Explorer(result.loaded), result.data.validation
    pairs = part.pairs or [None] * len(part)
    limit = SETTINGS.max_tokens
    rows = []
    for text, pair in zip(part.texts, pairs, strict=True):
        kept = explorer.tokenizer.encode(text, pair, limit, cut=True)
        inputs = {
            "input_ids": kept.input_ids[None],
            "token_type_ids": kept.token_type_ids[None],
        }
        rows.append(explorer.forward(inputs, ("class_logits",))["class_logits"][0])
    return np.stack(rows)


@pytest.mark.parametrize("kind", ["classes", "pairs", "numbers", "float32"])
def test_a_training_is_judged_by_the_finished_model(kind):
    data = number_data() if kind == "numbers" else random_data(pairs=kind == "pairs")
    asked = "float32" if kind == "float32" else "bfloat16"
    level = "full" if kind == "classes" else "head"
    told, settings = [], dataclasses.replace(SETTINGS, precision=asked, level=level)
    result = finetune(shared_loaded(), data, settings, told.append)
    assert result.precision == asked
    answers, report = answers_of(result), result.report
    if kind == "numbers":
        np.testing.assert_allclose(report.predicted, answers[:, 0], rtol=1e-6)
    else:
        expected = softmax(answers, axis=1)
        np.testing.assert_allclose(report.probabilities, expected, atol=1e-5)
    kinds = [event.kind for event in told]
    assert kinds.index("ended") < kinds.index("judge")
    judged = [event for event in told if event.kind == "judge"]
    shares = [event.fraction for event in judged]
    assert shares == sorted(shares)
    assert (shares[-1], judged[-1].seconds_left) == (1, 0)
    assert all(event.seconds_left > 0 for event in judged[1:-1])


def test_a_run_goes_on_in_the_precision_that_it_began_with(monkeypatch, tmp_path):
    loaded, data = shared_loaded(), random_data()
    asked = dataclasses.replace(SETTINGS, precision="auto")
    found = []
    for first_choice in ("bfloat16", "float32"):
        monkeypatch.setattr(precision, "_has_accelerator", lambda: False)
        monkeypatch.setattr(precision, "multiplies_bfloat16", lambda: True)
        wins = first_choice == "bfloat16"
        monkeypatch.setattr(precision, "_product_is_faster", lambda wins=wins: wins)
        stop = lambda wins=wins: wins  # noqa: E731
        result = finetune(loaded, data, asked, str, stop, tmp_path)
        found.append((result.ending, result.precision, result.settings.precision))
    assert found == [("asked", "bfloat16", "auto"), ("finished", "bfloat16", "auto")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags\t\t: fpu amx_bf16 sse\n", "bfloat16"),
        ("flags\t\t: fpu avx512f avx512_bf16\n", "bfloat16"),
        ("flags\t\t: fpu avx512f\nbugs: amx_bf16\n", "float32"),
        ("", "float32"),
        (FileNotFoundError, "float32"),  # a machine that tells nothing
    ],
)
def test_auto_follows_the_processor(monkeypatch, text, expected):
    def read_text(*_, **__):
        if text is FileNotFoundError:
            raise text
        return text

    monkeypatch.setattr(precision, "_has_accelerator", lambda: False)
    monkeypatch.setattr(precision, "_product_is_faster", lambda: True)
    monkeypatch.setattr("pathlib.Path.read_text", read_text)
    assert precision.chosen_precision("auto") == expected
    assert precision.chosen_precision("float32") == "float32"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([[3.0, 2.0], [9.0, 2.1]], "bfloat16"),
        ([[2.0, 3.0], [2.1, 2.9]], "float32"),
        # Faster by too little to pay for the casts of a step.
        ([[2.0, 1.8], [2.1, 1.9]], "float32"),
        # One turn was disturbed: the best of each counts.
        ([[9.0, 3.0], [2.0, 2.9]], "float32"),
    ],
)
def test_a_processor_that_has_it_and_is_slower_by_it(monkeypatch, seconds, expected):
    turns = iter(seconds)
    monkeypatch.setattr(precision, "_has_accelerator", lambda: False)
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda: True)
    monkeypatch.setattr(precision, "_REPEATS", len(seconds))
    monkeypatch.setattr(precision, "_timed", lambda products: next(turns))
    precision._product_is_faster.cache_clear()
    try:
        assert precision.chosen_precision("auto") == expected
    finally:
        precision._product_is_faster.cache_clear()


def test_both_products_are_really_run():
    numbers = [precision._product(name)() for name in ("float32", "bfloat16")]
    assert numbers == [precision._INNER, precision._INNER]
    first, second = precision._timed([lambda: 1.0, lambda: time.sleep(0.02) or 1.0])
    assert 0 <= first < second
    assert second >= 0.02


@pytest.mark.parametrize(
    ("devices", "expected"),
    [(["cpu:0", "cpu:1"], "float32"), (["gpu:0"], "bfloat16"), (["tpu:3"], "bfloat16")],
)
def test_an_accelerator_computes_in_half_precision(monkeypatch, devices, expected):
    def list_devices(kind=None):
        """As JAX does, where it knows no GPU."""
        found = [name for name in devices if kind is None or name.startswith(kind)]
        if not found:
            raise RuntimeError(f"Unknown backend {kind}")
        return found

    monkeypatch.setattr(precision.keras.distribution, "list_devices", list_devices)
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda: False)
    assert precision.chosen_precision("auto") == expected
