"""Steps 4 to 6 of the fine-tuning page, with a run whose numbers are known."""

import dataclasses
import re

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.jobs import MAX_WAITING
from bertviz_core.errors import TrainingError
from bertviz_core.experiments.after_training import WeightChange
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.point_map import FirstChoice
from bertviz_core.trace import TrainedInputs
from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.checks import DataRow
from bertviz_core.training.finetune.evaluation import compare, evaluate_classes
from bertviz_core.training.finetune.request import TableSource
from bertviz_core.training.finetune.temperature import Temperature, with_temperature
from bertviz_core.training.finetune.visitor_tables import Mending
from pages.attention import comparison
from pages.fine_tune import before_and_after, mend_rows, state
from pages.fine_tune.before_and_after import PANELS as COMPARE_PANELS
from pages.fine_tune.step_evaluate import CLASS_PANELS, NUMBER_PANELS
from pages.fine_tune.step_try import EXAMPLES
from pages.fine_tune.step_try import PANELS as TRY_PANELS
from pages.shared import answers
from tests.app.fake_client import CONFIG
from tests.app.finished_runs import (
    LABELS,
    MODEL,
    RUN,
    SAID,
    TARGETS,
    TEXTS,
    RunClient,
    class_report,
    number_report,
)
from tests.app.real_pages import enter, has, specs
from tests.core.sent_figures import numbers

SECOND, THIRD, WAITING = "cd" * 16, "ef" * 16, "12" * 16
LOCALES = {"en": "en-GB", "zh": "zh-CN"}


@pytest.fixture
def made_client(tmp_path):
    return RunClient(tmp_path)


@pytest.fixture
def open_step(open_app):
    def open_one(step, language="en", **query):
        query = {"ft_step": step, "ft_run_id": RUN} | query
        app = open_app("fine_tune", LOCALES[language], **query)
        assert not app.exception
        return app

    return open_one


def offered_files(app):
    kinds = ("link_button", "download_button")
    return {element.key for kind in kinds for element in app.get(kind)}


def tables(app):
    return [frame.value for frame in app.dataframe]


MEAN_OFF = np.mean(np.abs([1, 2, 3, 4, 5, 60, 7, 8, 9, 1, 2]))


@pytest.mark.parametrize(
    ("step", "key", "panels", "is_regression", "metric"),
    [
        ("evaluate", "ft_eval_panel", CLASS_PANELS, False, "81.8%"),  # 9 of 11
        ("evaluate", "ft_eval_panel", NUMBER_PANELS, True, f"{MEAN_OFF:.4g}"),
        ("try", "ft_try_panel", TRY_PANELS, False, None),
        ("try", "ft_compare_panel", COMPARE_PANELS, True, "12.5"),
    ],
)
def test_every_panel_opens(open_step, client, step, key, panels, is_regression, metric):
    client.is_regression = is_regression
    *_, last = panels
    app = open_step(step, "zh", **{key: last})
    assert app.get_by_key(key).value == last
    for panel in panels:
        app.get_by_key(key).set_value(panel).run()
        assert not (*app.exception, *app.error), panel
        assert metric is None or app.metric[0].value == metric


def test_predicted_numbers_stand_beside_the_mean(open_step, client, shown):
    client.is_regression = True
    app = open_step("evaluate", ft_eval_panel="baselines")
    low, high = number_report().mae_interval
    assert app.metric[0].delta == f"95%: {low:.4g} to {high:.4g}"
    said = shown(app).replace("\\", "")
    assert re.search("always the mean.*9.273 against 27.27", said)


def test_the_model_stands_beside_simple_methods_with_intervals(open_step, shown):
    app = open_step("evaluate")
    assert any(re.search(r"\D4\D+7\D", caption.value) for caption in app.caption)
    accuracy, macro = specs(app)[0]["data"]
    np.testing.assert_allclose(numbers(accuracy["x"]), [9 / 11, 4 / 11, 1])
    assert len(numbers(accuracy["error_x"]["array"])) == 3
    assert "No clear difference from “word counts \\(TF\\-IDF\\)”" in shown(app)
    report = class_report()
    low, high = report.macro_f1_interval
    found = numbers(macro["x"])[0]
    assert found == pytest.approx(report.macro_f1)
    assert numbers(macro["error_x"]["arrayminus"])[0] == pytest.approx(found - low)
    assert app.metric[1].delta == f"95%: {low:.1%} to {high:.1%}"
    assert high > low


