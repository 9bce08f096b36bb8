"""A trained model leaves as a zip file, and comes back from it."""

import copy
import csv
import dataclasses
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow
from click.testing import CliRunner

from bertviz_core import __version__
from bertviz_core.cells import safe_cell
from bertviz_core.checkpoints.export import save_model
from bertviz_core.checkpoints.library import open_model
from bertviz_core.checkpoints.trained_inputs import read_trained_inputs
from bertviz_core.cli import main
from bertviz_core.errors import TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.bundle import predictions_csv, write_bundle
from bertviz_core.finetune.card import base_name, model_card
from bertviz_core.finetune.card_words import CHINESE, ENGLISH
from bertviz_core.finetune.evaluation import judge
from bertviz_core.finetune.examples import Examples
from bertviz_core.finetune.row_prediction import read_text
from bertviz_core.finetune.run import finetune, weights_hash
from bertviz_core.finetune.scores import probabilities_of
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.pretrain import checkpoint
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import TrainedInputs
from tests.core.finetune_samples import (
    NAMES,
    number_data,
    random_data,
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
    "config.json",
    "model.safetensors",
    "vocab.txt",
    "tokenizer_config.json",
    "labels.json",
    "metrics.json",
    "recipe.json",
    "predictions.csv",
    "predict.py",
    "README.md",
    "README.zh.md",
}


@pytest.fixture(scope="module")
def base():
    return tiny_loaded()


@pytest.fixture(scope="module")
def result(base):
    return finetune(base, random_data(pairs=True), SETTINGS)


@pytest.fixture
def bundle(result, tmp_path):
    return write_bundle(result, tmp_path / "trained.zip")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))


def read(bundle, name, encoding="utf-8"):
    with zipfile.ZipFile(bundle) as opened:
        return opened.read(f"model/{name}").decode(encoding)


def test_the_zip_holds_all_that_belongs_to_a_model(bundle):
    with zipfile.ZipFile(bundle) as opened:
        names = {name.removeprefix("model/") for name in opened.namelist()}
    assert names == FILES
    assert [path.name for path in bundle.parent.iterdir()] == ["trained.zip"]


def test_the_same_model_is_packed_into_the_same_bytes(bundle, result):
    again = write_bundle(result, bundle.with_name("again.zip"))
    assert again.read_bytes() == bundle.read_bytes()


def test_the_zip_opens_as_the_model_that_was_packed(bundle, result, cache):
    opened = open_model(str(bundle))
    assert opened.labels == NAMES
    before, after = weights_of(result.loaded.model), weights_of(opened.model)
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    part, report = result.data.validation, result.report
    trace = Explorer(opened).trace(part.texts[4], part.pairs[4], cut=True)
    shares = probabilities_of(trace.class_logits[None])[0]
    np.testing.assert_allclose(shares, report.probabilities[4], atol=1e-5)


def test_the_model_knows_how_its_texts_were_cut(bundle, cache):
    info = Explorer.open(str(bundle)).info()
    assert info.trained_inputs == TrainedInputs(SETTINGS.max_tokens, has_pairs=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        '{"settings": 3}',
        '{"settings": {"max_tokens": true}, "has_pairs": "yes"}',
        '{"settings": {"max_tokens": -1}}',
        '{"settings": {"max_tokens": 1e9}}',
        "[" * 100_000,
        " " * 1_000_001 + '{"has_pairs": true}',
    ],
    ids=range(8),
)
def test_a_recipe_that_says_nothing_is_left_out(tmp_path, text):
    (tmp_path / "recipe.json").write_text(text)
    assert read_trained_inputs(tmp_path) == TrainedInputs()


def test_the_word_head_stays_as_it_was(base, result):
    assert result.loaded.model.heads == ("pooler", "mlm", "nsp", "classifier")
    before, after = weights_of(base.model), weights_of(result.loaded.model)
    words = [name for name in before if "/mlm/" in name or "/nsp/" in name]
    assert len(words) == 7
    assert all(np.array_equal(before[name], after[name]) for name in words)


