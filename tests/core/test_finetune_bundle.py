"""A trained model leaves as a zip file, and comes back from it."""

import contextlib
import copy
import csv
import dataclasses
import hashlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from huggingface_hub import ModelCard
from scipy.special import softmax

from bertviz_core import __version__
from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.documents import (
    Documents,
    read_documents,
    read_trained_inputs,
)
from bertviz_core.checkpoints.export import save_model
from bertviz_core.checkpoints.library import open_model
from bertviz_core.cli import main
from bertviz_core.errors import TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import TrainedInputs
from bertviz_core.training import checkpoint, events
from bertviz_core.training.finetune.bundle import (
    CARDS,
    metrics,
    model_card,
    notice,
    script,
    write_bundle,
    write_predictions,
)
from bertviz_core.training.finetune.commands import _summary
from bertviz_core.training.finetune.recipe import base_name
from bertviz_core.training.finetune.row_prediction import read_text
from bertviz_core.training.finetune.run import finetune
from bertviz_core.training.finetune.settings import FinetuneSettings
from tests.core.finetune_samples import (
    NAMES,
    number_data,
    random_data,
    shared_loaded,
    tiny_loaded,
    weights_of,
)
from tests.core.random_models import PRE_NORM, explorer_of, random_model

pytestmark = pytest.mark.tensorflow

SETTINGS = FinetuneSettings(
    level="head", epochs=2, batch_size=5, learning_rate=0.05, max_tokens=11, seed=3
)
ROOT = Path(__file__).parents[2]
FILES = {
    "config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json",
    "labels.json", "metrics.json", "recipe.json", "predictions.csv",
    "predictions.jsonl", "predict.py", "NOTICE", "README.md", "README.zh.md",
}  # fmt: skip


@pytest.fixture(scope="module")
def base():
    return shared_loaded()


@pytest.fixture(scope="module")
def result(base):
    return finetune(base, random_data(pairs=True), SETTINGS)


@pytest.fixture(scope="module")
def numbers(base):
    return finetune(base, number_data(), SETTINGS)


@pytest.fixture
def bundle(result, tmp_path):
    return write_bundle(result, tmp_path / "trained.zip")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))


def read(bundle, name, encoding="utf-8"):
    with zipfile.ZipFile(bundle) as opened:
        return opened.read(f"model/{name}").decode(encoding)


def with_model(patch, loaded=None):
    """Every name opens this model, or the one of most tests."""
    patch.setattr(
        "bertviz_core.checkpoints.library.open_model",
        lambda *_: loaded or shared_loaded(),
    )


def test_the_zip_holds_all_that_belongs_to_a_model_always_in_the_same_bytes(
    bundle, result
):
    with zipfile.ZipFile(bundle) as opened:
        names = {name.removeprefix("model/") for name in opened.namelist()}
    assert names == FILES
    assert [path.name for path in bundle.parent.iterdir()] == ["trained.zip"]
    again = write_bundle(result, bundle.with_name("again.zip"))
    assert again.read_bytes() == bundle.read_bytes()


def test_the_zip_opens_as_the_model_that_was_packed(bundle, result, cache):
    opened = open_model(str(bundle))
    assert opened.labels == NAMES
    before, after = weights_of(result.loaded.model), weights_of(opened.model)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    part, report = result.data.test, result.report
    explorer = Explorer(opened)
    trace = explorer.trace(part.texts[4], part.pairs[4], cut=True)
    shares = softmax(trace.class_logits[None], axis=1)[0]
    np.testing.assert_allclose(shares, report.probabilities[4], atol=1e-5)
    known = TrainedInputs(SETTINGS.max_tokens, has_pairs=True)
    assert explorer.info().trained_inputs == known


@pytest.mark.parametrize(
    "text",
    ["", "[1, 2]", '{"settings": 3}', '{"settings": {"max_tokens": -1}}',
     '{"settings": {"max_tokens": true}, "has_pairs": "yes"}',
     '{"settings": {"max_tokens": 1e9}}', "[" * 100_000,
     " " * 1_000_001 + '{"has_pairs": true}'],
    ids=range(8),
)  # fmt: skip
def test_a_recipe_that_says_nothing_is_left_out(tmp_path, text):
    (tmp_path / "recipe.json").write_text(text)
    assert read_trained_inputs(tmp_path) == TrainedInputs()


