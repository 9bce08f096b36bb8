"""Tasks about a training, with its rows and models put in by hand."""

import dataclasses
import hashlib

import numpy as np
import pytest

from bertviz_core.engine import finetuned_tasks as tasks
from bertviz_core.engine import memory, run_store, table_store
from bertviz_core.experiments.after_training import nearest_rows, row_vectors
from bertviz_core.training.finetune import visitor_tables
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.command_data import training_rows
from bertviz_core.training.finetune.dataset import DataOrigin
from bertviz_core.training.finetune.recipe import options_of
from bertviz_core.training.finetune.request import (
    SAMPLES,
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.row_prediction import read_text
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.settings import build
from tests.core.finetune_samples import NAMES, number_data, random_data

RUN = "cd" * 16
TEXT, PAIR = "the cat sat", "a ."


@pytest.fixture(scope="module")
def models(explorer, other_explorer):
    return {"base": explorer, f"run:{RUN}": other_explorer}


@pytest.fixture
def run(models, monkeypatch):
    """A run on pairs that ended."""
    source = TableSource(SAMPLES["library_en"])
    choice = DataChoice(source, ColumnChoice("text", "label", None, False))
    request = TrainingRequest("base", choice, FinetuneSettings(max_tokens=8))
    monkeypatch.setattr(run_store, "run_request", lambda run_id: request)
    monkeypatch.setattr(run_store, "run_data", lambda run_id: random_data(pairs=True))
    monkeypatch.setattr(memory, "explorer", models.__getitem__)
    memory.ANSWERS.forget(lambda key: True)
    yield RUN
    memory.ANSWERS.forget(lambda key: True)


def test_nearest_rows_are_training_rows_with_their_labels(run, models):
    found = tasks.nearest_training_rows(run, TEXT, PAIR, count=4)
    part = random_data(pairs=True).train
    trained = models[f"run:{RUN}"]
    known = row_vectors(trained, part.texts, part.pairs, 8)
    read = read_text(trained, TEXT, PAIR)
    expected = nearest_rows(trained, read.tokenized, known, random_data(pairs=True), 4)
    assert found.rows == expected.rows
    np.testing.assert_array_equal(found.cosines, expected.cosines)
    for row in found.rows:
        place = part.rows.tolist().index(row.row)
        assert (row.text, row.pair) == (part.texts[place], part.pairs[place])
        assert row.label == NAMES[part.targets[place]]
    assert found.num_searched == 23


def test_vectors_of_the_training_rows_are_computed_once(run, models):
    trained = models[f"run:{RUN}"]
    tasks.nearest_training_rows(run, TEXT, PAIR)
    before = trained.num_forward_passes
    tasks.nearest_training_rows(run, "a mat sat")
    assert trained.num_forward_passes == before + 1


def test_labels_of_a_regression_are_numbers(run, monkeypatch):
    monkeypatch.setattr(run_store, "run_data", lambda run_id: number_data())
    found = tasks.nearest_training_rows(run, TEXT, count=3)
    assert len(found.rows) == 3
    assert {row.label for row in found.rows} <= {"500", "530", "560"}


def test_weights_of_both_models_are_compared_once(run, models):
    found = tasks.weight_change(run)
    assert (found.totals > 0).all()
    assert tasks.weight_change(run) is found


def test_layers_are_compared_for_the_reading_that_is_asked(run):
    # Before the first layer [CLS] is the same in every row; the mean is not.
    first, mean = (tasks.compare_layers(run, one) for one in ("cls", "mean"))
    assert np.isnan(first.separations[:, 0]).all()
    assert np.isfinite(mean.separations[:, 0]).all()


def test_a_table_is_predicted_beside_itself(run, tmp_path, monkeypatch, models):
    path = tmp_path / "table"
    path.write_bytes(b"text,other\nthe cat,1\na mat,2\n")
    for module in (visitor_tables, table_store):
        monkeypatch.setattr(module, "table_path", lambda table: path)
    source = TableSource("file:" + "0" * 32)
    found = tasks.predict_table(models[f"run:{RUN}"], source, "text")
    assert tmp_path.joinpath(found.path).read_bytes().count(b"\n") == 3
    other = tasks.predict_table(models[f"run:{RUN}"], source, "other")
    assert other.path != found.path


def test_nothing_is_written_beside_the_projects_own_tables(run, models):
    with pytest.raises(ValueError, match="visitor"):
        tasks.predict_table(
            models[f"run:{RUN}"], TableSource(SAMPLES["reviews_zh"]), "text"
        )


def test_a_command_finds_the_rows_of_a_page_again():
    source = TableSource(SAMPLES["library_en"])
    columns = ColumnChoice("message", "topic")
    choice = DataChoice(source, columns, None, 0.15, 4, 0.3)
    data, path = (
        table_store.prepared(choice).data,
        visitor_tables.table_path(source.table),
    )
    origin = data.origin
    assert origin.table_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (origin.text_column, origin.label_column) == ("message", "topic")
    rates = (origin.validation_rate, origin.test_rate)
    assert (*rates, origin.split_seed) == (0.15, 0.3, 4)
    assert build(DataOrigin, dataclasses.asdict(origin), "data") == origin
    again = training_rows(path, None, options_of(origin)).data
    assert again.fingerprint() == data.fingerprint()
    assert again.origin == origin