def test_the_recipe_says_what_is_needed_to_do_it_again(bundle, base, result):
    recipe = json.loads(read(bundle, "recipe.json"))
    assert FinetuneSettings.from_dict(recipe["settings"]) == SETTINGS
    assert recipe["data_sha256"] == random_data(pairs=True).fingerprint()
    assert recipe["base_weights_sha256"] == weights_hash(base)
    versions = recipe["versions"]
    assert set(versions) == {
        "bertviz_core", "python", "keras", "tensorflow", "numpy", "tokenizers",
        "scikit-learn",
    }  # fmt: skip
    assert versions["tensorflow"] == tensorflow.__version__
    assert recipe["labels"] == list(NAMES)
    assert recipe["epochs_run"] == len(result.points) == SETTINGS.epochs
    assert recipe["best_epoch"] == result.best_epoch


def test_the_hash_of_the_rows_sees_every_part():
    data = random_data(pairs=True)
    train = data.train
    flipped = dataclasses.replace(train, targets=train.targets[::-1].copy())
    others = [
        dataclasses.replace(data, train=flipped),
        dataclasses.replace(data, labels=("x", *NAMES[1:])),
        dataclasses.replace(data, train=dataclasses.replace(train, pairs=None)),
        dataclasses.replace(data, train=data.validation, validation=train),
    ]
    prints = {other.fingerprint() for other in (data, *others)}
    assert len(prints) == 5
    assert data.fingerprint() == random_data(pairs=True).fingerprint()


def test_the_metrics_stand_beside_the_simple_methods(bundle, result):
    metrics = json.loads(read(bundle, "metrics.json"))
    assert metrics["validation"]["accuracy"] == result.report.accuracy
    assert set(metrics["baselines"]) == {"majority", "tfidf"}
    assert len(metrics["epochs"]) == 2
    card = read(bundle, "README.md")
    assert f"{result.report.accuracy:.3f}" in card
    assert "majority" in card
    low, high = result.report.macro_f1_interval
    assert f"({low:.3f}–{high:.3f})" in card


def test_the_card_is_in_both_languages_and_has_the_name_that_was_given(
    result, tmp_path
):
    bundle = write_bundle(result, tmp_path / "named.zip", "my *books*")
    english, chinese = (read(bundle, words.file_name) for words in (ENGLISH, CHINESE))
    for card in (english, chinese):
        assert card.startswith("# my \\*books\\*\n")
        assert f"{result.report.accuracy:.3f}" in card
        assert "--recipe recipe.json" in card
    assert "How well it does" in english
    assert "它做得怎么样" in chinese
    assert model_card(result).startswith(f"# {result.base_model_id}, fine-tuned")


def test_the_predictions_can_be_read_row_by_row(bundle, result):
    rows = list(
        csv.DictReader(io.StringIO(read(bundle, "predictions.csv", "utf-8-sig")))
    )
    part = result.data.validation
    assert [int(row["row"]) for row in rows] == part.rows.tolist()
    assert [row["text"] for row in rows] == list(part.texts)
    for row, target in zip(rows, part.targets, strict=True):
        assert row["target"] == NAMES[target]
        shares = [float(row[f"p({name})"]) for name in NAMES]
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        assert row["predicted"] == NAMES[int(np.argmax(shares))]


def test_excel_reads_the_predictions_of_the_zip(bundle):
    assert read(bundle, "predictions.csv").startswith("\ufeffrow,")
    assert not read(bundle, "recipe.json").startswith("\ufeff")


FORMULAS = ["=1+1", "+a", "-a", "@a", "＝1+1", "＋a", "－a", "＠a"]


@pytest.mark.parametrize("text", [*FORMULAS, "\tx", "\rx", "\nx"])
def test_no_cell_is_a_formula(result, text):
    part = result.data.validation
    bad = Examples((text,) * len(part), None, part.targets, part.rows)
    data = dataclasses.replace(result.data, validation=bad)
    packed = predictions_csv(dataclasses.replace(result, data=data))
    cells = [row["text"] for row in csv.DictReader(io.StringIO(packed, newline=""))]
    assert set(cells) == {f"'{text}"}


@pytest.mark.parametrize(
    "unseen", [" ", "\t", "\r", "\u3000", "\ufeff", "\u200b", "\x00"]
)
def test_nothing_unseen_hides_a_formula(unseen):
    for formula in FORMULAS:
        assert safe_cell(unseen + formula) == f"'{unseen}{formula}"
        assert safe_cell(unseen * 3 + formula) == f"'{unseen * 3}{formula}"


WORDS = ["a=1", " a", "a@b.c", "\u200bword", "", " "]
NUMBERS = ["-3.5", " +1,5", "\ufeff-1e-3", "－3.5", "＋１"]


