"""Answers are kept for who asks the same, and forgotten with a download."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.engine.finetuned_tasks import compare_layers
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.engine.questions import Outcome
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.experiments.vocabulary_maps import vocabulary_map
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts
from bertviz_core.visitor_files import MODEL as MODEL_FOLDER
from bertviz_core.visitor_files import REQUEST, RUN_PREFIX, RUNS, place_of
from pages.shared import answers
from pages.shared.answers import ask, ask_anew_if_changed
from pages.shared.engine import client

MODEL = "own-model"


@pytest.fixture
def asked(client):
    """What the engine is asked; it answers with how often that was."""
    asked = []
    client.call = lambda question: asked.append(question) or np.array([len(asked)])
    return asked


def test_the_engine_is_asked_once_for_the_same(asked):
    for head in (0, 1, 0):
        ask(attention_matrix)(MODEL, Texts("ab"), "head", 0, head)
    assert [question.args[-1] for question in asked] == [0, 1]


def test_what_a_page_will_ask_comes_in_one_go_and_an_error_where_it_is_asked(
    monkeypatch,
):
    asked, engine = [], client()

    def call(question):
        asked.append(question.name)
        return engine._run(question).unwrap()

    monkeypatch.setattr(engine, "call", call)
    answers.forget_models()
    wanted, empty = (
        ask(Explorer.tokenize).about(DEFAULT_MODEL, text) for text in ("a cat", " ")
    )
    masks = ask(Explorer.predict_masks).about(DEFAULT_MODEL, "a [MASK]")
    answers.fetch(wanted, masks, empty)
    assert asked == ["answer_all"]
    assert answers.answer(wanted).text == "a cat"
    assert answers.answer(masks).positions.tolist() == [2]
    assert asked == ["answer_all"]
    with pytest.raises(TextError, match="is empty"):
        answers.answer(empty)
    answers.fetch(wanted, masks, empty)  # one alone gains nothing
    assert asked == ["answer_all", "Explorer.tokenize"]


def test_who_asks_the_same_at_once_waits_for_one_answer(client):
    calls, is_asked = [], threading.Event()

    def call(question):
        calls.append(question.name)
        assert is_asked.wait(60)
        return tuple(Outcome(value) for value in "ab")

    client.call = call
    questions = [ask(vocabulary).about(MODEL), ask(Explorer.info).about(MODEL)]
    with ThreadPoolExecutor(3) as pool:
        visits = [pool.submit(answers.fetch, *questions) for _ in range(3)]
        while not calls or any(not visit.running() for visit in visits):
            time.sleep(0.01)
        time.sleep(0.1)
        is_asked.set()
        for visit in visits:
            visit.result(60)
    assert calls == ["answer_all"]
    assert [answers.answer(question) for question in questions] == ["a", "b"]
    assert calls == ["answer_all"]


def test_a_page_asks_anew_after_a_download(asked):
    assert ask(vocabulary)(MODEL) == ask(vocabulary)(MODEL) == 1
    answers.forget_models()
    assert ask(vocabulary)(MODEL) == 2


def test_nobody_can_write_into_what_others_are_shown(asked):
    with pytest.raises(ValueError, match="read-only"):
        ask(attention_matrix)(MODEL, Texts("ab"), "head", 0, 0)[0] = 5


def test_that_there_is_none_yet_is_not_kept(client):
    given = [None, "a map"]
    client.call = lambda question: given.pop(0)
    assert ask(vocabulary_map)(MODEL, 2, "tsne") is None
    assert ask(vocabulary_map)(MODEL, 2, "tsne") == "a map"


def test_a_model_that_changed_on_the_disk_is_asked_about_anew(asked, tmp_path):
    config, model = tmp_path / "config.json", str(tmp_path)
    for content, file in (("{}", config), ('{"vocab_size": 5}', config)):
        before = len(asked)
        file.write_text(content)
        for _ in range(2):
            ask_anew_if_changed(model)
            ask(Explorer.info)(model)
        assert len(asked) == before + 1
    (tmp_path / "training.log").write_text("no part of the model")
    ask_anew_if_changed(model)
    ask(Explorer.info)(model)
    assert len(asked) == 2


def test_a_page_looks_whether_the_folder_of_its_model_has_changed(
    open_app, client, tmp_path
):
    config, model, asked = tmp_path / "config.json", str(tmp_path), []
    config.write_text("{}")
    describe = client.info
    client.info = lambda name: asked.append(name) or describe(DEFAULT_MODEL)
    app = open_app("models", model=model)
    app.run()
    assert not app.exception
    assert asked.count(model) == 1
    config.write_text('{"vocab_size": 5}')
    app.run()
    app.run()
    assert asked.count(model) == 2


def test_a_run_that_went_on_is_asked_about_anew(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    run = "0" * 32
    folder = place_of(RUNS) / run / MODEL_FOLDER
    folder.mkdir(parents=True)
    (folder.parent / REQUEST).write_text("{}")
    questions = [
        ask(training_outcome).about(run),
        ask(Explorer.info).about(f"{RUN_PREFIX}{run}"),
        ask(compare_layers).about(run, "cls"),
    ]
    for content in ("{}", '{"vocab_size": 5}'):
        (folder / "config.json").write_text(content)
        for question in [*questions, *questions]:
            answers.answer(question)
    assert asked == questions * 2
    # A job, too, asks anew where this changes.
    assert {question.subject for question in questions} == {f"{RUN_PREFIX}{run}"}
