"""Runs side by side: settings, curves, test scores; and the same with other seeds."""

import contextlib
import dataclasses
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.engine.jobs import MAX_WAITING
from bertviz_core.errors import BertVizError
from bertviz_core.figures.masked_word import percent
from bertviz_core.training.finetune.evaluation import (
    ClassificationReport,
    Report,
    compare,
)
from bertviz_core.training.finetune.request import RunOutcome, TrainingStatus
from pages.fine_tune.running import setting_value
from pages.fine_tune.state import MAX_SEED, earlier_runs, note_run
from pages.fine_tune.widgets import interval_text, share_text
from pages.shared.answers import ask
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.export import show_curves, show_table
from pages.shared.language import plain, t
from pages.shared.panel import button
from pages.shared.visitor import hold, owner

_SHOWN = ("level", "epochs", "learning_rate", "batch_size", "max_tokens", "seed")


@dataclasses.dataclass(frozen=True)
class _Run:
    """A run that has left a model, by the name that the visitor knows."""

    name: str
    status: TrainingStatus
    outcome: RunOutcome


def show_runs(outcome: RunOutcome, report: Report) -> None:
    """Draws the run beside others of this visitor, and offers to train more."""
    hold("fine_tune_runs", [f"run:{run}" for run, _ in earlier_runs()])
    own = _Run(
        plain("results.runs_this"), client().trainings.status(outcome.run_id), outcome
    )
    others, num_open = [], 0
    for number, (run, title) in enumerate(reversed(earlier_runs()), 1):
        if run == outcome.run_id:
            continue
        with contextlib.suppress(BertVizError):  # removed meanwhile
            status = client().trainings.status(run)
            num_open += not status.is_finished
            other = ask(training_outcome)(run) if status.has_model else None
            # Of what has not learned the like, no score is of both.
            if other is not None and type(other.report) is type(report):
                name = plain("results.runs_name", number=number, title=title)
                others.append(_Run(name, status, other))
    if num_open:
        st.info(t("results.runs_open", count=num_open), icon=":material/pending:")
        button("results.runs_look", "ft_runs_look", "refresh")
    if others:
        _compare([own, *others], report)
    else:
        st.caption(t("results.runs_none"))
    if own.status.is_own:
        _offer_seeds(own.status)


def _compare(runs: list[_Run], report: Report) -> None:
    reports = [one.outcome.report for one in runs]
    show_table(
        {"results.run": [one.name for one in runs]}
        | {
            f"fine_tune.option_{name}": [
                setting_value(name, getattr(one.status.request.settings, name))
                for one in runs
            ]
            for name in _SHOWN
        },
        t("results.runs_settings"),
        caption=t("results.runs_settings"),
    )
    _draw_curves(runs)
    is_classes = isinstance(report, ClassificationReport)
    criterion = str(runs[0].outcome.recipe.get("compared_by", "accuracy"))
    pairs = [_pair(runs[0].outcome, one.outcome, criterion) for one in runs]
    columns: dict[str, list[Any]] = {
        "results.run": [one.name for one in runs],
        "results.rows": [len(one.targets) for one in reports],
    }
    columns |= _scores(reports)
    if is_classes:
        columns["results.runs_only_this"] = [p[0] for p in pairs]
        columns["results.runs_only_other"] = [p[1] for p in pairs]
    columns["results.runs_chance"] = [p[2] for p in pairs]
    key = "runs_described" if is_classes else "runs_described_number"
    said = t(f"results.{key}")
    show_table(columns, said, "ft_eval_runs", said)
    _say_spread(runs)


def _scores(reports: list[Any]) -> dict[str, list[Any]]:
    if isinstance(reports[0], ClassificationReport):
        return {
            "results.accuracy": [share_text(one.accuracy) for one in reports],
            "results.runs_95": [
                interval_text(one.accuracy_interval, "interval_short")
                for one in reports
            ],
            "results.macro_f1": [share_text(one.macro_f1) for one in reports],
        }
    return {
        "results.mae": [f"{one.mae:.4g}" for one in reports],
        "results.r2": [f"{one.r2:.2f}" for one in reports],
    }