@pytest.mark.parametrize("text", [*WORDS, *NUMBERS])
def test_text_and_numbers_stay_as_they_are(text):
    assert safe_cell(text) == text


def test_labels_are_those_of_the_table(result):
    """Who joins the predictions with the table finds each class again."""
    data = dataclasses.replace(result.data, labels=("-1", "+1", "=a"))
    packed = predictions_csv(dataclasses.replace(result, data=data))
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


def test_a_place_that_cannot_be_written_is_named(result, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("x")
    with pytest.raises(TrainingError, match=r"trained\.zip"):
        write_bundle(result, blocker / "trained.zip")


def test_a_model_of_numbers_comes_back_with_its_unit(tmp_path, cache):
    data = number_data()
    result = finetune(tiny_loaded(), data, SETTINGS)
    opened = open_model(str(write_bundle(result, tmp_path / "numbers.zip")))
    assert opened.labels == ("price",)
    trace = Explorer(opened).trace(data.validation.texts[5], cut=True)
    expected = result.report.predicted[5]
    np.testing.assert_allclose(trace.class_logits, [expected], rtol=1e-5)


def test_numbers_are_written_whole(result):
    data = number_data()
    numbers = np.linspace(1234567, 7654321, len(data.validation)).astype("float32")
    part = dataclasses.replace(data.validation, targets=numbers)
    data = dataclasses.replace(data, validation=part)
    report = judge(data, numbers[::-1].copy())
    packed = predictions_csv(dataclasses.replace(result, data=data, report=report))
    rows = list(csv.DictReader(io.StringIO(packed)))
    assert rows[0]["target"] == rows[-1]["predicted"] == "1234567"
    assert [np.float32(row["target"]) for row in rows] == numbers.tolist()


def test_a_pre_norm_model_gets_a_script_of_our_own(tmp_path, cache):
    model, _ = random_model(PRE_NORM, heads=("pooler", "mlm"))
    settings = dataclasses.replace(SETTINGS, max_tokens=6)
    result = finetune(explorer_of(model).loaded, random_data(), settings)
    bundle = write_bundle(result, tmp_path / "own.zip")
    # Longer than the texts that it learned from, and than the model reads.
    text = "the cat sat on a mat . " * 2
    printed = run_script(bundle, tmp_path / "unpacked", text)
    shares = dict(line.split("\t") for line in printed.splitlines())
    explorer = Explorer(open_model(str(bundle)))
    tokens = explorer.tokenizer.encode(text, None, settings.max_tokens, cut=True)
    assert tokens.was_cut
    inputs = {
        "input_ids": tokens.input_ids[None],
        "token_type_ids": tokens.token_type_ids[None],
    }
    logits = explorer.forward(inputs, ("class_logits",))["class_logits"]
    expected = probabilities_of(logits)[0]
    whole = explorer.trace(text, cut=True).class_logits
    assert np.abs(probabilities_of(whole[None])[0] - expected).max() > 5e-4
    np.testing.assert_allclose(
        [float(shares[name]) for name in NAMES], expected, atol=1e-4
    )


@pytest.mark.peer
def test_transformers_gives_the_same_answers(bundle, result, tmp_path):
    torch = pytest.importorskip("torch")
    from transformers import BertForSequenceClassification

    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(tmp_path / "unpacked")
    theirs = BertForSequenceClassification.from_pretrained(
        tmp_path / "unpacked" / "model"
    ).eval()
    assert theirs.config.id2label == dict(enumerate(NAMES))
    part = result.data.validation
    for row in (0, 7):
        tokens = result.loaded.tokenizer.encode(
            part.texts[row], part.pairs[row], 11, cut=True
        )
        with torch.no_grad():
            logits = theirs(
                torch.tensor(tokens.input_ids.tolist())[None],
                token_type_ids=torch.tensor(tokens.token_type_ids.tolist())[None],
            ).logits.numpy()
        expected = result.report.probabilities[row]
        np.testing.assert_allclose(probabilities_of(logits)[0], expected, atol=1e-5)


@pytest.mark.peer
def test_the_script_in_the_zip_predicts(bundle, result, tmp_path):
    pytest.importorskip("torch")
    assert len(read(bundle, "predict.py").splitlines()) <= 17
    part = result.data.validation
    texts = (part.texts[3], part.pairs[3])
    printed = run_script(bundle, tmp_path / "unpacked", *texts)
    shares = dict(line.split("\t") for line in printed.splitlines())
    expected = result.report.probabilities[3]
    for name, share in zip(NAMES, expected, strict=True):
        assert float(shares[name]) == pytest.approx(share, abs=1e-4)


LONG_PAIRS = [
    ("the cat sat on a mat . " * 4, "a mat . the cat " * 6),  # both cut, odd room
    ("the cat " * 9, "a . " * 9),
]


def samples_of(kind):
    """A model with data of its kind, and texts for the script, long ones among them."""
    loaded, data = tiny_loaded(), random_data(pairs=kind == "pairs")
    if kind == "pairs":
        return loaded, data, LONG_PAIRS
    if kind == "numbers":
        return loaded, number_data(), [("the cat sat on a mat . " * 4,)]
    if kind == "text":
        return loaded, data, [("the cat sat on a mat . " * 4,)]
    return *chinese_samples(loaded, data), [
        ("今天天气很好",),
        ("天气不好，今天很冷" * 5,),
    ]


def chinese_samples(loaded, data):
    characters = "今天气很好不冷，"
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    size = loaded.model.config.vocab_size
    unused = tuple(f"[unused{n}]" for n in range(size - len(special) - len(characters)))
    tokenizer = BertTokenizer((*special, *characters, *unused))

    def part(examples):
        rng = np.random.default_rng(len(examples))
        drawn = ("".join(rng.choice(list(characters), 7)) for _ in examples.texts)
        return dataclasses.replace(examples, texts=tuple(drawn))

    data = dataclasses.replace(
        data, train=part(data.train), validation=part(data.validation)
    )
    return dataclasses.replace(loaded, tokenizer=tokenizer), data


@pytest.mark.peer
@pytest.mark.parametrize("max_tokens", [10, 11])
@pytest.mark.parametrize("kind", ["pairs", "text", "numbers", "chinese"])
def test_the_script_says_what_the_app_says(tmp_path, cache, kind, max_tokens):
    """In one process for each text, with what `transformers` reads from the zip."""
    pytest.importorskip("torch")
    loaded, data, asked = samples_of(kind)
    settings = dataclasses.replace(SETTINGS, epochs=1, max_tokens=max_tokens)
    bundle = write_bundle(finetune(loaded, data, settings), tmp_path / "it.zip")
    explorer = Explorer(open_model(str(bundle)))
    for number, texts in enumerate(asked):
        found = read_text(explorer, *texts)
        printed = run_script(bundle, tmp_path / f"unpacked{number}", *texts)
        said = dict(line.split("\t") for line in printed.splitlines())
        assert list(said) == list(found.labels)
        values = [float(value) for value in said.values()]
        np.testing.assert_allclose(values, found.outputs, rtol=1e-5, atol=1e-4)


def run_script(bundle, folder, *texts):
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(folder)
    script = folder / "model" / "predict.py"
    done = subprocess.run(
        [sys.executable, str(script), *texts],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        # As if the package were installed.
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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


def test_the_command_trains_and_prints_the_metrics(table, tmp_path, cache, monkeypatch):
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model", lambda *_: tiny_loaded()
    )
    out = tmp_path / "out"
    done = run_command(
        *(table, "--text-column", "my text", "--label-column", "kind"),
        *("--level", "head", "--epochs", 2, "--seed", 1, "--out", out, "--json"),
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["settings"]["epochs"] == 2
    assert found["settings"]["max_tokens"] <= 11
    assert 0 <= found["validation"]["accuracy"] <= 1
    assert set(found["baselines"]) == {"majority", "tfidf"}
    assert open_model(found["model"]).labels == tuple(sorted(NAMES))
    assert {path.name for path in out.iterdir()} == {"model.zip", "metrics.json"}


def test_the_command_of_the_readme_runs_as_a_process(table, tmp_path):
    """Nothing is patched: the model is read from its folder, all of it learns."""
    save_model(tiny_loaded(), tmp_path / "tiny")
    out = tmp_path / "out"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bertviz_core", "fine-tune", table),
            *("--text-column", "my text", "--label-column", "kind"),
            *("--model", tmp_path / "tiny", "--level", "full", "--epochs", "1"),
            *("--seed", "1", "--out", out, "--json"),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
        cwd=ROOT,
        env={**os.environ, "BERTVIZ_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["settings"]["level"], len(found["epochs"])) == ("full", 1)
    assert open_model(found["model"]).labels == tuple(sorted(NAMES))
    assert {path.name for path in out.iterdir()} == {"model.zip", "metrics.json"}


@pytest.mark.parametrize("place", ["file", "file/below", "locked/below"])
def test_a_folder_that_cannot_be_written_is_told_before_the_model_is_opened(
    table, tmp_path, monkeypatch, place
):
    (tmp_path / "file").write_text("x")
    locked = tmp_path / "locked"
    locked.mkdir()
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model",
        lambda *_: pytest.fail("Too late."),
    )
    mkdir = Path.mkdir

    def refuse_locked(self, *arguments, **options):
        if locked in self.parents:  # root may write anywhere
            raise PermissionError(13, "Permission denied")
        mkdir(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", refuse_locked)
    done = run_command(table, "--out", tmp_path / place)
    assert done.exit_code == 2, done.output
    assert "--out" in done.stderr


def test_a_disk_that_takes_no_epoch_is_told_with_json_too(
    table, tmp_path, cache, monkeypatch
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_write", full)
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model", lambda *_: tiny_loaded()
    )
    out = ("--out", tmp_path / "out")
    done = run_command(table, "--level", "head", "--epochs", 1, *out, "--json")
    assert done.exit_code == 0, done.output
    assert "cannot be written to the disk" in done.stderr
    assert json.loads(done.stdout)["best_epoch"] == 1


def train_into(out, table, *arguments):
    """Trains by the command; its metrics, its recipe and what it said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_CACHE", str(out.parent / "cache"))
        done = run_command(table, "--out", out, "--json", *arguments)
    assert done.exit_code == 0, done.output
    recipe = read(out / "model.zip", "recipe.json")
    return json.loads(done.stdout), json.loads(recipe), done


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A training with choices that are no defaults: its folder and what came of it."""
    folder = tmp_path_factory.mktemp("first")
    table = write_table(folder / "data.csv")
    text = table.read_text("utf-8").replace(",", ";")
    table.write_text(text, encoding="utf-16")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "bertviz_core.checkpoints.library.open_model", lambda *_: tiny_loaded()
        )
        return folder, train_first(folder / "first", table)


def train_first(out, table):
    return train_into(
        out,
        table,
        *("--text-column", "my text", "--label-column", "kind", "--separator", ";"),
        *("--encoding", "utf-16", "--validation-rate", 0.3, "--split-seed", 8),
        *("--level", "head", "--epochs", 2, "--seed", 5, "--learning-rate", 0.04),
        *(
            "--warmup",
            0.3,
            "--weight-decay",
            0.2,
            "--clip-norm",
            0.5,
            "--batch-size",
            7,
        ),
        *("--decay", "exponential", "--epoch-factor", 0.6, "--class-weights"),
        "--tensorboard",
    )


@pytest.fixture
def repeated(first_run, table, tmp_path, monkeypatch):
    """What came of the first run, copied so that it may be changed; a way to repeat."""
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model", lambda *_: tiny_loaded()
    )
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
    kept = ("validation", "baselines", "best_epoch", "compared_by")
    return {key: metrics[key] for key in kept} | {"epochs": epochs}


def test_a_recipe_repeats_a_run(repeated, table, tmp_path):
    (metrics, recipe, done), train = repeated
    settings = recipe["settings"]
    assert settings["warmup_rate"] == 0.3
    assert settings["weight_decay"] == 0.2
    assert settings["clip_norm"] == 0.5
    assert settings["epoch_factor"] == 0.6
    assert recipe["data"] == {
        "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "encoding": "utf-16",
        "separator": ";",
        "has_header": True,
        "text_column": "my text",
        "label_column": "kind",
        "pair_column": None,
        "is_regression": False,
        "validation_sha256": None,
        "validation_encoding": None,
        "validation_separator": None,
        "validation_has_header": None,
        "validation_rate": 0.3,
        "split_seed": 8,
    }
    assert recipe["validation_rows"] == pytest.approx(0.3 * 60, abs=2)
    assert recipe["versions"]["bertviz_core"] == __version__
    assert any((tmp_path / "first" / "log").iterdir())
    again, same, done = train("again", "--recipe", tmp_path / "first" / "model.zip")
    assert without_times(again) == without_times(metrics)
    # Where it was chosen by itself, the recipe says what it was.
    settings |= {"precision": recipe["precision"]}
    assert again["settings"] == settings
    assert same == recipe | {"settings": same["settings"]}
    assert "differ" not in done.stderr


def test_what_is_given_counts_before_the_recipe(repeated, table, tmp_path):
    (metrics, recipe, _), train = repeated
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe), encoding="utf-8")
    other, changed, _ = train("other", "--recipe", path, "--seed", 6, "--oversample")
    wanted = {"seed": 6, "oversample": True, "class_weights": False}
    assert other["settings"] == metrics["settings"] | wanted | {
        "precision": recipe["precision"]
    }
    assert changed["data"] == recipe["data"]


