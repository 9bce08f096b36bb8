"""The engine in this process: jobs of small tasks, and the real tasks on a small model.

`test_engine_server.py` asks some of a worker.
"""

import importlib
import itertools
import logging
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bertviz_core
from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine import connect, memory, questions
from bertviz_core.engine import engine as engine_module
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.jobs import LEASE_SECONDS
from bertviz_core.engine.model_tasks import (
    add_upload,
    earlier_uploads,
    forward_count,
    models,
    vocabulary,
)
from bertviz_core.engine.questions import Question
from bertviz_core.engine.worker_specs import DEFAULT_MAX_MODELS
from bertviz_core.errors import CheckpointError, EngineError, TextError
from bertviz_core.experiments import stored_maps
from bertviz_core.experiments.attention_matrix import attention_matrix, compare_heads
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.experiments.sentence_states import vectors_at
from bertviz_core.experiments.vocabulary_maps import vocabulary_map
from bertviz_core.experiments.word_vectors import nearest_words, word_norms
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, Trace
from bertviz_core.training.finetune.columns import view_table
from bertviz_core.training.finetune.request import TableSource
from tests.core import engine_fake_tasks as tasks
from tests.core.checkpoint_copies import HF, edit_config, hf_copy, weights_of_hf
from tests.core.engine_waiting import ended, running, start, wait_until

pytestmark = pytest.mark.usefixtures("cache")
MODEL = str(HF)
TEXT = "ab cab [MASK] ba"


def test_a_question_is_a_function_and_what_travels():
    question = InlineEngine().ask(Explorer.tokenize).about("m", "a text", cut=True)
    assert question.task == "bertviz_core.explorer:Explorer.tokenize"
    assert (question.args, question.kwargs) == (("m", "a text"), (("cut", True),))
    assert (question.function, question.subject) == (Explorer.tokenize, "m")
    table = InlineEngine().ask(view_table).about(TableSource("sample:library_en"))
    assert table.subject == ""  # of no model
    with pytest.raises(ValueError, match="require_masks"):
        InlineEngine().ask(Explorer.require_masks)


def test_names_are_put_in_the_place_of_what_only_a_worker_has(client):
    first, second = Texts("ab ba"), Texts("cab")
    here = client.ask(Trace.only)(MODEL, first, ("attention_probs",)).attention_probs
    inside = client.ask(attention_matrix)(MODEL, first, "head", 1, 2)
    np.testing.assert_array_equal(inside, here[1, 2])
    assert client.ask(compare_heads)(MODEL, first, MODEL, second).shape == (3, 6)
    norms = client.ask(word_norms)(MODEL)
    assert norms.shape == (len(client.ask(vocabulary)(MODEL)),)
    points = client.ask(vectors_at)(MODEL, ("ab", "ba"), "cls", 0)
    assert points.shape[0] == 2
    assert client.ask(nearest_words)(MODEL, "ab", 3).neighbours.words


def test_an_equal_question_runs_the_network_once(client):
    text = "zab [MASK] cab"
    before = client.ask(forward_count)()
    client.ask(Trace.only)(MODEL, Texts(text), ("hidden_states",))
    client.ask(Trace.only)(MODEL, Texts(text), ("attention_probs",))
    assert client.ask(forward_count)() == before + 1


@pytest.mark.parametrize(
    ("text", "pair", "cut"),
    [(TEXT + " a", None, False), (TEXT, "b", False), (TEXT + " a" * 30, None, True)],
)
def test_another_question_is_not_answered_from_the_cache(client, text, pair, cut):
    other = client.ask(Explorer.predict_masks)(MODEL, text, pair, cut)
    assert other.tokenized.text == text
    assert other.tokenized.pair == pair
    assert other.tokenized.was_cut == cut


def test_what_a_user_can_mend_comes_as_it_was_raised(client):
    with pytest.raises(TextError, match=r"no \[MASK\]"):
        client.ask(Explorer.predict_masks)(MODEL, "abc")
    with pytest.raises(TextError) as caught:
        client.ask(Explorer.tokenize)(MODEL, "a " * 30)
    assert caught.value.details["max_tokens"] == 19
    with pytest.raises(CheckpointError):
        client.ask(Explorer.info)("/no/such/folder")


def test_a_part_that_does_not_exist_is_a_defect(client):
    with pytest.raises(EngineError) as caught:
        client.ask(Trace.only)(MODEL, Texts("abc"), ("attention",))
    assert caught.value.details == {"task": "Trace.only", "kind": "ValueError"}


def test_a_job_that_is_asked_again_is_answered_at_once(client):
    question = client.ask(score_sentence).about(MODEL, "ab ba")
    first = ended(client, client.start(question)).result
    before = client.ask(forward_count)()
    again = ended(client, client.start(question)).result
    assert client.ask(forward_count)() == before
    np.testing.assert_array_equal(first.log_probs, again.log_probs)


