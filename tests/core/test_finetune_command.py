"""What the command line chooses, and what it refuses, before anything is trained."""

import dataclasses
import json
import re
import zipfile

import pytest
from click.testing import CliRunner

from bertviz_core.cli import main
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.training.finetune import run
from bertviz_core.training.finetune.command_data import training_rows
from bertviz_core.training.finetune.dataset import DataOrigin
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.recipe import options_of, read_recipe
from bertviz_core.training.finetune.settings import FinetuneSettings
from tests.core.checkpoint_copies import encrypted

pytestmark = pytest.mark.tensorflow

OPTIONS = dict.fromkeys(
    ("pair_column", "is_regression", "encoding", "separator", "has_header",
     "validation_encoding", "validation_separator", "validation_has_header")
) | {"text_column": "text", "label_column": "score", "validation_rate": 0.1,
     "test_rate": 0.25, "split_seed": 1}  # fmt: skip


@pytest.mark.parametrize("text_column", ["text", None])
def test_a_named_label_with_decimals_is_a_number_unless_asked_for(scores, text_column):
    rows = training_rows(scores, None, OPTIONS | {"text_column": text_column})
    assert rows.data.is_regression
    assert rows.data.origin.is_regression
    rows = training_rows(scores, None, OPTIONS | {"is_regression": False})
    assert rows.data.labels == ("0.4", "1.0", "1.6")


def table_of(path, labels):
    lines = [f"text number {i},{label}" for i, label in enumerate(labels)]
    path.write_text("\n".join(["text,score", *lines, ""]), encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path):
    return table_of(tmp_path / "scores.csv", ["0.4", "1.0", "1.6"] * 8)


def test_a_named_label_of_few_whole_numbers_is_a_class(tmp_path):
    table = table_of(tmp_path / "stars.csv", ["1", "2", "3"] * 8)
    assert training_rows(table, None, OPTIONS).data.labels == ("1", "2", "3")
    rows = training_rows(table, None, OPTIONS | {"is_regression": True})
    assert rows.data.is_regression


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["4.99", "9.99"] * 8, "number to predict.*If .* classes, add --classes"),
        (["1", "2"] * 8, "is a class.*If .* amounts, add --regression"),
        (["good", "bad"] * 8, None),
    ],
)
def test_the_command_says_what_it_takes_numbers_for(tmp_path, labels, said):
    table = table_of(tmp_path / "some.csv", labels)

    def told(is_regression):
        rows = training_rows(table, None, OPTIONS | {"is_regression": is_regression})
        return " ".join(in_english(note) for note in rows.notes)

    assert bool(re.search("The label is", told(None))) == bool(said)
    assert re.search(said or "^", told(None))
    assert "The label is" not in told(False)


def test_the_layout_of_a_table_to_test_on_is_chosen_and_kept(scores, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("é;2.5\né encore;0.5\n", encoding="latin-1")
    chosen = {
        "validation_encoding": "latin-1",
        "validation_separator": ";",
        "validation_has_header": False,
    }
    named = {"text_column": "#1", "label_column": "#2"}
    table = tmp_path / "bare.csv"
    table.write_text(scores.read_text().partition("\n")[2])
    options = OPTIONS | named | {"has_header": False} | chosen
    rows = training_rows(table, other, options)
    assert rows.data.test.texts == ("é", "é encore")
    origin = dataclasses.asdict(rows.data.origin)
    assert {name: origin[name] for name in chosen} == chosen
    again = training_rows(table, other, OPTIONS | options_of(rows.data.origin))
    assert again.data.fingerprint() == rows.data.fingerprint()


def test_a_recipe_that_does_not_say_how_the_other_table_lies_guesses_it():
    raw = {
        "table_sha256": "", "encoding": "utf-8", "separator": ",", "has_header": True,
        "text_column": "a", "label_column": "b", "validation_sha256": "ab",
    }  # fmt: skip
    options = options_of(DataOrigin(**raw))
    assert options["validation_encoding"] is None
    assert options["validation_has_header"] is None


@pytest.mark.parametrize(
    "rates", [(0.0, 0.2), (1.0, 0.2), (0.1, 0.0), (0.1, 1.0), (0.5, 0.5)]
)
def test_shares_that_leave_nothing_to_learn_from_are_refused(scores, rates):
    options = OPTIONS | {"validation_rate": rates[0], "test_rate": rates[1]}
    with pytest.raises(DatasetError, match="leave rows to learn from"):
        training_rows(scores, None, options)


def test_a_negative_seed_is_refused_by_name(scores, tmp_path):
    with pytest.raises(DatasetError, match="-1"):
        training_rows(scores, None, OPTIONS | {"split_seed": -1})
    for option in ("--seed", "--split-seed"):
        out = ["--out", str(tmp_path / "out")]
        done = CliRunner().invoke(main, ["fine-tune", str(scores), option, "-1", *out])
        assert done.exit_code == 2
        assert option in done.stderr
        assert "Traceback" not in done.output


def test_no_epochs_are_refused_before_anything_is_opened(scores, tmp_path):
    out = ["--epochs", "0", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, ["fine-tune", str(scores), *out])
    assert done.exit_code == 2
    assert "'--epochs': 0 is not in the range x>=1" in done.stderr
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"settings": {"epochs": 0}}))
    with pytest.raises(TrainingError, match=r"epochs is out of bounds.*≥ 1, ≤ 1000"):
        read_recipe(recipe)


def test_repeated_rows_count_where_epochs_are_proposed(tmp_path, monkeypatch):
    seen = []

    def finetune(loaded, data, settings, *_):
        seen.append((loaded.model.config.hidden_size, settings))
        raise TrainingError("Enough.")

    monkeypatch.setattr(run, "finetune", finetune)
    table = table_of(tmp_path / "some.csv", ["often"] * 300 + ["rare"] * 20)
    out = ["--oversample", "--label-column", "score", "--out", str(tmp_path / "out")]
    CliRunner().invoke(main, ["fine-tune", str(table), *out])
    ((size, settings),) = seen
    # 320 rows, of which 0.7 learn, and as many rare ones as others.
    usual = FinetuneSettings.proposed(size, 2 * 210, level="full")
    assert settings.epochs == usual.epochs


def packed(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("model/recipe.json", json.dumps({"settings": {"seed": 3}}))
    return path


def damaged(path):
    data = bytearray(path.read_bytes())
    start = data.index(b"recipe.json") + len(b"recipe.json")
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("spoil", [encrypted, damaged])
def test_a_recipe_is_read_from_a_zip_file_that_can_be_read(tmp_path, spoil):
    path = tmp_path / "model.zip"
    assert read_recipe(packed(path)).settings.seed == 3
    with pytest.raises(TrainingError, match=r"no recipe in model\.zip"):
        read_recipe(spoil(path))
