import dataclasses
import errno
import os
import signal
import zipfile

import numpy as np
import psutil
import pytest

from bertviz_core import visitor_files
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.finetune_tasks import (
    estimate_training,
    report_rows,
    training_outcome,
)
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.model_tasks import add_upload, forward_count
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace
from bertviz_core.training.finetune import estimate, run_files
from bertviz_core.training.finetune.checks import check_data
from bertviz_core.training.finetune.columns import view_table
from bertviz_core.training.finetune.request import (
    DataChoice,
    TableSource,
    TrainingRequest,
)
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.finetune.visitor_tables import (
    Wanted,
    forget_table,
    keep_table,
    rows_to_mend,
)
from tests.core import engine_waiting
from tests.core.checkpoint_copies import HF, full_disk
from tests.core.engine_waiting import ended, trainers, wait_until

pytestmark = pytest.mark.tensorflow

MODEL = str(HF)
SETTINGS = FinetuneSettings(
    level="head", epochs=3, batch_size=5, max_tokens=19, precision="float32"
)
TEXT = "ab cab ba"


def table_bytes(num_rows=42):
    """Rows whose first word tells the class."""
    rng = np.random.default_rng(6)
    rows = []
    for index in range(num_rows):
        words = [("cab", "ba")[index % 2], *rng.choice(["ab", "a", "b"], 3)]
        rows.append(f"{' '.join(words)} {index},{('yes', 'no')[index % 2]}\n")
    return b"text,label\n" + "".join(rows).encode()


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Networks are compiled here, which a busy machine takes its time for."""
    monkeypatch.setattr(engine_waiting, "DEADLINE_SECONDS", 300.0)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def inline():
    client = InlineEngine()
    yield client
    client.close()


@pytest.fixture(scope="module")
def cluster():
    client = ClusterEngine()
    yield client
    client.close()


def request_of(client, settings=SETTINGS, **options):
    source = TableSource(keep_table(table_bytes()))
    data = DataChoice(source, client.ask(view_table)(source).guess)
    return TrainingRequest(MODEL, data, settings, **options)


def finished(client, run_id):
    def status():
        found = client.trainings.status(run_id)
        return found if found.is_finished else None

    return wait_until(status, "the end of a training")


@pytest.fixture(scope="module")
def done(inline):
    """A run that has ended."""
    request = request_of(inline, title="Mine", tensorboard=True)
    run_id = inline.trainings.start(request)
    forget_table(request.data.source.table)
    return finished(inline, run_id)


def test_a_table_is_read_and_checked_without_a_table_in_the_answer(inline):
    source = TableSource(keep_table(table_bytes()))
    view = inline.ask(view_table)(source)
    assert (view.columns, view.num_rows) == (("text", "label"), 42)
    data = DataChoice(source, view.guess)
    check = inline.ask(check_data)(MODEL, data)
    assert (check.train_counts + check.test_counts).tolist() == [21, 21]
    assert check.num_validation == 0
    assert check.max_position_embeddings == 19
    # The number at the end of each text is in no vocabulary.
    assert check.lengths.num_rows.sum() == 42
    assert check.share_unknown > 0
    wanted = Wanted(rows=(3, 1, 43))
    rows = inline.ask(rows_to_mend)(data.source, data.columns, wanted).rows
    assert [row.row for row in rows] == [3, 43]  # the first row is the header
    assert rows[0].text.startswith("ba ")
    assert rows[0].label == "no"


def test_a_table_that_is_gone_is_told_though_it_was_kept_in_memory(inline):
    source = TableSource(keep_table(table_bytes()))
    inline.ask(view_table)(source)
    forget_table(source.table)
    with pytest.raises(DatasetError, match="no longer here"):
        inline.ask(view_table)(source)


def test_the_trained_model_opens_everywhere_under_its_own_id(inline, done):
    model = done.model.model_id
    info = inline.ask(Explorer.info)(model)
    assert info.labels == ("no", "yes")
    assert info.model_id == model
    trace = inline.ask(Trace.only)(
        model, Texts(TEXT), ("class_logits", "attention_probs")
    )
    assert trace.class_logits.shape == (2,)
    assert inline.ask(Explorer.predict_masks)(model, "ab [MASK]").logits.shape[0] == 1


def test_the_zip_that_is_taken_away_gives_the_same_model_back(inline, done):
    entry = inline.ask(add_upload)(inline.trainings.bundle(done.run_id), "back")
    own = inline.ask(Trace.only)(done.model.model_id, Texts(TEXT), ("class_logits",))
    back = inline.ask(Trace.only)(entry.model_id, Texts(TEXT), ("class_logits",))
    np.testing.assert_array_equal(back.class_logits, own.class_logits)


def test_the_outcome_is_that_of_the_model_on_the_rows_it_was_tested_on(inline, done):
    outcome = inline.ask(training_outcome)(done.run_id)
    assert outcome.model_id == done.model.model_id
    assert outcome.labels == ("no", "yes")
    assert [baseline.name for baseline in outcome.baselines] == ["majority", "tfidf"]
    # So small a table has no rows to choose by.
    assert np.isnan(done.judged[:, 3]).all()
    assert (done.metric_name, done.best_epoch) == ("", done.num_epochs)
    assert outcome.baselines[1].chosen == outcome.recipe["word_counts"]
    assert len(outcome.comparisons) == 2
    rows = inline.ask(report_rows)(done.run_id, (0, 1, 999))
    assert [row.row for row in rows] == outcome.report.rows[:2].tolist()
    for index, row in enumerate(rows):
        logits = inline.ask(Trace.only)(
            outcome.model_id, Texts(row.text), ("class_logits",)
        ).class_logits
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        np.testing.assert_allclose(
            shares, outcome.report.probabilities[index], atol=1e-5
        )
        assert row.label == outcome.labels[outcome.report.targets[index]]


def test_a_full_disk_is_told_of_a_log_and_gets_no_fuller(inline, monkeypatch):
    folder = run_files.create_run(request_of(inline), "0" * 32)
    before = {path.name for path in folder.iterdir()}
    (folder / run_files.LOG_FOLDER).mkdir()
    (folder / run_files.LOG_FOLDER / "events").write_bytes(b"curves")
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "write", full_disk)
        with pytest.raises(TrainingError, match="TensorBoard") as told:
            inline.trainings.log(folder.name)
    assert told.value.details == {"reason": os.strerror(errno.ENOSPC)}
    after = {path.name for path in folder.iterdir()}
    assert after == before | {run_files.LOG_FOLDER}
    assert zipfile.ZipFile(inline.trainings.log(folder.name)).namelist()


def test_a_page_that_is_open_keeps_its_table_and_its_run(inline, done):
    table = keep_table(table_bytes())
    folders = [
        visitor_files.place_of(visitor_files.TABLES) / table.removeprefix("file:"),
        visitor_files.run_folder(done.run_id),
    ]
    for folder in folders:
        for path in (folder, *folder.iterdir()):
            os.utime(path, (0, 0))
        assert visitor_files.is_abandoned(folder)
    inline.renew([table, f"run:{done.run_id}", "file:none", "0" * 32])
    assert not any(map(visitor_files.is_abandoned, folders))


def test_a_log_is_there_if_asked_for_and_what_is_forgotten_is_gone(inline, done):
    path = inline.trainings.log(done.run_id)
    assert zipfile.ZipFile(path).namelist()
    status = finished(inline, inline.trainings.start(request_of(inline)))
    assert status.state == "done"
    with pytest.raises(TrainingError, match="no such file"):
        inline.trainings.log(status.run_id)
    inline.ask(training_outcome)(status.run_id)
    inline.trainings.remove(status.run_id)
    outcome = inline.ask(training_outcome)
    for ask in (inline.trainings.status, outcome, inline.trainings.bundle):
        with pytest.raises(TrainingError, match="no longer here"):
            ask(status.run_id)


def test_columns_that_cannot_be_trained_on_end_in_a_sentence(inline):
    source = TableSource(keep_table(b"text,label\n" + b"ab cab,yes\n" * 20))
    data = DataChoice(source, inline.ask(view_table)(source).guess)
    with pytest.raises(DatasetError, match="same label"):
        inline.ask(check_data)(MODEL, data)
    status = finished(inline, inline.trainings.start(TrainingRequest(MODEL, data)))
    assert status.state == "failed"
    assert isinstance(status.error, DatasetError)


def test_an_estimate_is_a_job_that_tells_of_each_level(inline, monkeypatch):
    timed = estimate.estimate_run

    def timed_at_head(loaded, data, settings, counting):
        if settings.level == "head":  # others compile more: `test_finetune_estimate`
            return timed(loaded, data, settings, counting)
        return estimate.LevelEstimate(settings.level, 1, seconds=1.0)

    monkeypatch.setattr(estimate, "estimate_run", timed_at_head)
    data = request_of(inline).data
    job = inline.start(inline.ask(estimate_training).about(MODEL, data, SETTINGS))
    found = ended(inline, job).result
    assert [level.level for level in found.levels] == ["head", "top", "full"]
    assert all(level.fits and level.seconds > 0 for level in found.levels)
    assert found.recommended == "full"
    assert found.level("head").num_steps == 3 * 7  # 34 rows in batches of 5
    assert not found.is_loaded


def training_process(client):
    """Of the worker that trains; `None` where none runs."""
    found = trainers(client)
    pids = client._connection().client.run(os.getpid, workers=found) if found else {}
    return psutil.Process(*pids.values()) if pids else None


def test_a_killed_training_goes_on_and_the_pages_worker_never_notices(cluster):
    assert training_process(cluster) is None  # it costs memory, so it comes when needed
    reading = cluster.ask(forward_count)()
    cluster.ask(Trace.only)(MODEL, Texts(TEXT), ("pooled_output", "nsp_logits"))
    settings = dataclasses.replace(SETTINGS, epochs=1000, batch_size=2, patience=0)
    run_id = cluster.trainings.start(request_of(cluster, settings))
    wait_until(lambda: _epochs(cluster, run_id) > 2, "an epoch that is kept")
    waits = cluster.trainings.start(request_of(cluster))
    assert cluster.trainings.status(waits).place == 1
    assert cluster.ask(forward_count)() == reading + 1
    training_process(cluster).send_signal(signal.SIGKILL)
    wait_until(
        lambda: cluster.trainings.status(run_id).num_restarts == 1, "another process"
    )
    before = _epochs(cluster, run_id)  # of the process that is gone
    wait_until(lambda: _epochs(cluster, run_id) > before, "another epoch")
    assert cluster.ask(forward_count)() == reading + 1  # the same process as before
    cluster.trainings.stop(run_id)
    status = finished(cluster, run_id)
    assert (status.state, status.ending, status.error) == ("stopped", "asked", None)
    (told,) = [entry for entry in status.log if "goes on after" in entry[1]]
    assert 1 < told[2]["epoch"] <= len(status.epochs)
    asked = status.model.model_id, Texts(TEXT), ("class_logits",)
    assert cluster.ask(Trace.only)(*asked).class_logits.size == 2
    assert finished(cluster, waits).state == "done"


def _epochs(client, run_id):
    return len(client.trainings.status(run_id).epochs)


def test_leases_and_folders_are_those_of_the_engine_that_is_used(cluster):
    run_id = cluster.trainings.start(request_of(cluster))
    folder = visitor_files.run_folder(run_id)
    os.utime(folder / "lease", (1.0, 1.0))
    cluster.trainings.look()
    wait_until(lambda: run_files.status_of(folder).is_finished)