@pytest.fixture
def with_outcome(client, monkeypatch):
    """Changes what is known of the run."""
    known = client.training_outcome

    def change(**changes):
        recipe = known(RUN).recipe | changes.pop("recipe", {})

        def outcome(run_id):
            found = dataclasses.replace(known(run_id), recipe=recipe, **changes)
            comparisons = tuple(
                compare(found.report, one.report, recipe["compared_by"])
                for one in found.baselines
            )
            return dataclasses.replace(found, comparisons=comparisons)

        monkeypatch.setattr(client, "training_outcome", outcome)
        answers.forget_models()

    return change


def one_rare_class():
    """A model that finds both rows of a rare class, and calls 15 others by it.

    Always the commonest class is right 98 times of 100, the model 85 times.
    """
    targets = np.repeat([0, 1], [98, 2])
    said = np.where(np.arange(100) < 15, 1, targets)

    def judged(predicted):
        shares = np.full((100, 2), 0.25)
        shares[np.arange(100), predicted] = 0.75
        return evaluate_classes(("ham", "spam"), targets, shares, np.arange(2, 102))

    return judged(said), (Baseline("majority", judged(np.zeros(100, int))),)


def test_a_run_of_weighed_classes_is_compared_by_macro_f1(
    open_step, with_outcome, shown
):
    report, baselines = one_rare_class()
    recipe = {"compared_by": "macro_f1"}
    with_outcome(report=report, baselines=baselines, recipe=recipe)
    said = shown(open_step("evaluate")).replace("\\", "")
    assert "Worse than" not in said
    assert f"macro-F1 {report.macro_f1:.1%}" in said


@pytest.mark.parametrize(
    ("sure", "num_right", "said"),
    [
        # Of ten rows each. The means agree in the first two; only the second is true
        # at each certainty.
        ((0.95, 0.55), (7, 8), "at some levels"),
        ((0.9, 0.6), (9, 6), "can be trusted"),
        ((0.95, 0.95), (6, 6), "is overconfident."),
        ((0.55, 0.55), (9, 9), "is underconfident."),
    ],
)
def test_the_words_beside_the_chart_of_certainty_agree_with_it(
    open_step, with_outcome, shown, sure, num_right, said
):
    top = np.repeat(sure, 10)
    is_right = np.concatenate([np.arange(10) < count for count in num_right])
    shares = np.stack([top, 1 - top], axis=1)
    targets = np.where(is_right, 0, 1)
    report = evaluate_classes(LABELS[:2], targets, shares, np.arange(20))
    with_outcome(report=report, baselines=(), labels=LABELS[:2])
    assert said in shown(open_step("evaluate", ft_eval_panel="calibration"))


@pytest.fixture
def look_at(client, monkeypatch):
    """Chooses the usual run or another beside it, whose rows have two texts."""
    status, outcome = client.training(RUN), client.training_outcome(RUN)

    def rows(run, indices):
        pair = "second" if run == SECOND else None
        return tuple(DataRow(i + 2, f"row {i} of {run}", pair, "x") for i in indices)

    def outcome_of(run):
        return dataclasses.replace(outcome, run_id=run, has_pairs=run == SECOND)

    monkeypatch.setattr(
        client, "training", lambda run: dataclasses.replace(status, run_id=run)
    )
    monkeypatch.setattr(client, "training_outcome", outcome_of)
    monkeypatch.setattr(client, "report_rows", rows)

    def choose(app, run):
        def read(model):
            return state.remember(model=model, run_id=run)

        with monkeypatch.context() as patch:
            patch.setattr(state, "read_state", read)
            app.run()
        app.run()
        assert not app.exception

    return choose


