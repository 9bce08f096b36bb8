"""The real tasks on a small model of random weights, inline and in a worker."""

import importlib
import inspect
import os
import pkgutil
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from bertviz_core import engine
from bertviz_core.engine import connect
from bertviz_core.engine.client import Client
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.memory_limits import DEFAULT_MAX_MODELS
from bertviz_core.errors import CheckpointError, EngineError, TextError
from tests.core.checkpoint_copies import HF, edit_config, hf_copy, weights_of_hf
from tests.core.engine_waiting import ended

MODEL = str(HF)
TEXT = "ab cab [MASK] ba"


class RememberingEngine(InlineEngine):
    """Answers with the question."""

    def call(self, task, **arguments):
        return {"task": task, **arguments}


@pytest.fixture(scope="module")
def inline():
    client = Client(InlineEngine())
    yield client
    client.close()


@pytest.fixture(scope="module")
def cluster():
    client = Client(ClusterEngine())
    yield client
    client.close()


@pytest.fixture(params=["inline", "cluster"])
def client(request):
    return request.getfixturevalue(request.param)


def test_every_task_can_be_asked():
    from bertviz_core.engine import tasks

    modules = [
        importlib.import_module(f"{engine.__name__}.{info.name}")
        for info in pkgutil.iter_modules(engine.__path__)
        if info.name.endswith("_tasks") and info.name != "training_tasks"
    ]
    public = {
        name: task
        for module in modules
        for name, task in inspect.getmembers(module, inspect.isfunction)
        if task.__module__ == module.__name__ and not name.startswith("_")
    }
    assert len(public) > 60
    assert public == tasks.TASKS | tasks.JOB_TASKS
    assert not tasks.TASKS.keys() & tasks.JOB_TASKS.keys()
    for name, task in public.items():
        is_job = next(iter(inspect.signature(task).parameters), "") == "progress"
        assert is_job == (name in tasks.JOB_TASKS), name


def test_a_method_of_the_client_is_called_like_its_task():
    from bertviz_core.engine import tasks

    for name, task in tasks.TASKS.items():
        if name != "warm_up":
            assert getattr(Client, name) is task
    client = Client(RememberingEngine())
    assert client.tokenize("m", "a text", cut=True) == {
        "task": "tokenize", "model": "m", "text": "a text", "cut": True
    }  # fmt: skip
    with pytest.raises(TypeError, match="no_such"):
        client.tokenize("m", "a text", no_such=1)


def test_a_worker_answers_as_this_process_does(inline, cluster):
    parts = ("hidden_states", "attention_probs", "pooled_output", "nsp_logits")
    for client in (inline, cluster):
        assert client.tokenize(MODEL, TEXT).mask_positions.size == 1
    here = inline.trace(MODEL, TEXT, "abc", parts=parts)
    there = cluster.trace(MODEL, TEXT, "abc", parts=parts)
    assert here.tokenized.tokens == there.tokenized.tokens
    for part in parts:
        np.testing.assert_allclose(
            getattr(here, part), getattr(there, part), rtol=0, atol=1e-6
        )
    np.testing.assert_allclose(
        inline.predict_masks(MODEL, TEXT).logits,
        cluster.predict_masks(MODEL, TEXT).logits,
        rtol=0,
        atol=1e-5,
    )


def test_the_model_is_described(client):
    info = client.describe_model(MODEL)
    assert info.config["num_hidden_layers"] == 3
    assert info.report.kind == "huggingface"
    assert client.vocabulary(MODEL)[4] == "[MASK]"
    assert len(client.vocabulary(MODEL)) == 61


def test_only_the_parts_that_were_asked_for_come_back(client):
    trace = client.trace(MODEL, "abc", parts=("attention_probs",))
    assert trace.attention_probs.shape[:2] == (3, 6)
    assert trace.hidden_states is None
    assert trace.pooled_output is None


def test_answers_cannot_be_changed_by_who_gets_them(client):
    answer = client.predict_masks(MODEL, TEXT)
    with pytest.raises(ValueError, match="read-only"):
        answer.logits[0, 0] = 1


def test_an_equal_question_runs_the_network_once(client):
    text = "zab [MASK] cab"
    before = client.forward_count()
    first = client.predict_masks(MODEL, text)
    again = client.predict_masks(MODEL, text)
    assert client.forward_count() == before + 1
    np.testing.assert_array_equal(first.logits, again.logits)
    client.trace(MODEL, text, parts=("hidden_states",))
    client.trace(MODEL, text, parts=("attention_probs",))
    assert client.forward_count() == before + 2


@pytest.mark.parametrize(
    ("text", "pair", "cut"),
    [(TEXT + " a", None, False), (TEXT, "b", False), (TEXT + " a" * 30, None, True)],
)
def test_another_question_is_not_answered_from_the_cache(client, text, pair, cut):
    other = client.predict_masks(MODEL, text, pair, cut)
    assert other.tokenized.text == text
    assert other.tokenized.pair == pair
    assert other.tokenized.was_cut == cut


def test_what_a_user_can_mend_comes_as_it_was_raised(client):
    with pytest.raises(TextError, match=r"no \[MASK\]"):
        client.predict_masks(MODEL, "abc")
    with pytest.raises(TextError) as caught:
        client.tokenize(MODEL, "a " * 30)
    assert caught.value.details["max_tokens"] == 19
    with pytest.raises(CheckpointError):
        client.describe_model("/no/such/folder")


def test_a_part_that_does_not_exist_is_a_defect(client):
    with pytest.raises(EngineError) as caught:
        client.trace(MODEL, "abc", parts=("attention",))
    assert caught.value.details == {"task": "trace", "kind": "ValueError"}