def test_the_word_head_stays_as_it_was(base, result):
    assert result.loaded.model.heads == ("pooler", "mlm", "nsp", "classifier")
    before, after = weights_of(base.model), weights_of(result.loaded.model)
    words = [name for name in before if "/mlm/" in name or "/nsp/" in name]
    assert len(words) == 7
    assert all(np.array_equal(before[name], after[name]) for name in words)


def test_the_metrics_stand_beside_the_simple_methods_and_on_both_cards(
    result, tmp_path
):
    bundle = write_bundle(result, tmp_path / "named.zip", "my *books*")
    metrics = json.loads(read(bundle, "metrics.json"))
    assert metrics["test"]["accuracy"] == result.report.accuracy
    assert set(metrics["baselines"]) == {"majority", "tfidf"}
    chosen = metrics["baselines"]["tfidf"]["chosen"]
    assert chosen == json.loads(read(bundle, "recipe.json"))["word_counts"]
    assert len(metrics["epochs"]) == 2
    low, high = result.report.macro_f1_interval
    heads = {"en": "How well it does", "zh": "它做得怎么样"}
    for words, head in ((CARDS[name], heads[name]) for name in heads):
        card = read(bundle, words["file_name"])
        assert "\n---\n\n# my \\*books\\*\n" in card
        assert head in card
        assert f"{result.report.accuracy:.3f}" in card
        assert f"{low:.3f}–{high:.3f}" in card
        assert "--recipe recipe.json" in card
        assert f"C={chosen['C']:g}" in card
    top = dataclasses.replace(SETTINGS, level="top", num_top_layers=3)
    card = model_card(dataclasses.replace(result, settings=top))
    assert f"\n---\n\n# {result.base_model_id}, fine-tuned" in card
    assert "the upper layers, 3 of them" in card


def test_the_hash_of_the_rows_sees_every_part():
    data = random_data(pairs=True)
    train = data.train
    flipped = dataclasses.replace(train, targets=train.targets[::-1].copy())
    others = [
        {"train": flipped},
        {"labels": ("x", *NAMES[1:])},
        {"train": dataclasses.replace(train, pairs=None)},
        {"train": data.validation, "validation": train},
    ]
    prints = {dataclasses.replace(data, **other).fingerprint() for other in others}
    assert len(prints | {data.fingerprint()}) == 5
    assert data.fingerprint() == random_data(pairs=True).fingerprint()


def csv_of(result):
    with tempfile.TemporaryDirectory() as folder:
        write_predictions(Path(folder), result.data, result.report)
        return (Path(folder) / "predictions.csv").read_bytes().decode("utf-8-sig")


def test_exact_texts_and_probabilities_lie_beside_the_safe_table(result, tmp_path):
    part, report = result.data.test, result.report
    texts = ("=1+1\u2028\r\n\U0001f600",)
    exact = dataclasses.replace(part, texts=texts * len(part))
    data = dataclasses.replace(result.data, test=exact)
    bundle = write_bundle(dataclasses.replace(result, data=data), tmp_path / "e.zip")
    lines = read(bundle, "predictions.jsonl").split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    assert [row["row"] for row in rows] == part.rows.tolist()
    assert {row["text"] for row in rows} == set(texts)
    assert [row["pair"] for row in rows] == list(part.pairs)
    assert [row["target"] for row in rows] == [NAMES[t] for t in report.targets]
    shares = [[row[f"p({name})"] for name in NAMES] for row in rows]
    assert shares == report.probabilities.tolist()
    safe = csv.DictReader(io.StringIO(csv_of(dataclasses.replace(result, data=data))))
    assert {row["text"][:5] for row in safe} == {"'=1+1"}  # no cell is a formula
    assert list(safe.fieldnames) == list(rows[0])
    for words in CARDS.values():
        assert "`predictions.jsonl`" in read(bundle, words["file_name"])


def test_labels_are_those_of_the_table(result):
    """Who joins the predictions with the table finds each class again."""
    data = dataclasses.replace(result.data, labels=("-1", "+1", "=a"))
    packed = csv_of(dataclasses.replace(result, data=data))
    rows = list(csv.DictReader(io.StringIO(packed, newline="")))
    names = np.array(["-1", "+1", "'=a"])
    assert [row["target"] for row in rows] == names[result.report.targets].tolist()
    said = names[result.report.predicted].tolist()
    assert [row["predicted"] for row in rows] == said
    assert {"p(-1)", "p(+1)", "p(=a)"} <= set(rows[0])


def test_a_label_cannot_write_into_the_card(result):
    data = dataclasses.replace(result.data, labels=("a\n# b", "[x](y)", "<i>"))
    card = model_card(dataclasses.replace(result, data=data))
    assert "\n# b" not in card
    assert "[x](y)" not in card
    assert "<i>" not in card