@pytest.mark.parametrize(
    ("place", "kind"), [("try", "text_area"), ("compare", "text_input")]
)
def test_another_run_brings_its_own_text(open_step, look_at, shown, place, kind):
    app = open_step("try", ft_compare_panel="heads")

    def box(name="text"):
        return getattr(app, kind)(key=f"ft_{place}_{name}")

    assert box().value == f"row 0 of {RUN}"
    look_at(app, SECOND)
    assert box().value == f"row 0 of {SECOND}"
    assert box("pair").value == "second"
    assert "There is no text yet" not in shown(app)
    look_at(app, RUN)
    assert box().value == f"row 0 of {RUN}"
    box().set_value("my own").run()
    look_at(app, SECOND)
    assert box().value == "my own"


def test_another_row_of_a_run_makes_way_for_another_run_too(open_step, look_at):
    app = open_step("try")
    app.text_area(key="ft_try_text").set_value("my own").run()
    app.button(key="ft_try_another").click().run()
    assert app.text_area(key="ft_try_text").value == f"row 1 of {RUN}"
    assert app.query_params["ft_try_row"] == "1"
    again = open_step("try", ft_try_row="1")
    assert again.text_area(key="ft_try_text").value == f"row 1 of {RUN}"
    look_at(app, SECOND)
    assert app.text_area(key="ft_try_text").value == f"row 0 of {SECOND}"
    assert not {"ft_try_row", "ft_try_text"} & {*app.query_params}
    app.button(key="ft_try_another").click().run()
    assert app.text_area(key="ft_try_text").value == f"row 1 of {SECOND}"


def test_another_run_begins_with_its_own_cell_and_threshold(open_step, look_at):
    app = open_step("evaluate", ft_eval_panel="confusion")
    enter(app, ft_eval_true="2", ft_eval_said="2")
    assert app.query_params["ft_eval_true"] == app.query_params["ft_eval_said"] == "2"
    look_at(app, SECOND)
    assert app.get_by_key("ft_eval_true").value == "0"
    assert app.get_by_key("ft_eval_said").value == "1"
    app.get_by_key("ft_eval_panel").set_value("threshold").run()
    usual = app.slider(key="ft_eval_threshold").value
    app.slider(key="ft_eval_threshold").set_value(usual + 20).run()
    app.run()
    assert app.slider(key="ft_eval_threshold").value == usual + 20
    look_at(app, RUN)
    assert app.slider(key="ft_eval_threshold").value == usual


def test_a_click_on_a_cell_is_the_choice_of_both_lists(open_step, shown):
    app = open_step("evaluate", ft_eval_panel="confusion")
    # At first the commonest mistake, the first in the order of reading.
    assert app.get_by_key("ft_eval_true").value == "0"
    assert app.get_by_key("ft_eval_said").value == "1"
    assert tables(app)[0]["row"].tolist() == [4]
    enter(app, ft_eval_true="2", ft_eval_said="2")
    expected = np.flatnonzero((TARGETS == 2) & (SAID == 2)) + 2
    assert sorted(tables(app)[0]["row"]) == expected.tolist()
    marks = specs(app)[0]["data"][1]
    assert marks["customdata"][5] == [1, 2]
    app.get_by_key("ft_eval_said").set_value("0").run()
    assert not tables(app)
    assert "rows: 0" in shown(app)


def test_labels_to_check_are_the_wrong_rows_the_surest_first(open_step, client, shown):
    app = open_step("evaluate", ft_eval_panel="mistakes")
    rows = tables(app)[0].rename(columns=lambda key: key.split(".")[1])
    assert rows["row"].tolist() == [8, 4]
    assert rows["label"].tolist() == ["*spam*", "ham"]
    assert rows["said_class"].tolist() == ["红", "*spam*"]
    assert app.button(key="ft_relabel_take").disabled
    client.report = class_report(TARGETS)
    answers.forget_models()
    app.run()
    assert not tables(app)
    assert "every row right" in shown(app)