def test_another_table_and_another_model_are_told(
    repeated, table, tmp_path, monkeypatch
):
    _, train = repeated
    spoilt = tiny_loaded()
    weight = spoilt.model.weights[0]
    weight.assign(weight.numpy() + 1)
    monkeypatch.setattr(
        "bertviz_core.checkpoints.library.open_model", lambda *_: spoilt
    )
    lines = table.read_text("utf-16").splitlines()
    table.write_text("\n".join(lines[:-1]), encoding="utf-16")
    recipe = tmp_path / "first" / "model.zip"
    done = train("third", "--recipe", recipe, "--epochs", 1)[2]
    assert "other weights" in done.stderr
    assert "rows are not those" in done.stderr


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"settings": 1}', "\ud800"])
def test_what_is_no_recipe_is_a_sentence(tmp_path, table, text):
    path = tmp_path / "recipe.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for wrong in (path, tmp_path / "absent.json"):
        done = run_command(table, "--recipe", wrong, "--out", tmp_path / "out")
        assert done.exit_code == 2
        assert "no recipe" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_recipe_with_a_table_to_judge_by_asks_for_it(tmp_path, table):
    origin = dict.fromkeys(("encoding", "separator", "label_column"), "x")
    origin |= {"table_sha256": "", "has_header": True, "text_column": "x"}
    raw = {"settings": {}, "data": origin | {"validation_sha256": "ab"}}
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(raw))
    done = run_command(table, "--recipe", path, "--out", tmp_path / "out")
    assert (done.exit_code, "--validation" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("model_id", "said"),
    [
        ("owner/name@" + "a" * 40, "owner/name@" + "a" * 40),
        ("bert-mini-en", "bert-mini-en"),
        (f"{Path(__file__).parent}", "core"),
    ],
)
def test_the_base_is_named_so_that_it_can_be_found(result, model_id, said):
    begun = dataclasses.replace(result, base_model_id=model_id)
    assert base_name(begun) == said