def card_of(bundle, name="README.md"):
    return ModelCard(read(bundle, name)).data


def scores_of(bundle, name):
    return {
        score.metric_type: score.metric_value
        for score in card_of(bundle, name).eval_results
    }


def with_documents(result, base, *documents):
    loaded = dataclasses.replace(result.loaded, documents=Documents(*documents))
    return dataclasses.replace(result, loaded=loaded, base_model_id=base)


@pytest.mark.parametrize("words", CARDS.values(), ids=CARDS)
def test_the_hub_reads_the_head_of_the_card(result, tmp_path, words):
    documents = read_documents(BUNDLED_FOLDER / "bert-mini-zh")
    begun = with_documents(result, "bert-mini-zh", documents.card)
    bundle = write_bundle(begun, tmp_path / "hub.zip", "it's: *mine*")
    card = card_of(bundle, words["file_name"])
    said = {
        "license": "cc-by-sa-4.0", "language": "zh", "library_name": "transformers",
        "pipeline_tag": "text-classification", "model_name": "it's: *mine*",
    }  # fmt: skip
    assert card.to_dict().items() >= (said.items() - {("model_name", "it's: *mine*")})
    assert card.model_name == "it's: *mine*"
    report = result.report
    assert scores_of(bundle, words["file_name"]) == {
        "accuracy": report.accuracy,
        "f1": report.macro_f1,
    }
    assert {score.dataset_split for score in card.eval_results} == {"test"}


def test_norwegian_is_a_language_and_no_denial(result):
    begun = with_documents(result, "my/folder", "---\nlanguage: [no, nn]\n---\n")
    assert ModelCard(model_card(begun)).data.language == ["no", "nn"]


@pytest.mark.parametrize("model_id", ["run:" + "0a" * 16, "bert-mini", "my/folder"])
def test_a_base_that_cannot_be_found_is_no_base_on_the_hub(result, tmp_path, model_id):
    begun = with_documents(result, model_id)
    card = card_of(write_bundle(begun, tmp_path / "own.zip"))
    assert (card.base_model, card.license, card.language) == (None, None, None)
    hub = with_documents(result, "google/bert_uncased@" + "a" * 40)
    card = card_of(write_bundle(hub, tmp_path / "hub.zip"))
    assert card.base_model == "google/bert_uncased"


def test_the_licence_of_a_bundled_model_goes_from_training_to_training(
    result, tmp_path, cache
):
    card = (BUNDLED_FOLDER / "bert-mini-en" / "README.md").read_text("utf-8")
    opened = open_model("bert-mini-en")
    begun = with_documents(result, "bert-mini-en", opened.documents.card)
    bundle = write_bundle(begun, tmp_path / "first.zip")
    notice = read(bundle, "NOTICE")
    assert "bert-mini-en, whose licence is cc-by-sa-4.0" in notice
    assert "它的许可证是 cc-by-sa-4.0" in notice
    assert notice.rstrip().endswith(card.rstrip())  # it names the texts and authors
    # The finished model of a training begins another.
    again = finetune(open_model(str(bundle)), random_data(pairs=True), SETTINGS)
    second = write_bundle(again, tmp_path / "second.zip")
    assert card_of(second).license == "cc-by-sa-4.0"
    assert notice.strip() in read(second, "NOTICE")
    assert read(second, "NOTICE") != notice


@pytest.mark.parametrize(
    ("model_id", "place"),
    [("google/bert_uncased@" + "a" * 40, "https://huggingface.co/google/bert_uncased"),
     ("upload:" + "0a" * 8, "where that model came from")],
)  # fmt: skip
@pytest.mark.parametrize("card", [
    "", "# A card", "---\n- a\n---\n", "---\na: [\n---\n", "---\nlicense: [1]\n---\n",
    "---\nlicense: unknown\n---\n", "---\nlicense: other\n---\n",
    "---\nd: 2020-99-99\n---\n", "---\na: " + "[" * 2000 + "\n---\n",
    "---\nb: !!bool x\n---\n", "---\na: " + "[" * 900 + "]" * 900 + "\n---\n",
])  # fmt: skip
def test_a_licence_that_is_not_known_is_said_to_be_so(result, model_id, place, card):
    begun = with_documents(result, model_id, card)
    assert "is not known here" in notice(begun)
    assert place in notice(begun)
    assert ModelCard(model_card(begun)).data.license is None