@pytest.mark.parametrize("panel", ["mistakes", "largest"])
def test_a_corrected_label_leads_to_another_training(
    open_step, client, monkeypatch, panel
):
    client.is_regression = panel == "largest"
    app = open_step("evaluate", ft_eval_panel=panel)
    request = client.training(RUN).request
    asked = []

    def mended(*arguments):
        asked.append(arguments)
        return TableSource("file:" + "cd" * 16, "utf-8", ",", True)

    monkeypatch.setattr(client, "mend_table", mended, raising=False)
    with monkeypatch.context() as patch:
        changes = Mending(labels=((8, "红"),), dropped=(4,))
        patch.setattr(mend_rows, "mending_of", lambda *_: changes)
        app.run()
        label = "Correct 2 and train again"
        assert app.button(key="ft_relabel_take").label == label
        app.button(key="ft_relabel_take").click().run()
    assert not app.exception
    ((source, column, changed, _),) = asked
    assert (source, column) == (request.data.source, request.data.columns.label)
    assert changed == changes
    table = "file:" + "cd" * 16
    now = {"run_id": "", "table": table, "text": "message", "label": "topic"}
    state = app.session_state["ft_state"]
    assert {name: getattr(state, name) for name in now} == now
    assert app.session_state["ft_step"] == "train"


@pytest.mark.parametrize("is_own", [True, False])
def test_a_model_is_tried_by_a_link_for_reading(
    open_step, client, monkeypatch, shown, is_own
):
    status = dataclasses.replace(client.training(RUN), is_own=is_own)
    monkeypatch.setattr(client, "training", lambda _: status)
    app = open_step("try")
    assert not app.error
    assert "The model predicts" in shown(app)
    assert ("my books” was trained by someone else" in shown(app)) is not is_own
    links = [code.value for code in app.code if "ft_run_id" in code.value]
    assert len(links) == is_own
    assert all(RUN not in link and "ft_step=try" in link for link in links)
    # A link for reading only corrects no label.
    app = open_step("evaluate", ft_eval_panel="mistakes")
    column = mend_rows.LABEL if is_own else "true class"
    assert tables(app)[0][column].tolist() == ["*spam*", "ham"]
    assert has(app, "ft_relabel_take") == is_own
    # The path of its file holds the id of the run.
    assert ("model\\.zip" in shown(open_step("take"))) == is_own


def sure_report():
    """Ten rows of one certainty, six of which are right."""
    shares = np.tile([0.95, 0.05], (10, 1))
    return evaluate_classes(
        LABELS[:2], np.repeat([0, 1], [6, 4]), shares, np.arange(10)
    )


def test_a_temperature_is_shown_before_it_is_kept(
    open_step, client, with_outcome, monkeypatch, shown
):
    report = sure_report()
    with_outcome(report=report, baselines=(), labels=LABELS[:2])
    kept = []
    found = Temperature(6.0, 20)
    monkeypatch.setattr(client, "_fit_temperature", lambda _: found, raising=False)
    monkeypatch.setattr(
        client, "keep_temperature", lambda *asked: kept.append(asked), raising=False
    )
    app = open_step("evaluate", ft_eval_panel="calibration")
    assert len(specs(app)) == 1
    app.button(key="job_ft_eval_temperature_start").click().run()
    scaled = with_temperature(report.probabilities, 6.0)[0, 0]
    assert len(specs(app)) == 2
    assert f"35.0% before, {abs(scaled - 0.6):.1%} after" in shown(app)
    assert not kept
    app.button(key="ft_eval_keep_temperature").click().run()
    assert kept == [(RUN, found)]


def test_a_temperature_that_is_kept_is_told_and_offered_no_more(
    open_step, with_outcome, shown
):
    temperature = {
        "value": 2.5, "validation_rows": 20, "calibration_error_before": 0.4
    }  # fmt: skip
    recipe = {"validation_rows": 20, "temperature": temperature}
    report = sure_report()
    with_outcome(report=report, baselines=(), labels=LABELS[:2], recipe=recipe)
    app = open_step("evaluate", ft_eval_panel="calibration")
    assert "temperature 2.5" in shown(app)
    assert "40.0% before, 35.0% after" in shown(app)
    assert not has(app, "job_ft_eval_temperature_start")