@pytest.mark.parametrize("model_id", ["run:" + "0a" * 16, "upload:" + "0a" * 8])
def test_an_id_that_opens_what_is_private_is_told_nowhere(result, tmp_path, model_id):
    begun = dataclasses.replace(result, base_model_id=model_id)
    bundle = write_bundle(begun, tmp_path / "again.zip")
    recipe = json.loads(read(bundle, "recipe.json"))
    name = recipe["base_model"]
    assert name == f"bert_L-2_H-42@sha256:{recipe['base_weights_sha256'][:12]}"
    assert name.split("@")[1] in read(bundle, "README.md")
    with zipfile.ZipFile(bundle) as opened:
        for entry in opened.namelist():
            assert b"0a0a0a0a" not in opened.read(entry), entry


def test_a_recipe_whose_model_has_no_name_asks_for_it(table, tmp_path):
    path = tmp_path / "recipe.json"
    path.write_text('{"settings": {}, "base_model": "bert_L-2_H-8@sha256:ab"}')
    done = run_command(table, "--recipe", path, "--out", tmp_path / "out")
    assert (done.exit_code, "--model" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("level", "english", "chinese"),
    [
        ("head", "a new output layer alone", "只有新的输出层"),
        ("top", "the upper layers, 3 of them", "最上面的 3 层"),
        ("full", "all layers", "所有层"),
    ],
)
def test_the_card_says_what_learned_in_each_language(result, level, english, chinese):
    settings = dataclasses.replace(SETTINGS, level=level, num_top_layers=3)
    other = dataclasses.replace(result, settings=settings)
    assert english in model_card(other)
    assert chinese in model_card(other, words=CHINESE)


def test_the_command_ends_in_a_sentence(table, tmp_path):
    done = run_command(table, "--label-column", "sort", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "sort" in done.stderr
    assert "Traceback" not in done.output