def test_a_licence_with_a_name_of_its_own_keeps_it(result):
    head = "license: other\nlicense_name: mine\nlicense_link: LICENSE\n"
    begun = with_documents(result, "here", f"---\n{head}---\n", "Named: Ada")
    assert "whose licence is mine (LICENSE)" in notice(begun)
    assert notice(begun).endswith("\n\nNamed: Ada\n")
    card = ModelCard(model_card(begun)).data
    assert (card.license, card.license_name, card.license_link) == (
        "other", "mine", "LICENSE",
    )  # fmt: skip


@pytest.mark.parametrize("is_own", [False, True])
def test_the_script_says_how_it_is_used(result, tmp_path, is_own):
    if is_own:
        model, _ = random_model(PRE_NORM)
        loaded = dataclasses.replace(result.loaded, model=model)
        result = dataclasses.replace(result, loaded=loaded)
    path = tmp_path / "predict.py"
    path.write_text(script(result), encoding="utf-8")

    def refused(*texts):
        done = subprocess.run(
            [sys.executable, str(path), *texts],
            check=False, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.strip().splitlines()) == 1
        return done.stderr

    assert "vocab.txt is missing" in refused("a text")
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        (tmp_path / name).touch()
    assert refused().startswith("Usage: python predict.py")
    assert refused("a", "b", "c").startswith("Usage:")


class Killed(BaseException):
    """The process is gone."""


def test_what_a_killed_process_left_goes_with_the_next_zip(
    result, tmp_path, monkeypatch
):
    for name in ("checkpoints.export.save_file", "training.finetune.bundle.pack_model"):
        with monkeypatch.context() as patch:

            def kill(*_, patch=patch, **__):
                patch.setattr("shutil.rmtree", lambda *_, **__: None)
                raise Killed

            patch.setattr(f"bertviz_core.{name}", kill)
            with pytest.raises(Killed):
                write_bundle(result, tmp_path / "trained.zip")
        assert list(tmp_path.iterdir())
    write_bundle(result, tmp_path / "trained.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["trained.zip"]


def test_a_place_that_cannot_be_written_is_named(result, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("x")
    with pytest.raises(TrainingError, match=r"trained\.zip"):
        write_bundle(result, blocker / "trained.zip")


def test_a_model_of_numbers_comes_back_with_its_unit(tmp_path, cache, numbers):
    result, data = numbers, numbers.data
    bundle = write_bundle(result, tmp_path / "numbers.zip")
    opened = open_model(str(bundle))
    assert opened.labels == ("price",)
    trace = Explorer(opened).trace(data.validation.texts[5], cut=True)
    expected = result.report.predicted[5]
    np.testing.assert_allclose(trace.class_logits, [expected], rtol=1e-5)
    text = read(bundle, "predictions.csv", "utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["target"] for row in rows[:3]] == ["500", "530", "560"]
    assert np.float32(rows[5]["predicted"]) == np.float32(expected)
    exact = [*map(json.loads, read(bundle, "predictions.jsonl").splitlines())]
    assert [row["target"] for row in exact] == result.report.targets.tolist()
    assert [row["predicted"] for row in exact] == result.report.predicted.tolist()
    found = scores_of(bundle, "README.md")
    assert found == {"mae": result.report.mae, "r_squared": result.report.r2}


def test_an_amount_that_is_small_is_not_written_as_zero(numbers):
    ends = np.array([1e-5, 2e-5])
    report = dataclasses.replace(numbers.report, mae=1.5e-5, mae_interval=ends)
    small = dataclasses.replace(numbers, report=report)
    assert "| 1.5e-05 (1e-05–2e-05) |" in model_card(small)
    assert "{value:.6g}" in script(small)
    assert "mae 1.5e-05" in _summary(metrics(small) | {"model": "model.zip"})


def test_a_pre_norm_model_gets_a_script_of_our_own(tmp_path, cache):
    config = dataclasses.replace(PRE_NORM, num_hidden_layers=1)
    model, _ = random_model(config, heads=("pooler", "mlm"))
    settings = dataclasses.replace(SETTINGS, max_tokens=6)
    result = finetune(explorer_of(model).loaded, random_data(), settings)
    bundle = write_bundle(result, tmp_path / "own.zip")
    # Longer than the texts that it learned from, and than the model reads.
    text = "the cat sat on a mat . " * 2
    printed = run_script(bundle, tmp_path / "unpacked", text)
    shares = dict(line.split("\t") for line in printed.splitlines())
    explorer = Explorer(open_model(str(bundle)))
    read = read_text(explorer, text, None, settings.max_tokens)
    assert read.was_cut
    whole = softmax(explorer.trace(text, cut=True).class_logits)
    assert np.abs(whole - read.outputs).max() > 5e-4
    said = [float(shares[name]) for name in NAMES]
    np.testing.assert_allclose(said, read.outputs, atol=1e-4)


LONG = "the cat sat on a mat . " * 4  # for both the training and the model
TEXTS = {
    "pairs": (LONG, "a mat . the cat " * 6),
    "chinese": ("天气不好，今天很冷" * 5,),
}


def chinese(loaded):
    """The same model with other words."""
    characters = "今天气很好不冷，"
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    size = loaded.model.config.vocab_size
    unused = tuple(f"[unused{n}]" for n in range(size - len(special) - len(characters)))
    tokenizer = BertTokenizer((*special, *characters, *unused))
    return dataclasses.replace(loaded, tokenizer=tokenizer)


@pytest.mark.peer
@pytest.mark.parametrize(
    ("kind", "max_tokens"),
    [("pairs", 10), ("pairs", 11), ("text", 11), ("numbers", 11), ("chinese", 10)],
)
def test_the_script_says_what_the_app_says(
    result, numbers, tmp_path, cache, monkeypatch, capsys, kind, max_tokens
):
    """With what `transformers` reads from the zip."""
    pytest.importorskip("torch")
    # Which texts a model has learned from, and how long ones, is what the zip says.
    learned = numbers if kind == "numbers" else result
    changes = {"settings": dataclasses.replace(SETTINGS, max_tokens=max_tokens)}
    if kind in ("text", "chinese"):
        changes["data"] = random_data()
    if kind == "chinese":
        changes["loaded"] = chinese(result.loaded)
    texts = TEXTS.get(kind, (LONG,))
    learned = dataclasses.replace(learned, **changes)
    bundle = write_bundle(learned, tmp_path / "it.zip")
    found = read_text(Explorer(open_model(str(bundle))), *texts)
    # Here, as nothing takes longer than to import `torch` in a process.
    path = unpacked(bundle, tmp_path / "unpacked")
    assert "bertviz_core" not in path.read_text("utf-8")
    monkeypatch.setattr(sys, "argv", [str(path), *texts])
    capsys.readouterr()
    with warnings.catch_warnings(action="ignore"):
        runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    said = dict(line.split("\t") for line in printed.splitlines())
    assert list(said) == list(found.labels)
    values = [float(value) for value in said.values()]
    np.testing.assert_allclose(values, found.outputs, rtol=1e-5, atol=1e-4)


def unpacked(bundle, folder):
    """The script of a zip, among its other files."""
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    return folder / "model" / "predict.py"


def run_script(bundle, folder, *texts):
    """As if the package were installed, on the backend that it chooses itself."""
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, str(unpacked(bundle, folder)), *texts],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=environment | {"PYTHONPATH": str(ROOT)},
    )
    return done.stdout


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "data.csv")