def _pair(
    first: RunOutcome, second: RunOutcome, criterion: str
) -> tuple[str, str, str]:
    """Rows that only one of two got right, and how often chance does that."""
    one, other = first.report, second.report
    is_same = (
        first.labels == second.labels
        and np.array_equal(one.rows, other.rows)
        and np.array_equal(one.targets, other.targets)
        and first.recipe.get("data_sha256") == second.recipe.get("data_sha256")
    )
    if first is second or not is_same:
        return ("–", "–", "–" if first is second else plain("results.runs_unlike"))
    found = compare(one, other, criterion)
    return str(found.only_first), str(found.only_second), percent(found.chance)


def _draw_curves(runs: list[_Run]) -> None:
    metric = runs[0].status.metric_name
    curves = {
        one.name: one.status.judged[:, 3]
        for one in runs
        if one.status.epochs and one.status.metric_name == metric
    }
    if not metric or not curves:
        return
    name = plain(f"fine_tune.metric_{metric}")
    longest = max(map(len, curves.values()))
    best = max(curves, key=lambda run: float(np.nanmax(curves[run])))
    show_curves(
        {
            run: np.pad(values, (0, longest - len(values)), constant_values=np.nan)
            for run, values in curves.items()
        },
        "fine_tune.figure_epoch",
        range(1, longest + 1),
        name,
        name="ft_eval_curves",
        description=t("results.runs_curves", name=name, run=best),
    )


def _say_spread(runs: list[_Run]) -> None:
    """Mean and standard deviation of the runs that differ from this by their seed."""
    first = runs[0]
    alike = [
        one.outcome.report
        for one in runs
        if dataclasses.replace(one.status.request.settings, seed=0)
        == dataclasses.replace(first.status.request.settings, seed=0)
        and one.outcome.recipe.get("data_sha256")
        == first.outcome.recipe.get("data_sha256")
    ]
    if len(alike) < 2:
        return
    is_classes = isinstance(alike[0], ClassificationReport)
    values = [getattr(one, "accuracy" if is_classes else "mae") for one in alike]
    st.success(
        t(
            f"results.runs_spread{'' if is_classes else '_number'}",
            count=len(values),
            mean=float(np.mean(values)),
            spread=float(np.std(values, ddof=1)),
        ),
        icon=":material/casino:",
    )


def _offer_seeds(status: TrainingStatus) -> None:
    st.subheader(t("results.seeds_title"), anchor=False)
    st.markdown(t("results.seeds_intro"))
    box, place = st.columns(2, vertical_alignment="bottom")
    count = box.selectbox(
        t("results.seeds_count"), range(1, MAX_WAITING + 2), 1, key="ft_seeds"
    )
    label = t("results.seeds_start", count=count)
    with place:
        button(label, "ft_seeds_start", "play_arrow", train_seeds, status, count)


def train_seeds(status: TrainingStatus, count: int) -> None:
    """Starts the same training with the next seeds that no run had. A callback."""
    request, taken = status.request, {status.request.settings.seed}
    title = request.title or plain("fine_tune.your_table")
    with shown_to_user(stop=False):
        for run, _ in earlier_runs():
            try:
                taken.add(client().trainings.status(run).request.settings.seed)
            except BertVizError:
                continue
        seed = request.settings.seed
        for _ in range(count):
            while seed in taken:
                seed = (seed + 1) % (MAX_SEED + 1)
            taken.add(seed)
            settings = dataclasses.replace(request.settings, seed=seed)
            name = plain("results.seeds_name", title=title, seed=seed)
            asked = dataclasses.replace(request, settings=settings, title=name)
            note_run(client().trainings.start(asked, owner()), name)