def test_a_model_that_cannot_be_loaded_is_tried_again_when_it_can(client, tmp_path):
    model = tmp_path / "late"
    with pytest.raises(CheckpointError):
        client.ask(Explorer.info)(str(model))
    model.symlink_to(HF)
    assert client.ask(Explorer.info)(str(model)).config.hidden_size == 30


def test_no_more_models_stay_open_than_the_limit_says(tmp_path):
    client = InlineEngine()
    for name in ("a", "b", "c"):
        (tmp_path / name).symlink_to(HF)
        client.ask(Explorer.predict_masks)(str(tmp_path / name), TEXT)
    assert len(memory.EXPLORERS.values()) == DEFAULT_MAX_MODELS
    client.close()


def test_a_text_beyond_all_measure_is_refused_before_it_is_split(client):
    with pytest.raises(TextError) as caught:
        client.ask(Explorer.tokenize)(MODEL, "a" * 150_000, "b" * 50_001, True)
    assert caught.value.details == {"num_characters": 200_001, "limit": 200_000}
    assert client.ask(Explorer.tokenize)(MODEL, "a " * 100_000, None, True).was_cut


def test_a_model_that_changed_on_the_disk_is_read_anew(client, tmp_path):
    model, weights = hf_copy(tmp_path), weights_of_hf()
    logits, norms = _numbers(client, model)
    for name in ("bert.embeddings.word_embeddings", "cls.predictions.decoder"):
        if f"{name}.weight" in weights:
            weights[f"{name}.weight"] *= 2
    other = hf_copy(tmp_path, weights, name="other")
    os.replace(other / "model.safetensors", model / "model.safetensors")
    new_logits, new_norms = _numbers(client, model)
    assert np.abs(new_logits - logits).max() > 0.01
    np.testing.assert_allclose(new_norms, 2 * norms, rtol=1e-6)
    np.testing.assert_array_equal(_numbers(client, model)[0], new_logits)


def _numbers(client, model):
    return (
        client.ask(Explorer.predict_masks)(str(model), TEXT).logits,
        np.asarray(client.ask(word_norms)(str(model))),
    )


def test_of_a_model_that_changed_the_older_one_is_dropped(client, tmp_path):
    client.ask(Explorer.info)(MODEL)
    model = hf_copy(tmp_path)
    for note in ("first", "second"):
        client.ask(Explorer.info)(str(model))
        edit_config(model, note=note)
    client.ask(Explorer.info)(str(model))
    kept = [explorer.model_id for explorer in memory.EXPLORERS.values()]
    assert kept == [MODEL, str(model)]


def test_the_weight_of_an_answer_is_that_of_its_arrays_and_texts(client):
    parts = ("hidden_states", "attention_probs")
    for text, size in (("ab", 4), ("ab ba be bi bo", 8)):
        trace = client.ask(Trace.only)(MODEL, Texts(text), parts)
        assert trace.attention_probs.shape == (3, 6, size, size)
        arrays = 4 * (3 * 6 * size * size + 4 * size * 30)
        assert 0 <= memory.num_bytes(trace) - arrays - len(MODEL) < 50 * size
    text = "ab " * 5_000
    answer = client.ask(Trace.only)(MODEL, Texts(text), ("pooled_output",))
    assert memory.num_bytes(answer) > len(text)
    assert memory.num_bytes(("ab", ["c", {"d": np.zeros(3)}], None, 5)) == 28
    key = ("trace", MODEL, Texts(text), version_of(MODEL))
    value, weight = memory.ANSWERS._kept[key]
    assert weight > memory.num_bytes(value) + len(text)


def test_words_are_asked_of_one_table_until_the_model_is_forgotten(
    client, tmp_path, monkeypatch
):
    model, read = hf_copy(tmp_path), []
    digest_of = stored_maps.digest_of
    monkeypatch.setattr(
        stored_maps, "digest_of", lambda vectors: read.append(1) or digest_of(vectors)
    )
    for num_axes in (2, 3, 2):
        assert client.ask(vocabulary_map)(str(model), num_axes, "tsne") is None
    kept = memory.WORDS.values()[-1]
    client.ask(nearest_words)(str(model), "ab")
    assert memory.WORDS.values()[-1] is kept
    assert len(read) == 1
    # Other weights in the same place have a map of their own.
    os.utime(model / "model.safetensors", ns=(1, 1))
    assert client.ask(vocabulary_map)(str(model), 2, "tsne") is None
    assert len(read) == 2
    kept = memory.WORDS.values()[-1]
    memory.forget(str(model))
    assert all(words is not kept for words in memory.WORDS.values())