@pytest.fixture
def three_runs(client, monkeypatch):
    """Two more runs with other seeds, one of them of other rows; and one that waits."""
    outcome, status = client.training_outcome(RUN), client.training(RUN)
    worse = class_report(np.zeros(11, int))
    reports = {RUN: outcome.report, SECOND: worse, THIRD: worse}
    rows = {RUN: "a", SECOND: "a", THIRD: "b"}
    seeds = {RUN: 1, SECOND: 2, THIRD: 3, WAITING: 4}
    curves = {RUN: [0.5, 0.75], SECOND: [0.6], THIRD: [0.625, 0.5]}

    def outcome_of(run):
        recipe = outcome.recipe | {"data_sha256": rows[run]}
        found = {"run_id": run, "report": reports[run], "recipe": recipe}
        return dataclasses.replace(outcome, **found)

    def status_of(run):
        settings = dataclasses.replace(status.request.settings, seed=seeds[run])
        request = dataclasses.replace(status.request, settings=settings)
        changes = {"run_id": run, "request": request, "metric_name": "accuracy"}
        if run == WAITING:
            changes |= {"state": "waiting", "model": None}
        changes["epochs"] = [[0.0] * 3 + [value] for value in curves.get(run, [])]
        return dataclasses.replace(status, **changes)

    monkeypatch.setattr(client, "training", status_of)
    monkeypatch.setattr(client, "training_outcome", outcome_of)
    return reports


def look_at_runs(open_step):
    app = open_step("evaluate", ft_eval_panel="runs")
    app.session_state["ft_earlier"] = tuple(
        (run, "books") for run in (WAITING, THIRD, SECOND, RUN)
    )
    app.run()
    assert not app.exception
    return app


def test_runs_stand_side_by_side_and_are_compared_pair_by_pair(
    open_step, three_runs, shown
):
    app = look_at_runs(open_step)
    settings, scores = tables(app)
    assert settings["training"].tolist() == ["this one", "2 · books", "3 · books"]
    assert settings["Seed"].tolist() == ["1", "2", "3"]
    first, second = three_runs[RUN], three_runs[SECOND]
    pair = compare(first, second, "accuracy")
    assert pair.only_first > pair.only_second
    assert scores["only this one right"].tolist() == ["–", str(pair.only_first), "–"]
    assert scores["only that one right"].tolist() == ["–", str(pair.only_second), "–"]
    assert scores["by chance"].tolist() == ["–", percent(pair.chance), "other rows"]
    values = [first.accuracy, second.accuracy]
    mean, spread = np.mean(values), np.std(values, ddof=1)
    expected = f"Mean accuracy {mean:.1%}, standard deviation {spread:.1%}"
    assert f"seed: 2. {expected}" in shown(app)
    assert "still running or waiting: 1" in shown(app)
    (curves,) = specs(app)
    assert [trace["name"] for trace in curves["data"]] == settings["training"].tolist()
    assert numbers(curves["data"][0]["y"]).tolist() == [0.5, 0.75]
    assert len({trace["line"]["dash"] for trace in curves["data"]}) == 3
    # Of what learned numbers no score can be held against these.
    three_runs[SECOND] = number_report()
    answers.forget_models()
    settings, _ = tables(app.run())
    assert settings["training"].tolist() == ["this one", "3 · books"]


def test_more_seeds_are_trained_in_one_go(open_step, client, three_runs, monkeypatch):
    started = []

    def start(request, owner):
        started.append(request)
        return f"{len(started):032x}"

    monkeypatch.setattr(client.trainings, "start", start)
    monkeypatch.setitem(three_runs, f"{1:032x}", three_runs[RUN])
    app = look_at_runs(open_step)
    monkeypatch.setattr(client.trainings, "status", lambda run: client.training(RUN))
    counts = app.selectbox(key="ft_seeds").options
    assert len(counts) == MAX_WAITING + 1  # one runs at once
    app.button(key="ft_seeds_start").click().run()
    assert [request.settings.seed for request in started] == [2, 3]
    before = client.training(RUN).request
    for request in started:
        assert (request.data, request.model) == (before.data, before.model)
        settings = dataclasses.replace(request.settings, seed=1)
        assert settings == before.settings
    assert started[0].title == "my books, seed 2"
    earlier = app.session_state["ft_earlier"]
    assert [run for run, _ in earlier[:2]] == [f"{2:032x}", f"{1:032x}"]


