"""Numbers learned from pairs of texts, from the table to the zip that comes back."""

import csv

import numpy as np
import pytest

from bertviz_core.engine.finetune_tasks import (
    read_table,
    report_rows,
    training_outcome,
)
from bertviz_core.engine.finetuned_tasks import (
    compare_layers,
    head_change,
    nearest_training_rows,
    predict_table,
    weight_change,
)
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.model_tasks import add_upload
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.evaluation import RegressionReport
from bertviz_core.finetune.request import DataChoice, TableSource, TrainingRequest
from bertviz_core.finetune.row_prediction import read_text
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.visitor_tables import keep_table
from tests.core import engine_waiting
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended, wait_until

pytestmark = pytest.mark.tensorflow  # it trains

SETTINGS = FinetuneSettings(
    level="top", num_top_layers=1, epochs=2, batch_size=10, learning_rate=3e-3,
    max_tokens=14, precision="float32", patience=0, seed=5,
)  # fmt: skip
PAIR = ("ab cab ba", "ba ab")


def pairs():
    """(first, second, number): the number counts what both texts begin with."""
    rng = np.random.default_rng(8)
    rows = []
    for index in range(30):
        first, second = rng.choice(["cab", "ba"], 2)
        rest = [" ".join(rng.choice(["ab", "a", "b"], 2)) for _ in range(2)]
        number = 20.5 + 10 * (first == "cab") + 5 * (second == "cab") + index / 100
        rows.append((f"{first} {rest[0]}", f"{second} {rest[1]}", f"{number:.2f}"))
    return rows


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_waiting, "DEADLINE_SECONDS", 300.0)
        patch.setenv("BERTVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        client = InlineEngine()
        yield client
        client.close()


@pytest.fixture(scope="module")
def source(client):
    lines = ["sentence1,sentence2,score", *[",".join(row) for row in pairs()]]
    return TableSource(keep_table("\n".join(lines).encode()))


@pytest.fixture(scope="module")
def done(client, source):
    """A run that has ended, and its model."""
    data = DataChoice(source, client.ask(read_table)(source).guess)
    assert data.columns.is_regression
    assert data.columns.pair == "sentence2"
    run_id = client.trainings.start(TrainingRequest(str(HF), data, SETTINGS, "Pairs"))

    def status():
        found = client.trainings.status(run_id)
        return found if found.is_finished else None

    found = wait_until(status, "the end of a training")
    assert (found.state, found.error) == ("done", None)
    assert found.metric_name == ""  # too few rows to choose an epoch by
    return found


def result_of(client, question):
    job = ended(client, client.start(question))
    assert job.state == "done", job.error
    return job.result


def test_the_outcome_is_what_the_model_says_of_its_pairs(client, done):
    outcome = client.ask(training_outcome)(done.run_id)
    report = outcome.report
    assert isinstance(report, RegressionReport)
    assert (outcome.labels, outcome.has_pairs) == (("score",), True)
    assert [baseline.name for baseline in outcome.baselines] == ["mean", "tfidf"]
    known = {row + 2: pair for row, pair in enumerate(pairs())}
    shown = client.ask(report_rows)(done.run_id, tuple(range(len(report.rows))))
    for row, target, predicted in zip(
        shown, report.targets, report.predicted, strict=True
    ):
        first, second, number = known[row.row]
        assert (row.text, row.pair) == (first, second)
        assert float(number) == pytest.approx(target)
        read = client.ask(read_text)(outcome.model_id, first, second, 14)
        assert read.is_regression
        assert read.outputs == pytest.approx([predicted], abs=1e-4)
    # The second text counts.
    texts = [
        client.ask(read_text)(outcome.model_id, "ab", other, 14)
        for other in ("ba", "cab")
    ]
    assert texts[0].outputs != pytest.approx(texts[1].outputs, abs=1e-3)


def test_the_number_is_attributed_to_both_texts(client, done):
    model = done.model.model_id
    target = Target("classifier", 0)
    asked = client.ask(attribute).about(model, PAIR[0], target, pair=PAIR[1])
    found = result_of(client, asked)
    assert found.tokenized.pair == PAIR[1]
    assert found.value == pytest.approx(client.ask(read_text)(model, *PAIR).outputs[0])
    second = int(np.argmax(found.tokenized.token_type_ids))
    for place in (1, second):  # the first token of each text
        assert np.nan_to_num(found.scores[:, place]).any()


def test_near_pairs_and_layers_are_those_of_the_run(client, done):
    found = result_of(
        client, client.ask(nearest_training_rows).about(done.run_id, *PAIR)
    )
    outcome = client.ask(training_outcome)(done.run_id)
    assert found.num_searched == 30 - len(outcome.report.rows)
    known = {row + 2: pair for row, pair in enumerate(pairs())}
    for row in found.rows:
        assert (row.text, row.pair) == known[row.row][:2]
        assert float(row.label) == pytest.approx(float(known[row.row][2]))
    layers = result_of(client, client.ask(compare_layers).about(done.run_id, "cls"))
    assert layers.reading == "cls"
    assert client.ask(weight_change)(done.run_id).totals.max() > 0
    assert client.ask(head_change)(done.run_id, *PAIR).distances.max() > 0


def test_a_table_of_pairs_is_predicted_as_its_rows_are(client, done, source):
    model = done.model.model_id
    asked = client.ask(predict_table).about(
        model, source, "sentence1", "sentence2", max_tokens=14
    )
    found = result_of(client, asked)
    assert (found.is_regression, found.num_rows, found.num_empty) == (True, 30, 0)
    with open(found.path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row, (first, second, number) in list(zip(rows, pairs(), strict=True))[::10]:
        assert row[:3] == [first, second, number]
        read = client.ask(read_text)(model, first, second, 14)
        assert float(row[3]) == pytest.approx(read.outputs[0], abs=1e-4)


def test_the_zip_comes_back_and_predicts_the_same_numbers(client, done):
    entry = client.ask(add_upload)(client.trainings.bundle(done.run_id), "back")
    info = client.ask(Explorer.info)(entry.model_id)
    assert info.labels == ("score",)
    for first, second, _ in pairs()[:4]:
        own, back = (
            client.ask(read_text)(model, first, second).outputs
            for model in (done.model.model_id, entry.model_id)
        )
        np.testing.assert_array_equal(back, own)
