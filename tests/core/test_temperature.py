import json
import zipfile

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from bertviz_core.errors import TrainingError
from bertviz_core.training.finetune.temperature import (
    Temperature,
    fit_temperature,
    keep_temperature,
    with_temperature,
)


@pytest.fixture(scope="module")
def logits():
    return np.random.default_rng(0).normal(size=(4000, 3)) * 2


def test_the_temperature_that_made_labels_is_found_again(logits):
    rng = np.random.default_rng(1)
    targets = np.array([rng.choice(3, p=p) for p in softmax(logits / 2.5, axis=1)])
    said = softmax(logits, axis=1)
    found = fit_temperature(said, targets)
    assert found == pytest.approx(2.5, rel=0.06)
    rows = np.arange(len(targets))
    losses = [
        -log_softmax(logits / t, axis=1)[rows, targets].mean()
        for t in (found, 0.95 * found, 1.05 * found)
    ]
    assert losses[0] == min(losses)


def test_the_temperature_of_a_model_that_is_far_too_sure_is_exact():
    """Its least probabilities are as small as float32 holds them."""
    rng = np.random.default_rng(2)
    logits = rng.uniform(-5, 5, (2000, 3))
    targets = np.array([rng.choice(3, p=p) for p in softmax(logits, axis=1)])
    said = softmax(logits * 8, axis=1).astype("float32")
    assert 0 < said.min() < 1e-30
    assert fit_temperature(said, targets) == pytest.approx(8, rel=0.06)
    scaled = with_temperature(said, 8)
    np.testing.assert_allclose(scaled, softmax(logits, axis=1), atol=1e-6)


def test_probabilities_are_those_of_the_same_logits_divided(logits):
    said = softmax(logits, axis=1)
    expected = softmax(logits / 1.7, axis=1)
    np.testing.assert_allclose(with_temperature(said, 1.7), expected, atol=1e-9)
    np.testing.assert_allclose(with_temperature(said, 1.0), said, atol=1e-9)


def test_rows_that_are_all_right_or_certain_give_a_finite_temperature():
    sure = np.array([[1.0, 0.0], [0.0, 1.0]])
    for targets in ([0, 1], [1, 0]):
        found = fit_temperature(sure, np.array(targets))
        assert 0.05 <= found <= 20
        assert np.isfinite(with_temperature(sure, found)).all()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run, and its rows."""
    from bertviz_core.training.finetune import run_files
    from bertviz_core.training.finetune.bundle import pack_model, write_model_folder
    from bertviz_core.training.finetune.run import finetune
    from tests.core.finetune_samples import HEAD, random_data, tiny_loaded

    folder, data = tmp_path_factory.mktemp("run"), random_data(60, 40, pairs=True)
    result = finetune(tiny_loaded(), data, HEAD)
    write_model_folder(result, folder / "model")
    pack_model(folder / "model", folder / run_files.BUNDLE)
    said = {baseline.name: baseline.report.outputs for baseline in result.baselines}
    np.savez(folder / run_files.OUTPUTS, model=result.report.outputs, **said)
    before = {f.name: f.read_bytes() for f in (folder / "model").iterdir()}
    return folder, data, result, before


@pytest.mark.tensorflow
def test_a_kept_temperature_is_in_all_that_a_run_leaves(run):
    from bertviz_core.explorer import Explorer
    from bertviz_core.training.finetune.row_prediction import predict_rows

    folder, data, result, before = run
    keep_temperature(folder, data, Temperature(2.0, 13))
    expected = with_temperature(result.report.probabilities, 2.0)
    opened = Explorer.open(str(folder / "model.zip"))
    said, _ = predict_rows(opened, data.test.texts, data.test.pairs)
    np.testing.assert_allclose(said, expected, atol=1e-5)
    with np.load(folder / "outputs.npz") as outputs:
        np.testing.assert_allclose(outputs["model"], expected)
        assert set(outputs) == {"model", *(b.name for b in result.baselines)}
    with zipfile.ZipFile(folder / "model.zip") as packed:
        zipped = {name.split("/")[1]: packed.read(name) for name in packed.namelist()}
    assert zipped == {f.name: f.read_bytes() for f in (folder / "model").iterdir()}
    exact = [json.loads(line) for line in zipped["predictions.jsonl"].splitlines()]
    assert [row["p(cats)"] for row in exact] == pytest.approx(expected[:, 0].tolist())
    metrics, old = (json.loads(one["metrics.json"]) for one in (zipped, before))
    assert metrics["temperature"] == {"value": 2.0, "validation_rows": 13}
    assert metrics["test"]["accuracy"] == old["test"]["accuracy"]
    error = metrics["test"]["calibration_error"]
    assert error != old["test"]["calibration_error"]
    recipe = json.loads(zipped["recipe.json"])
    assert recipe.pop("temperature")["value"] == 2.0
    assert recipe == json.loads(before["recipe.json"])
    for name, words in (("README.md", "temperature 2,"), ("README.zh.md", "温度 2，")):
        assert words in zipped[name].decode()
        assert f"{error:.3f}" in zipped[name].decode()
    assert {n for n in before if before[n] == zipped[n]} >= {"predict.py", "vocab.txt"}
    with pytest.raises(TrainingError, match="has a temperature already"):
        keep_temperature(folder, data, Temperature(2.0, 13))
    assert not (folder / ".model.new").exists()


@pytest.mark.tensorflow
@pytest.mark.peer
def test_transformers_applies_the_temperature_without_knowing(run, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder, data, _, _ = run
    with np.load(folder / "outputs.npz") as outputs:
        expected = outputs["model"]
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    kind = AutoModelForSequenceClassification
    model = kind.from_pretrained(folder / "model").eval()
    for index, texts in enumerate(zip(data.test.texts, data.test.pairs, strict=True)):
        encoded = tokenizer(*texts, truncation=True, max_length=9, return_tensors="pt")
        with torch.no_grad():
            said = model(**encoded).logits[0].softmax(-1).numpy()
        np.testing.assert_allclose(said, expected[index], atol=1e-6)
