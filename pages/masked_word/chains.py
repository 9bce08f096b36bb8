"""Gibbs sampling: a sentence that changes word by word, shown while it does."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.joined_pieces import join_pieces
from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine import JobStatus
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.chain_results import (
    ORDERS,
    STEPS,
    GibbsRun,
    GibbsSettings,
)
from bertviz_core.experiments.gibbs import follow_chain, start_chain, start_from_masks
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import chain_figure, percent
from bertviz_core.snippets import masked_sentences
from pages.masked_word.question import Question, choose_sampling
from pages.shared.answers import POLL_SECONDS, ask, look_again
from pages.shared.choices import choose_named, choose_number
from pages.shared.engine import client
from pages.shared.errors import show_error, shown_to_user
from pages.shared.export import show_figure, show_table, table_csv, titled
from pages.shared.language import Markdown, escape, plain, t
from pages.shared.panel import button, download, panel, program, show_numbers
from pages.shared.visitor import hold, owner


@dataclass(frozen=True)
class Chain:
    """A chain of this session.

    Of the chunk under way, or the last one, is `job`: it goes on from `run`, and others
    follow until `goal` steps are done. Which steps count is said where they are shown.
    """

    # The model, the version of its weights, the text, or, where that is "", the number
    # of masks that it began with, and how it draws.
    asked: tuple[str, str, str, int, GibbsSettings]
    run: GibbsRun
    goal: int = 0
    job: JobStatus | None = None

    @property
    def is_running(self) -> bool:
        return self.job is not None and not self.job.is_finished

    def whole(self) -> GibbsRun:
        """What it has done, with what the chunk has brought so far."""
        job, end = self.job, self.run.end
        if job is None or (job.result is None and job.so_far is None):
            return self.run
        more: GibbsRun | None = job.result
        if more is None:
            words = ask(vocabulary)(end.model_id)
            more = GibbsRun.from_dict(end, job.so_far, words)
        return self.run.then(more)


_ADDED = ("[CLS]", "[SEP]")
_LAST_STEPS = 12
_WINDOW = 20  # steps that a point of the picture is the mean of
_MOST_POINTS = 1000


def show_chain(chain: Chain, run: GibbsRun) -> None:
    """Draws the sentence, and, after the first step, what changes."""
    words = ask(vocabulary)(run.end.model_id)
    tokens = [words[int(index)] for index in run.end.input_ids[0]]
    with st.container(border=True):
        st.markdown(_sentence(tokens, *run.positions[-1:, 0].tolist()))
    if not run.num_steps:
        st.caption(t("masked.gibbs_not_begun"))
        return
    rate, counted = run.change_rate, run.new_ids[~run.is_burn_in, 0]
    show_numbers(
        {
            "masked.gibbs_steps_done": t("masked.count", count=run.num_steps),
            "masked.change_rate": (
                t("masked.not_yet") if np.isnan(rate) else percent(rate)
            ),
            "masked.words_drawn": t("masked.count", count=len(np.unique(counted))),
            "masked.share_kept": percent(run.share_kept),
        }
    )
    if run.num_steps > 1:
        _show_picture(chain, run)
    columns = chain_columns(run, range(run.num_steps)[: -1 - _LAST_STEPS : -1])
    probability, burn_in = "masked.probability", "masked.burn_in"
    columns[probability] = list(map(percent, columns[probability]))
    columns[burn_in] = columns[burn_in].astype(bool)
    for name in ("position", "changed", "entropy"):  # the file has them
        del columns[f"masked.{name}"]
    show_table(columns, plain("masked.gibbs_table"))
    download(
        "masked.gibbs_csv",
        lambda: table_csv(titled(chain_columns(run, range(run.num_steps)))),
        plain("app.csv_file", name="gibbs_chain"),
        "text/csv",
        "masked_gibbs_csv",
        "download",
    )
    st.caption(t("masked.gibbs_lesson"))


def chain_columns(run: GibbsRun, steps: Sequence[int]) -> dict[str, Any]:
    """A row for each of these steps, with the sentence after it."""
    rows = np.array(steps)
    return {
        "masked.step": rows + 1,
        "masked.position": run.positions[rows, 0],
        "masked.before": [run.words[int(i)] for i in run.old_ids[rows, 0]],
        "masked.after": [run.words[int(i)] for i in run.new_ids[rows, 0]],
        "masked.changed": run.has_changed[rows, 0].astype(int),
        "masked.burn_in": run.is_burn_in[rows].astype(int),
        "masked.probability": np.exp(run.log_probs[rows, 0]),
        "masked.entropy": run.entropy_bits[rows, 0],
        "masked.sentence": [
            join_pieces(run.tokens_after(step + 1), _ADDED) for step in steps
        ],
    }


def _sentence(tokens: list[str], last: int = -1) -> Markdown:
    """The sentence with the newest word marked, as Markdown."""
    before, upto, whole = (
        join_pieces(tokens[:end], _ADDED) for end in (last, last + 1, len(tokens))
    )
    # A sign that hangs on its neighbour may leave no room for the mark.
    if last < 0 or not (upto.startswith(before) and whole.startswith(upto)):
        return escape(whole, 10**6)
    word = upto[len(before) :]
    parts = [
        escape(before, 10**6),
        " " * word.startswith(" "),
        f":green-badge[{escape(word.strip(), 60)}]",
        " " * whole[len(upto) :].startswith(" "),
        escape(whole[len(upto) :], 10**6),
    ]
    return Markdown("".join(parts))


def _show_picture(chain: Chain, run: GibbsRun) -> None:
    how = dataclasses.asdict(run.start.settings)
    del how["num_chains"]  # one at a time
    model, _, text, num_masks, _ = chain.asked
    how |= {"num_masks": num_masks} if num_masks else {"text": text}
    template = masked_sentences.CHAIN
    if num_masks:
        template = masked_sentences.CHAIN_FROM_MASKS
    steps = np.arange(1, run.num_steps + 1)
    rates = _around(run.has_changed[:, 0].astype(float))
    entropies = _around(run.entropy_bits[:, 0])
    # Whole steps only, evenly thinned: a screen has no more columns.
    every = -(-run.num_steps // _MOST_POINTS)
    figure = chain_figure(
        steps[::every],
        rates[::every],
        entropies[::every],
        run.start.settings.burn_in,
        x_title=plain("masked.step"),
        changed=plain("masked.changed_share"),
        entropy=plain("masked.entropy"),
        burn_in_name=plain("masked.burn_in"),
    )
    show_figure(
        figure,
        name="masked_gibbs",
        description=t("masked.gibbs_described", window=_WINDOW),
        columns={
            "masked.step": steps,
            "masked.changed_share": rates,
            "masked.entropy": entropies,
        },
        code=program(template, model, num_steps=run.num_steps, **how),
    )


def _around(values: np.ndarray) -> np.ndarray:
    """The mean of the steps up to each, at most `_WINDOW` of them, `[S]`."""
    counts = np.minimum(np.arange(len(values)) + 1, _WINDOW)
    return np.convolve(values, np.ones(_WINDOW))[: len(values)] / counts


_CHAIN = "masked_chain"
_MOST_STEPS, _MOST_TOP_K = 20_000, 1000
_STARTS = ("sentence", "masks")


@panel
def explore_chains(question: Question) -> None:
    """Draws the settings, the buttons and the chain."""
    st.markdown(t("masked.gibbs_intro"))
    num_masks = _choose_start(question)
    sampling = choose_sampling("masked_gibbs", _MOST_TOP_K)
    order = choose_named("masked.gibbs_order", ORDERS, "gibbs")
    low_and_first = {"steps": (1, 200), "burn_in": (0, 20), "seed": (0, 1)}
    num_steps, burn_in, seed = (
        choose_number(box.number_input, f"masked.gibbs_{name}", low, _MOST_STEPS, first)
        for box, (name, (low, first)) in zip(
            st.columns(3), low_and_first.items(), strict=True
        )
    )
    settings = GibbsSettings(**sampling, order=order, seed=seed)
    model, text = question.model, "" if num_masks else question.text
    asked = model, version_of(model), text, num_masks, settings
    if _CHAIN not in st.session_state or st.session_state[_CHAIN].asked != asked:
        _reset()
        state = (
            ask(start_from_masks)(model, num_masks, settings)
            if num_masks
            else ask(start_chain)(model, text, settings)
        )
        no_steps = dict.fromkeys(STEPS, ())
        run = GibbsRun.from_dict(state, no_steps, ask(vocabulary)(model))
        st.session_state[_CHAIN] = Chain(asked, run)
    is_running = st.session_state[_CHAIN].is_running
    panel(_watch, POLL_SECONDS if is_running else None)(is_running, num_steps, burn_in)


def _choose_start(question: Question) -> int:
    """How many masks to begin with; 0 begins with the sentence."""
    start = choose_named("masked.gibbs_start", _STARTS, "gibbs")
    if start == "sentence":
        return 0
    limit = ask(Explorer.info)(question.model).config.max_position_embeddings
    return choose_number(
        st.number_input, "masked.gibbs_length", 1, limit - 2, min(8, limit - 2)
    )


def _watch(was_running: bool, num_steps: int, burn_in: int) -> None:
    """The buttons and the chain; repeats itself while a chunk is under way."""
    if _CHAIN not in st.session_state:
        st.rerun()  # starts over
    chain = st.session_state[_CHAIN] = _look(st.session_state[_CHAIN])
    if was_running != chain.is_running:
        st.rerun()  # starts or stops the clock
    run = chain.whole()
    step = run.end.step
    # A single step has a goal of its own.
    goal = chain.goal if chain.is_running else num_steps
    _draw_buttons(chain.is_running, step, goal)
    if chain.is_running:
        at = t("masked.gibbs_at", step=step, goal=goal)
        st.progress(min(step / goal, 1.0), at)
    settings = dataclasses.replace(run.start.settings, burn_in=burn_in)
    start = dataclasses.replace(run.start, settings=settings)
    show_chain(chain, dataclasses.replace(run, start=start))
    if chain.job is not None:
        show_error(chain.job.error)


def _draw_buttons(running: bool, step: int, goal: int) -> None:
    name = "pause" if running else "resume" if step else "begin"
    is_done = step >= goal and not running
    with st.container(horizontal=True):
        button(
            t(f"masked.gibbs_{name}"),
            # Two keys: a click can be delivered again while the clock ticks, and must
            # not mean the opposite by then.
            "masked_gibbs_pause" if running else "masked_gibbs_go",
            "pause" if running else "play_arrow",
            _pause if running else _go,
            disabled=is_done,
        )
        label, key = "masked.gibbs_one_step", "masked_gibbs_one_step"
        button(label, key, "skip_next", _go, True, disabled=running)
        label, key = "masked.gibbs_reset", "masked_gibbs_reset"
        begun = step > 0 or running
        button(label, key, "restart_alt", _reset, disabled=not begun)
    if is_done:
        st.caption(t("masked.gibbs_done", count=step))


def _go(one_step: bool = False) -> None:
    """Takes the steps to the goal, or one step more, also beyond it."""
    chain: Chain = st.session_state[_CHAIN]
    step = chain.whole().end.step
    # The page may not have run since another number was typed.
    goal = step + 1 if one_step else st.session_state["masked_gibbs_steps"]
    if not chain.is_running and goal > step:
        with shown_to_user(stop=False):
            st.session_state[_CHAIN] = _start(dataclasses.replace(chain, goal=goal))


def _pause() -> None:
    """Stops the chunk; steps that were not seen are drawn again, and alike, later."""
    chain: Chain | None = st.session_state.get(_CHAIN)
    if chain is not None and chain.job is not None and chain.is_running:
        with shown_to_user(stop=False):
            client().cancel(chain.job.job_id)
        whole = dataclasses.replace(chain, run=chain.whole(), job=None)
        st.session_state[_CHAIN] = whole


def _reset() -> None:
    _pause()
    st.session_state.pop(_CHAIN, None)


def _start(chain: Chain) -> Chain:
    """Has the next steps to the goal taken."""
    run = chain.whole()
    asked = ask(follow_chain).about(
        run.end.model_id, run.end, chain.goal - run.end.step
    )
    job_id = client().start(asked, owner())
    hold(_CHAIN, [job_id])
    return dataclasses.replace(chain, run=run, job=JobStatus(job_id, "waiting"))


def _look(chain: Chain) -> Chain:
    """Asks what the chunk has brought so far, and starts the next one at its end."""
    if chain.job is None or chain.job.is_finished:
        return chain
    job = look_again(chain.job)
    chain = dataclasses.replace(chain, job=job)
    goes_on = job.state == "done" and chain.whole().end.step < chain.goal
    return _start(chain) if goes_on else chain