def test_a_threshold_answers_fewer_rows(open_step):
    app = open_step("evaluate", ft_eval_panel="threshold")
    # 0.9, 0.9, 0.95 and 0.9, of which 0.95 is wrong; then what nothing reaches.
    for least, expected in (
        (85, ["36.4%", "rows: 7", "75.0%"]), (100, ["0.0%", "rows: 11", "–"])
    ):  # fmt: skip
        app.slider(key="ft_eval_threshold").set_value(least).run()
        assert [metric.value for metric in app.metric][3:] == expected


def test_words_are_scored_for_the_class_that_is_chosen(open_step, client):
    app = open_step("try")
    assert app.text_area(key="ft_try_text").value == TEXTS[0]
    shares = numbers(specs(app)[0]["data"][0]["x"])
    np.testing.assert_allclose(shares, [0.75, 0.125, 0.125])
    assert ("read_text", MODEL, TEXTS[0], None) in client.calls
    bars = specs(app)[1]["data"][0]
    np.testing.assert_allclose(numbers(bars["x"])[1:3], [0.5, -0.25])
    app.selectbox(key="ft_try_class_1").set_value(2).run()
    asked = [call[2] for call in client.calls if call[:2] == ("start", "attribute")]
    assert [target.index for _, _, target in asked] == [1, 2]


def test_nearest_rows_have_labels_and_a_sentence(open_step, shown):
    app = open_step("try", ft_try_panel="nearest")
    assert tables(app)[0]["label"].tolist() == ["*spam*", "ham"]
    assert ": 1 of 2; rows searched: 37" in shown(app)


@pytest.mark.parametrize(("num_rows", "asks"), [(200_000, False), (2_000_000, True)])
def test_rows_that_the_engine_has_let_go_are_not_read_again_unasked(
    open_step, client, with_outcome, num_rows, asks
):
    with_outcome(recipe={"training_rows": num_rows})
    app = open_step("try", ft_try_panel="nearest")
    start = "job_ft_try_nearest_start"
    app.button(key=start).click().run()
    assert tables(app)
    app.text_area(key="ft_try_text").set_value("another text").run()
    assert has(app, start) == asks
    asked = [call for call in client.calls if call[1:2] == ("nearest_training_rows",)]
    assert len(asked) == (1 if asks else 2)


def with_file(app):
    app.session_state["ft_try_table"] = ("file:" + "0" * 32, "my.csv")
    return app.run()


def predict(app, client):
    """Has the file predicted, and returns what was asked for."""
    app.button(key="job_ft_try_table_start").click().run()
    assert not app.error
    asked = [call for call in client.calls if call[:2] == ("start", "predict_table")]
    return asked[-1][2][0], asked[-1][3]


def test_a_file_is_predicted_and_can_be_taken_away(open_step, client, shown):
    client.table = b"text,kind\n" + b"hello there,b\n" * 9 + b"one,cell,more\n"
    app = with_file(open_step("try"))
    assert "left out: 11" in app.warning[-1].value.replace("\\", "")
    model, asked = predict(app, client)
    assert (model, asked["text_column"]) == (MODEL, "text")
    assert re.search(r"Predicted rows: 2\.\D+1\.", shown(app))


@pytest.fixture
def with_classes(client, monkeypatch):
    """The chosen model has classes; no training is needed to try it."""
    monkeypatch.setitem(CONFIG, "type_vocab_size", 2)
    client.heads = ("pooler", "classifier")
    return client


def test_a_model_with_classes_is_tried_without_a_training(open_app, with_classes):
    app = open_app("fine_tune", LOCALES["zh"], ft_step="try")
    assert not app.exception
    assert not app.error
    text = app.text_area(key="ft_try_text").value
    assert text == EXAMPLES["en"][0]  # the model reads English
    assert ("read_text", DEFAULT_MODEL, text, None) in with_classes.calls
    options = app.get_by_key("ft_step").proto.options
    locked = [
        ":material/lock:" in f"{one.content}{one.content_icon}" for one in options
    ]
    assert locked == [False, True, True, True, False, True]
    assert open_app("models").button(key="ft_to_try").label == "Try it on texts"
    # Two texts are read where the visitor says so.
    app.toggle(key="ft_try_pairs").set_value(True).run()
    assert app.text_area(key="ft_try_pair").value == EXAMPLES["en"][1]
    asked = [call for call in with_classes.calls if call[0] == "read_text"]
    assert asked[-1][2:4] == EXAMPLES["en"]