def all_tasks():
    """Every function of the core that is marked as one."""
    core = Path(bertviz_core.__file__).parent
    for path in sorted(core.rglob("*.py")):
        if "@task(" in path.read_text("utf-8"):
            name = ".".join(path.with_suffix("").relative_to(core.parent).parts)
            module = vars(importlib.import_module(name))
            classes = [vars(one) for one in module.values() if isinstance(one, type)]
            for one in (one for own in (module, *classes) for one in own.values()):
                if getattr(one, "__module__", "") == name and hasattr(one, "task"):
                    yield one


def test_every_task_takes_first_what_only_a_worker_has():
    """Else its caller's arguments would be taken for names of models."""
    tasks, provided = list(all_tasks()), set(questions._PROVIDED)
    assert len(tasks) > 90
    for task in tasks:
        kinds = list(questions._kinds(task).values())
        firsts = list(itertools.takewhile(provided.__contains__, kinds))
        assert not provided & set(kinds[len(firsts) :]), task


def test_the_environment_chooses_the_engine(monkeypatch):
    monkeypatch.setenv("BERTVIZ_ENGINE", "inline")
    client = connect()
    assert type(client) is InlineEngine
    client.close()
    monkeypatch.setenv("BERTVIZ_ENGINE", "rocket")
    with pytest.raises(EngineError, match="rocket"):
        connect()


def test_uploads_are_listed_apart_from_the_models(client, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "mine"), "zip", HF)
    entry = client.ask(add_upload)(archive, "mine")
    assert client.ask(earlier_uploads)() == (entry,)
    assert entry not in client.ask(models)()


@pytest.fixture
def engine():
    engine = InlineEngine()
    yield engine
    engine.close()


def test_a_defect_becomes_a_sentence_and_its_traceback_goes_to_the_log(engine, caplog):
    with pytest.raises(EngineError) as caught:
        engine.ask(tasks.break_on)(secret="hunter2")
    assert caught.value.details == {"task": "break_on", "kind": "KeyError"}
    assert "hunter2" not in str(caught.value)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "in break_on" in caplog.text


@pytest.mark.parametrize("name", ["no_such_task", "wait_until"])
def test_a_task_that_is_none_is_a_defect(engine, name):
    with pytest.raises(EngineError) as caught:
        engine.call(Question(f"{tasks.__name__}:{name}"))
    assert caught.value.details["task"] == name


def test_a_job_that_nobody_asks_for_is_stopped(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "LOOK_SECONDS", 0.01)
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    job_id = start(engine, tasks.run_for_ever, started, stopped)
    wait_until(started.exists)
    job = engine._jobs.get(job_id)

    def is_stopped():
        # Each time, as the first look of all renews the leases.
        job.asked_at = time.monotonic() - LEASE_SECONDS - 1.0
        return job.status.is_finished

    wait_until(is_stopped)
    assert "no page had been waiting" in str(engine.job(job_id).error)
    wait_until(stopped.exists)


def test_a_sleep_of_the_machine_renews_the_leases_of_jobs(
    engine, tmp_path, monkeypatch
):
    clock = SimpleNamespace(now=time.time())
    clock.time = lambda: clock.now
    monkeypatch.setattr(engine_module, "time", clock)
    monkeypatch.setattr(engine_module, "LOOK_SECONDS", 0.01)
    job_id = start(engine, tasks.count, 2, tmp_path / "gate")
    wait_until(lambda: running(engine, job_id))
    job = engine._jobs.get(job_id)
    asked_at = job.asked_at
    clock.now += 3600.0
    wait_until(lambda: job.asked_at > asked_at)
    (tmp_path / "gate").touch()
    assert ended(engine, job_id).result == 2


def test_jobs_run_one_at_a_time_and_a_waiting_one_can_be_cancelled(engine, tmp_path):
    gate = tmp_path / "gate"
    first = start(engine, tasks.count, 2, gate)
    wait_until(lambda: running(engine, first))
    second = start(engine, tasks.count, 4, gate)
    third = start(engine, tasks.run_for_ever, tmp_path / "a", tmp_path / "b")
    assert engine.job(second).state == "waiting"
    engine.cancel(third)
    gate.touch()
    assert [ended(engine, job).result for job in (first, second, third)] == [2, 4, None]
    assert not (tmp_path / "a").exists()


def test_a_closed_engine_stops_its_jobs_and_says_so(tmp_path):
    engine = InlineEngine()
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    job_id = start(engine, tasks.run_for_ever, started, stopped)
    wait_until(started.exists)
    engine.close()
    engine.close()
    wait_until(stopped.exists)
    assert engine.job(job_id).state == "cancelled"
    with pytest.raises(EngineError, match="shutting down"):
        engine.ask(tasks.echo)(value=5)
