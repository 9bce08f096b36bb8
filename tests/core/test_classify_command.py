import csv
import dataclasses
import json

import pytest
from click.testing import CliRunner

from bertviz_core.cli import main
from bertviz_core.trace import TrainedInputs
from bertviz_core.training.finetune.command_data import text_column
from bertviz_core.training.finetune.row_prediction import predict_rows, read_text
from bertviz_core.training.finetune.table import read_table
from tests.core.finetune_samples import tiny_loaded

OPEN_MODEL = "bertviz_core.checkpoints.library.open_model"


@pytest.fixture(autouse=True)
def opened(explorer, monkeypatch):
    """Every name opens the same model; the names are kept."""
    names = []

    def open_model(name, *_):
        names.append(name)
        return explorer.loaded

    # Where `Explorer.open` looks for it.
    monkeypatch.setattr(OPEN_MODEL, open_model)
    return names


def run(*arguments):
    return CliRunner().invoke(main, ["classify", *map(str, arguments)])


def test_a_text_is_answered_with_every_class(explorer, opened):
    done = run("the cat sat", "--model", "mine", "--json")
    assert done.exit_code == 0, done.output
    assert opened == ["mine"]
    found, read = json.loads(done.stdout), read_text(explorer, "the cat sat")
    assert found["label"] == read.labels[read.best]
    assert [one["label"] for one in found["classes"]] == list(read.labels)
    said = [one["probability"] for one in found["classes"]]
    assert said == pytest.approx(read.outputs.tolist())
    assert not found["was_cut"]


def test_without_json_the_likeliest_class_comes_first(explorer):
    lines = run("the cat sat", "--pair", "a mat").stdout.splitlines()
    read = read_text(explorer, "the cat sat", "a mat")
    shares = [float(line.split("\t")[0]) for line in lines]
    assert lines[0].split("\t")[1] == read.labels[read.best]
    assert shares == sorted(shares, reverse=True)
    assert len(lines) == len(read.labels)


def test_a_long_text_is_cut_as_the_model_learned_and_says_so(explorer, monkeypatch):
    loaded = dataclasses.replace(explorer.loaded, trained_inputs=TrainedInputs(5))
    monkeypatch.setattr(OPEN_MODEL, lambda *_: loaded)
    done = run("the cat sat on a mat", "--json")
    assert len(json.loads(done.stdout)["tokens"]) == 5
    assert "cut" in done.stderr


def test_a_table_comes_back_with_answers(explorer, tmp_path):
    table, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("nr;said\n-1;the cat sat\n2;\n3;cats\n", encoding="utf-8")
    done = run("--table", table, "--out", out, "--text-column", "said", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["rows"], found["empty"]) == (3, 1)
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    outputs, _ = predict_rows(explorer, ["the cat sat", "cats"])
    first, last = (explorer.loaded.labels[i] for i in outputs.argmax(axis=1))
    assert [row["predicted"] for row in rows] == [first, "", last]
    assert [row["nr"] for row in rows] == ["-1", "2", "3"]
    assert sum(found["counts"].values()) == 2


def test_the_column_with_texts_is_guessed():
    for text in (
        "id,said,kind\n1,the cat sat,a\n2,a mat,b\n",
        "said\nthe cat\na mat\n",
    ):
        assert text_column(read_table(text.encode(), has_header=True)) == "said"


IN_OUT = ("--table", "in.csv", "--out", "out.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--table", "none.csv", "--out", "out.csv"), "none.csv"),
        ((*IN_OUT, "--encoding", "x"), "encoding=x"),
        ((*IN_OUT, "--separator", "x"), "separator=x"),
        ((*IN_OUT, "--text-column", "no"), "no"),
        ((), "TEXT or --table"),
        (("a", *IN_OUT), "TEXT or --table"),
        (IN_OUT[:2], "together"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("said,kind\na cat,a\na mat,b\n")
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "out.csv").exists()


def test_a_model_without_classes_is_a_sentence(monkeypatch):
    loaded = tiny_loaded(num_layers=1)
    monkeypatch.setattr(OPEN_MODEL, lambda *_: loaded)
    done = run("a cat")
    assert done.exit_code == 2
    assert "CLASSIFIER" in done.stderr