def write_table(path):
    part = random_data(60).train
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["my text", "kind"])
        # The number makes every text another one.
        for row, (text, target) in enumerate(
            zip(part.texts, part.targets, strict=True)
        ):
            writer.writerow([f"{text} {row}", NAMES[target]])
    return path


def run_command(*arguments):
    return CliRunner().invoke(main, ["fine-tune", *map(str, arguments)])


def test_the_command_of_the_readme_runs_as_a_process(table, tmp_path):
    """Nothing is patched: the model is read from its folder, all of it learns."""
    save_model(shared_loaded(), tmp_path / "tiny")
    out = tmp_path / "out"
    options = "--text-column 'my text' --label-column kind --model tiny --level full "
    options += "--epochs 1 --seed 1 --out out --json"
    command = [sys.executable, "-m", "bertviz_core", "fine-tune", table]
    done = subprocess.run(
        [*command, *shlex.split(options)],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
        cwd=tmp_path,
        env=os.environ
        | {"BERTVIZ_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["settings"]["level"], len(found["epochs"])) == ("full", 1)
    assert found["settings"]["max_tokens"] <= 11
    assert open_model(str(out / "model.zip")).labels == tuple(sorted(NAMES))
    names = {path.name for path in out.iterdir()}
    assert names == {"model.zip", "metrics.json", ".lock"}


@pytest.mark.parametrize("place", ["file", "file/below", "locked/below"])
def test_a_folder_that_cannot_be_written_is_told_before_the_model_is_opened(
    table, tmp_path, monkeypatch, place
):
    (tmp_path / "file").write_text("x")
    locked, mkdir = tmp_path / "locked", Path.mkdir
    locked.mkdir()

    def refuse_locked(self, *arguments, **options):
        if locked in self.parents:  # root may write anywhere
            raise PermissionError(13, "Permission denied")
        mkdir(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", refuse_locked)
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model", lambda *_: pytest.fail("Late.")
    )
    done = run_command(table, "--out", tmp_path / place)
    assert done.exit_code == 2, done.output
    assert "--out" in done.stderr


def test_a_disk_that_takes_no_epoch_is_told_with_json_too(
    table, tmp_path, cache, monkeypatch
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_write", full)
    with_model(monkeypatch)
    out = ("--out", tmp_path / "out")
    done = run_command(table, "--level", "head", "--epochs", 1, *out, "--json")
    assert done.exit_code == 0, done.output
    assert "cannot be written to the disk" in done.stderr
    assert json.loads(done.stdout)["best_epoch"] == 1


def stopping_at(calls):
    """In place of `stop_on_signal`: someone presses Ctrl-C after so many steps."""

    @contextlib.contextmanager
    def stopping():
        asked = iter(range(calls))
        yield lambda: next(asked, None) is None

    return stopping


def test_the_same_command_goes_on_after_a_stop_and_no_other_does(
    table, tmp_path, cache, monkeypatch
):
    with_model(monkeypatch)
    run = (table, "--level", "head", "--epochs", 2, "--batch-size", 4, "--json")
    out = ("--out", tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(events, "stop_on_signal", stopping_at(2))
        stopped = run_command(*run, *out)
    assert "stopped after step 3; the same command goes on" in stopped.stderr
    assert json.loads(stopped.stdout)["ending"] == "asked"
    other = run_command(*run, *out, "--seed", 7)
    assert "belongs to other data or other settings" in other.stderr
    assert "--restart" in other.stderr
    finished = run_command(*run, *out)
    assert json.loads(finished.stdout)["ending"] == "finished"
    again = run_command(*run, *out)
    assert "holds a finished training" in again.stderr
    replaced = run_command(*run, *out, "--seed", 7, "--restart")
    assert json.loads(replaced.stdout)["settings"]["seed"] == 7


FIRST = shlex.split(
    "--text-column 'my text' --label-column kind --separator ; --encoding utf-16 "
    "--test-rate 0.3 --validation-rate 0.4 --split-seed 8 --level head --epochs 2 "
    "--seed 5 "
    "--learning-rate 0.04 --warmup 0.3 --weight-decay 0.2 --clip-norm 0.5 "
    "--batch-size 7 --decay exponential --final-rate 0.6 --class-weights "
    "--tensorboard"
)


def train_into(out, table, *arguments):
    """Trains by the command; its metrics, its recipe and what it said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_CACHE", str(out.parent / "cache"))
        done = run_command(table, "--out", out, "--json", *arguments)
    assert done.exit_code == 0, done.output
    recipe = read(out / "model.zip", "recipe.json")
    return json.loads(done.stdout), json.loads(recipe), done


def test_several_seeds_are_trained_in_one_go_and_none_twice(
    table, tmp_path, monkeypatch
):
    with_model(monkeypatch)
    options = ("--epochs", 1, "--level", "head", "--seed", 4, "--out", tmp_path / "out")

    def train(count, *more):
        done = run_command(table, "--seeds", count, *options, *more)
        assert done.exit_code == 0, done.output
        return done

    found = json.loads(train(2, "--json").stdout)
    assert found == json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    assert found["seeds"] == [4, 5]
    recipes = [
        json.loads(read(tmp_path / "out" / f"seed-{seed}" / "model.zip", "recipe.json"))
        for seed in (4, 5)
    ]
    assert [one["settings"]["seed"] for one in recipes] == [4, 5]
    # The same rows each time, so that scores can be compared.
    assert len({one["data_sha256"] for one in recipes}) == 1
    for name, values in found["scores"].items():
        assert found["mean"][name] == pytest.approx(np.mean(values))
        assert found["spread"][name] == pytest.approx(np.std(values, ddof=1))
    written = (tmp_path / "out" / "seed-4" / "model.zip").stat().st_mtime_ns
    # Left by a process that was killed while it removed its checkpoints.
    (tmp_path / "out" / "seed-4" / ".work").mkdir()
    done = train(3)
    assert (tmp_path / "out" / "seed-4" / "model.zip").stat().st_mtime_ns == written
    assert done.stderr.count("seed ") == 1
    assert "mean" in done.stdout
    assert "seed 6" in done.stdout
    scores = tmp_path / "out" / "metrics.json"
    scores.unlink()
    scores.mkdir()
    refused = run_command(table, "--seeds", 2, *options)
    assert "The folder out cannot be written" in refused.stderr
    scores.rmdir()
    other = run_command(table, "--seeds", 2, *options, "--batch-size", 3)
    assert "seed-4 holds a finished training" in other.stderr
    table.write_text(table.read_text("utf-8").replace("cat", "hat"), "utf-8")
    other = run_command(table, "--seeds", 2, *options)
    assert "seed-4 holds a finished training" in other.stderr
    assert "mean" in train(2, "--restart").stdout


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A training with choices that are no defaults: its folder and what came of it."""
    folder = tmp_path_factory.mktemp("first")
    table = write_table(folder / "data.csv")
    text = table.read_text("utf-8").replace(",", ";")
    table.write_text(text, encoding="utf-16")
    with pytest.MonkeyPatch.context() as patch:
        with_model(patch)
        return folder, train_into(folder / "first", table, *FIRST)


@pytest.fixture
def repeated(first_run, table, tmp_path, monkeypatch):
    """What came of the first run, copied so that it may be changed; a way to repeat."""
    with_model(monkeypatch)
    folder, found = first_run
    shutil.copytree(folder / "first", tmp_path / "first")
    shutil.copyfile(folder / "data.csv", table)

    def train(name, *arguments):
        return train_into(tmp_path / name, table, *arguments)

    return copy.deepcopy(found[:2]) + found[2:], train


def without_times(metrics):
    epochs = [
        {key: value for key, value in epoch.items() if key != "seconds"}
        for epoch in metrics["epochs"]
    ]
    kept = ("test", "baselines", "best_epoch", "compared_by")
    return {key: metrics[key] for key in kept} | {"epochs": epochs}


def test_a_recipe_repeats_a_run(repeated, table, tmp_path):
    (metrics, recipe, done), train = repeated
    settings = recipe["settings"]
    given = {
        "warmup_rate": 0.3, "weight_decay": 0.2, "clip_norm": 0.5, "final_rate": 0.6,
    }  # fmt: skip
    assert settings == settings | given
    assert recipe["data"] == {
        "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "encoding": "utf-16", "separator": ";", "has_header": True,
        "text_column": "my text", "label_column": "kind", "pair_column": None,
        "is_regression": False, "validation_rate": 0.4, "split_seed": 8,
        "test_rate": 0.3,
    } | dict.fromkeys(
        ("validation_sha256", "validation_encoding", "validation_separator",
         "validation_has_header")
    )  # fmt: skip
    assert recipe["test_rows"] == pytest.approx(0.3 * 60, abs=2)
    assert recipe["validation_rows"] == pytest.approx(0.4 * 60, abs=2)
    assert recipe["stopped_at_step"] is None
    assert recipe["versions"]["bertviz_core"] == __version__
    assert any((tmp_path / "first" / "log").iterdir())
    again, same, done = train("again", "--recipe", tmp_path / "first" / "model.zip")
    assert without_times(again) == without_times(metrics)
    # Where it was chosen by itself, the recipe says what it was.
    settings |= {"precision": recipe["precision"]}
    assert again["settings"] == settings
    assert same == recipe | {"settings": same["settings"]}
    assert "differ" not in done.stderr


def test_a_run_that_was_stopped_is_repeated_as_far_as_it_went(
    repeated, table, tmp_path, monkeypatch
):
    (_, recipe, _), train = repeated
    path = tmp_path / "recipe.json"
    for step in (4, 2):  # within the second epoch, and the first of three steps
        stopped = recipe | {"stopped_at_step": step}
        path.write_text(json.dumps(stopped), encoding="utf-8")
        metrics, again, done = train(f"at {step}", "--recipe", path)
        assert (metrics["ending"], again["stopped_at_step"]) == ("asked", step)
        assert again["epochs_run"] == again["best_epoch"] == (step > 3)
        assert ("before its first epoch was over" in done.stderr) is (step < 3)
        card = read(tmp_path / f"at {step}" / "model.zip", "README.md")
        assert f"stopped after step {step}." in card
        assert ("Epochs run: 1;" in card) is (step > 3)
    # So is each of several seeds, none of which anybody stops now.
    out = ("--out", tmp_path / "seeds")
    done = run_command(table, "--recipe", path, "--seeds", 2, *out)
    assert re.findall(r"seed (\d) ", done.stdout) == ["5", "6"] * 2
    assert "epoch 1" not in done.stderr
    # Who asks for other epochs asks for another run.
    metrics, again, _ = train("longer", "--recipe", path, "--epochs", 1)
    assert (metrics["ending"], again["stopped_at_step"]) == ("finished", None)


@pytest.mark.parametrize("words", CARDS.values(), ids=CARDS)
def test_the_card_says_why_the_weights_are_those_of_their_epoch(result, words):
    part = result.data.test
    few = dataclasses.replace(result.data, validation=part.select(np.array([], int)))
    tuned = dataclasses.replace(result.baselines[1], chosen={"alpha": 1.0, "folds": 0})
    changes = (
        ({}, words["chosen"]),
        ({"data": few}, words["last"]),
        ({"ending": "asked", "steps": 7, "epochs_run": 0}, words["part"]),
        ({"baselines": (tuned,)}, words["untuned"]),
    )
    places = {"rows": 13, "step": 7, "chosen": "alpha=1", "folds": 0}
    places |= {"epochs": result.epochs_run, "best": result.best_epoch}
    for change, said in changes:
        card = model_card(dataclasses.replace(result, **change), words=words)
        assert said.format(**places).strip() in card


def test_what_is_given_counts_before_the_recipe_and_other_rows_and_weights_are_told(
    repeated, table, tmp_path, monkeypatch
):
    (metrics, recipe, _), train = repeated
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe), encoding="utf-8")
    spoilt = tiny_loaded(num_layers=1)
    weight = spoilt.model.weights[0]
    weight.assign(weight.numpy() + 1)
    with_model(monkeypatch, spoilt)
    lines = table.read_text("utf-16").splitlines()
    table.write_text("\n".join(lines[:-1]), encoding="utf-16")
    other, changed, done = train("other", "--recipe", path, "--seed", 6, "--oversample")
    wanted = {"seed": 6, "oversample": True, "class_weights": False}
    wanted |= {"precision": recipe["precision"]}
    assert other["settings"] == metrics["settings"] | wanted
    sha = {"table_sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    assert changed["data"] == recipe["data"] | sha
    assert "other weights" in done.stderr
    assert "rows are not those" in done.stderr


@pytest.mark.parametrize("wrong", ["", "[]", "{}", '{"settings": 1}', "\ud800", None])
def test_what_is_no_recipe_is_a_sentence(tmp_path, table, wrong):
    path = tmp_path / "recipe.json"
    if wrong is not None:
        path.write_bytes(wrong.encode("utf-8", "surrogatepass"))
    refused(table, tmp_path, "no recipe", "--recipe", path)
    refused(table, tmp_path, "sort", "--label-column", "sort")  # no such column


ORIGIN = {
    "encoding": "x", "separator": "x", "label_column": "x", "table_sha256": "",
    "has_header": True, "text_column": "x", "validation_sha256": "ab",
}  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"data": ORIGIN}, "--test"),  # with a table to test on
        ({"base_model": "bert_L-2_H-8@sha256:ab"}, "--model"),  # which has no name
    ],
)
def test_a_recipe_asks_for_what_it_does_not_hold(tmp_path, table, raw, said):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"settings": {}} | raw))
    refused(table, tmp_path, said, "--recipe", path)


def refused(table, folder, said, *arguments):
    done = run_command(table, *arguments, "--out", folder / "out")
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("model_id", "said"),
    [
        ("owner/name@" + "a" * 40, "owner/name@" + "a" * 40),
        ("bert-mini-en", "bert-mini-en"),
        (f"{Path(__file__).parent}", "core"),
    ],
)
def test_the_base_is_named_so_that_it_can_be_found(result, model_id, said):
    assert base_name(dataclasses.replace(result, base_model_id=model_id)) == said


@pytest.mark.parametrize("model_id", ["run:" + "0a" * 16, "upload:" + "0a" * 8])
def test_an_id_that_opens_what_is_private_is_told_nowhere(result, tmp_path, model_id):
    begun = dataclasses.replace(result, base_model_id=model_id)
    bundle = write_bundle(begun, tmp_path / "again.zip")
    recipe = json.loads(read(bundle, "recipe.json"))
    name = recipe["base_model"]
    assert name == f"bert_L-1_H-42@sha256:{recipe['base_weights_sha256'][:12]}"
    assert name.split("@")[1] in read(bundle, "README.md")
    with zipfile.ZipFile(bundle) as opened:
        for entry in opened.namelist():
            assert b"0a0a0a0a" not in opened.read(entry), entry