def test_a_model_is_converted_by_a_job(client, tmp_path):
    target = tmp_path / "converted"
    job = client.start("convert", source=MODEL, destination=str(target))
    status = ended(client, job)
    assert (status.state, status.result, status.error) == ("done", str(target), None)
    text = "ab ba"
    parts = ("hidden_states",)
    np.testing.assert_array_equal(
        client.trace(str(target), text, parts=parts).hidden_states,
        client.trace(MODEL, text, parts=parts).hidden_states,
    )


def test_a_crowd_of_first_questions_loads_the_model_once(monkeypatch, tmp_path):
    from bertviz_core.engine import memory
    from bertviz_core.explorer import Explorer

    model = str(tmp_path / "linked")
    Path(model).symlink_to(HF)
    opened, original = [], Explorer.open
    monkeypatch.setattr(
        Explorer, "open", lambda name: opened.append(name) or original(name)
    )
    client = Client(InlineEngine())
    together = threading.Barrier(5)

    def ask(number):
        together.wait()
        client.predict_masks(model, "ab [MASK]" + " a" * number)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert opened == [model]
    assert model in {explorer.model_id for explorer in memory.EXPLORERS.values()}


def test_a_model_that_cannot_be_loaded_is_tried_again_when_it_can(client, tmp_path):
    model = tmp_path / "late"
    with pytest.raises(CheckpointError):
        client.describe_model(str(model))
    model.symlink_to(HF)
    assert client.describe_model(str(model)).config["hidden_size"] == 30


def test_dropped_models_stay_in_the_count(tmp_path):
    client = Client(InlineEngine())
    before = client.forward_count()
    for name in ("a", "b", "c"):
        (tmp_path / name).symlink_to(HF)
        client.predict_masks(str(tmp_path / name), TEXT)
    from bertviz_core.engine import memory

    assert len(memory.EXPLORERS.values()) == DEFAULT_MAX_MODELS
    assert client.forward_count() == before + 3
    client.close()


def test_the_weight_of_an_answer_is_that_of_its_arrays(inline):
    from bertviz_core.engine import memory

    parts = ("hidden_states", "attention_probs")
    small, large = (
        inline.trace(MODEL, text, parts=parts) for text in ("ab", "ab ba be bi bo")
    )
    for trace, size in ((small, 4), (large, 8)):
        assert trace.attention_probs.shape == (3, 6, size, size)
        arrays = 4 * (3 * 6 * size * size + 4 * size * 30)
        assert 0 <= memory.num_bytes(trace) - arrays - len(MODEL) < 50 * size


def test_text_counts_in_the_weight_of_an_answer(inline):
    from bertviz_core.engine import memory

    text = "ab " * 5_000
    answer = inline.trace(MODEL, text, None, True, ("pooled_output",))
    assert memory.num_bytes(answer) > len(text)
    assert memory.num_bytes(("ab", ["c", {"d": np.zeros(3)}], None, 5)) == 28
    numbers = memory.ANSWERS._kept[("trace", MODEL, text, None, True, _version())]
    assert numbers[1] > memory.num_bytes(numbers[0]) + len(text)


def _version():
    from bertviz_core.checkpoints.versions import version_of

    return version_of(MODEL)


def test_a_text_beyond_all_measure_is_refused_before_it_is_split(client):
    with pytest.raises(TextError) as caught:
        client.tokenize(MODEL, "a" * 150_000, "b" * 50_001, True)
    assert caught.value.details == {"num_characters": 200_001, "limit": 200_000}
    assert client.tokenize(MODEL, "a " * 100_000, None, True).was_cut


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
        client.predict_masks(str(model), TEXT).logits,
        np.asarray(client.word_norms(str(model))),
    )


def test_of_a_model_that_changed_the_older_one_is_dropped(inline, tmp_path):
    from bertviz_core.engine import memory

    inline.describe_model(MODEL)
    model = hf_copy(tmp_path)
    for note in ("first", "second"):
        inline.describe_model(str(model))
        edit_config(model, note=note)
    inline.describe_model(str(model))
    kept = [explorer.model_id for explorer in memory.EXPLORERS.values()]
    assert kept == [MODEL, str(model)]


def test_the_question_after_the_death_of_a_worker_loads_the_model_anew(cluster):
    before = cluster.predict_masks(MODEL, TEXT).logits
    (process,) = cluster._engine._connection().client.run(os.getpid).values()
    os.kill(process, signal.SIGKILL)
    after = cluster.predict_masks(MODEL, TEXT).logits
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    assert cluster.forward_count() == 1  # in another process, with the model anew


def test_the_environment_chooses_the_engine(monkeypatch):
    monkeypatch.setenv("BERTVIZ_ENGINE", "inline")
    client = connect()
    assert type(client._engine) is InlineEngine
    client.close()


def test_an_engine_that_does_not_exist_is_a_sentence(monkeypatch):
    monkeypatch.setenv("BERTVIZ_ENGINE", "rocket")
    with pytest.raises(EngineError, match="rocket"):
        connect()


def test_uploads_are_listed_apart_from_the_models(inline, tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    archive = shutil.make_archive(str(tmp_path / "mine"), "zip", HF)
    entry = inline.add_upload(archive, "mine")
    assert inline.earlier_uploads() == (entry,)
    assert entry not in inline.models()


def test_names_on_the_hub_are_suggested(inline):
    assert {"hub"} == {entry.origin for entry in inline.suggested_models()}