def test_the_file_is_for_the_chosen_model_too(open_app, with_classes):
    with_classes.trained_inputs = TrainedInputs(9, False, "kind")
    app = with_file(open_app("fine_tune", ft_step="try"))
    assert app.selectbox(key="ft_try_table_text").value == "kind"
    assert predict(app, with_classes)[0] == DEFAULT_MODEL


@pytest.mark.parametrize("has_pairs", [True, False])
def test_a_recipe_answers_whether_there_are_two_texts(
    open_app, with_classes, has_pairs, shown
):
    with_classes.trained_inputs = TrainedInputs(9, has_pairs)
    app = open_app("fine_tune", ft_step="try")
    assert {toggle.key for toggle in app.toggle} <= {"projector"}  # no second text
    boxes = {box.key for box in app.text_area}
    assert boxes == {"ft_try_text"} | ({"ft_try_pair"} if has_pairs else set())
    assert "at most 9 tokens" in shown(app)


def test_examples_follow_the_language_of_the_model(open_app, with_classes):
    app = open_app("fine_tune", ft_step="try", model="small-zh")
    assert app.text_area(key="ft_try_text").value == EXAMPLES["zh"][0]
    app.selectbox(key="model").set_value(DEFAULT_MODEL).run()
    assert app.text_area(key="ft_try_text").value == EXAMPLES["en"][0]
    enter(app, ft_try_text="my own", model="small-zh")
    assert app.text_area(key="ft_try_text").value == "my own"


def test_one_of_two_models_is_tried(open_step, with_classes):
    app = open_step("try")
    assert app.get_by_key("ft_try_which").value == "run"
    assert app.button(key="ft_try_another")
    app.get_by_key("ft_try_which").set_value("chosen").run()
    asked = [call[1:3] for call in with_classes.calls if call[0] == "read_text"]
    assert asked == [(MODEL, TEXTS[0]), (DEFAULT_MODEL, TEXTS[0])]
    assert not has(app, "ft_try_another")
    assert not app.exception


def test_a_model_without_classes_is_not_tried(open_app, client, shown):
    app = open_app("fine_tune", ft_step="try")
    assert not app.text_area
    assert "a model that has classes already" in shown(app)
    assert "ft_to_try" not in {button.key for button in open_app("models").button}


def test_a_file_is_read_as_it_is_said_to_be(open_step, client):
    client.table = "message;other\né;1\nà;2\n".encode("latin-1")
    app = with_file(open_step("try"))
    enter(app, ft_try_table_encoding="latin-1", ft_try_table_separator=";")
    source = predict(app, client)[1]["source"]
    assert (source.encoding, source.separator) == ("latin-1", ";")


def test_weights_are_drawn_as_shares(open_step, shown):
    app = open_step("try", ft_compare_panel="weights")
    np.testing.assert_allclose(numbers(specs(app)[-1]["data"][0]["x"]), [0, 0.25, 0.5])
    assert "“pooler” moved furthest: 50.0% of its length. 1 of 3 parts" in shown(app)


def test_where_no_weight_moved_there_are_no_parts_to_show(
    open_step, client, monkeypatch, shown
):
    still = WeightChange(("embeddings",), ("words",), np.zeros((1, 1)), np.zeros(1))
    monkeypatch.setattr(client, "weight_change", lambda run: still)
    app = open_step("try", ft_compare_panel="weights", ft_compare_parts="true")
    assert "Nothing moved" in shown(app)
    assert not has(app, "ft_compare_parts")


def test_the_change_of_a_head_is_drawn_with_that_of_all_heads(
    open_step, client, monkeypatch
):
    seen = []
    monkeypatch.setattr(
        comparison, "attention_canvas", lambda view, key, on_change: seen.append(view)
    )
    open_step("try", ft_compare_panel="heads")
    asked = [call[1:] for call in client.calls if call[0] == "difference_heads"]
    assert asked[0] == (DEFAULT_MODEL, "text number 0 of <b>some</b>", MODEL)
    asked = {call[1:] for call in client.calls if call[0] == "attention_matrix"}
    assert asked == {(DEFAULT_MODEL, 1, 1, None), (MODEL, 1, 1, None)}
    view = seen[-1]
    assert (view.layer, view.head, view.is_difference) == (1, 1, True)
    size = len(view.tokens)
    after = np.roll(np.eye(size), 1, axis=1)
    np.testing.assert_array_equal(view.matrix, after - np.eye(size))
    assert view.kinds[0] == view.kinds[-1] == "special"


def test_attention_of_a_pair_is_compared_on_both_texts(open_step, client, shown):
    client.has_pairs = True
    app = open_step("try", ft_compare_panel="heads")
    asked = [call[1:] for call in client.calls if call[0] == "compare_heads"]
    models = (DEFAULT_MODEL, MODEL)
    assert asked == [(*models, "text number 0 of <b>some</b>", "second")]
    app.text_input(key="ft_compare_pair").set_value("another").run()
    asked = [call[1:] for call in client.calls if call[0] == "compare_heads"]
    assert asked[-1] == (*models, "text number 0 of <b>some</b>", "another")
    seen = {call[4] for call in client.calls if call[0] == "attention_matrix"}
    assert seen == {"second", "another"}
    app.text_input(key="ft_compare_pair").set_value(" ").run()
    assert "There is no text yet" in shown(app)
    assert app.text_area(key="ft_try_pair").value == "second"
    app.text_area(key="ft_try_pair").set_value(" ").run()
    assert shown(app).count("There is no text yet") == 2


def test_rows_before_and_after_are_states_of_one_map(open_step, client, monkeypatch):
    seen = []

    def draw(points, key):
        seen.append(points)
        return FirstChoice(state=points.first.state)

    monkeypatch.setattr(before_and_after, "point_map", draw)
    app = open_step("try", ft_compare_panel="points")
    (points,) = seen
    found = client._compare_layers(RUN, "cls")
    before, after = points.coordinates[0::2], points.coordinates[1::2]
    np.testing.assert_array_equal(np.stack([before, after]), found.coordinates)
    assert points.state_names[-2:] == (
        "layer 2 · before training",
        "layer 2 · after training",
    )
    colour = points.colours[0]
    names = [colour.names[index] for index in colour.values]
    assert names == [LABELS[target] for target in found.targets]
    assert points.first.state == len(points.state_names) - 1
    kept = found.explained[1, -1]
    assert f"show {kept:.0%} of the variance" in points.notes[-1]
    assert not app.error


def test_all_that_can_be_taken_away_is_offered(open_step, client, monkeypatch, shown):
    app = open_step("take", "zh")
    assert not app.error
    assert offered_files(app) == {"ft_take_zip", "ft_take_rows", "ft_take_log"}
    # What a button for downloads sends stays in memory.
    assert "ft_take_zip" in {link.key for link in app.get("link_button")}
    codes = [code.value for code in app.code]
    assert codes == ["print('predicted')", "# 我的模型卡"]
    contents = tables(app)[-1]
    assert "NOTICE" in contents.iloc[:, 0].tolist()
    assert "model\\.zip" in shown(app)

    def refuse(_):
        raise TrainingError("No room for the log.")

    monkeypatch.setattr(client, "training_log", refuse)
    monkeypatch.setenv("BERTVIZ_MODELS", "listed")  # a server for strangers
    app.run()
    assert offered_files(app) == {"ft_take_zip", "ft_take_rows"}
    assert len(app.error) == 1
    assert app.button(key="ft_take_keep")
    assert "model\\.zip" not in shown(app)


def test_the_model_is_kept_as_an_upload(open_step, client, shown):
    app = open_step("take")
    app.button(key="ft_take_keep").click().run()
    assert ("add_upload", "my-books") in client.calls
    assert "Kept as" in shown(app)
    assert app.button(key="ft_take_keep").disabled


def test_the_model_of_a_training_opens_on_other_pages(open_app, client):
    app = open_app("masked_word", model=MODEL)
    assert not app.exception
    assert not app.error
    assert app.get_by_key("model").value == MODEL
    app.run()
    assert ("renew", MODEL) in client.calls
    app.get_by_key("model").set_value(DEFAULT_MODEL).run()
    assert app.get_by_key("model").value == DEFAULT_MODEL
    assert not app.error
