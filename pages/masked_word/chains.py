"""Gibbs sampling: a sentence that changes word by word, shown while it does."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import streamlit as st

from bertviz_core.analysis.joined_pieces import join_pieces
from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.chain_results import (
    ORDERS,
    GibbsRun,
    GibbsSettings,
    GibbsState,
)
from bertviz_core.experiments.gibbs import follow_chain, start_chain, start_from_masks
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import chain_figure, percent
from bertviz_core.snippets import masked_sentences
from pages.masked_word.question import Question, choose_sampling
from pages.shared.answers import ask
from pages.shared.choices import choose_named, choose_number
from pages.shared.engine import client
from pages.shared.errors import show_error, shown_to_user
from pages.shared.export import show_figure, show_table, table_csv, titled
from pages.shared.language import Markdown, escape, plain, t
from pages.shared.panel import button, download, panel, program, show_numbers
from pages.shared.visitor import hold, owner

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Chain:
    """A chain of this session.

    It began with `text`, or, where that is "", with `num_masks`; it is to do `goal`
    steps. Of the chunk under way are `job_id`, and `origin` and `before`: where the
    chain stood when it began, and what it had done.
    """

    model: str
    text: str
    num_masks: int
    settings: GibbsSettings
    state: GibbsState
    goal: int
    run: GibbsRun | None = None
    job_id: str | None = None
    origin: GibbsState | None = None
    before: GibbsRun | None = None
    error: BertVizError | None = None
    version: str = ""

    def is_of(
        self, model: str, text: str, num_masks: int, settings: GibbsSettings
    ) -> bool:
        """Whether it belongs to this question, whatever steps are counted."""
        own = dataclasses.replace(self.settings, burn_in=settings.burn_in)
        asked = (model, text, num_masks, settings)
        return (self.model, self.text, self.num_masks, own) == asked

    def with_burn_in(self, burn_in: int) -> Self:
        """The same chain, of which other first steps are not counted."""
        settings = dataclasses.replace(self.settings, burn_in=burn_in)
        run = self.run
        if run is not None:
            run = dataclasses.replace(
                run,
                start=dataclasses.replace(run.start, settings=settings),
                end=dataclasses.replace(run.end, settings=settings),
            )
        state = dataclasses.replace(self.state, settings=settings)
        return dataclasses.replace(self, settings=settings, state=state, run=run)


_ADDED = ("[CLS]", "[SEP]")
_LAST_STEPS = 12
_WINDOW = 20  # steps that a point of the picture is the mean of
_MOST_POINTS = 1000


def show_chain(chain: Chain) -> None:
    """Draws the sentence, and, after the first step, what changes."""
    state, run = chain.state, chain.run
    words = ask(vocabulary)(state.model_id)
    tokens = [words[int(index)] for index in state.input_ids[0]]
    last = -1 if run is None else int(run.positions[-1, 0])
    with st.container(border=True):
        st.markdown(_sentence(tokens, last))
    if run is None:
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
        "masked.step": _step_numbers(run)[rows],
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


def _sentence(tokens: list[str], last: int) -> Markdown:
    """The sentence with the newest word marked, as Markdown."""
    if last < 0:
        return escape(join_pieces(tokens, _ADDED), 10**6)
    before = join_pieces(tokens[:last], _ADDED)
    upto = join_pieces(tokens[: last + 1], _ADDED)
    whole = join_pieces(tokens, _ADDED)
    # A sign that hangs on its neighbour may leave no room for the mark.
    if not upto.startswith(before) or not whole.startswith(upto):
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
    settings = dataclasses.asdict(run.start.settings)
    del settings["num_chains"]  # one at a time
    template = masked_sentences.CHAIN
    if chain.num_masks:
        template = masked_sentences.CHAIN_FROM_MASKS
        settings["num_masks"] = chain.num_masks
    else:
        settings["text"] = chain.text
    rates = _around(run.has_changed[:, 0].astype(float))
    entropies = _around(run.entropy_bits[:, 0])
    # Whole steps only, evenly thinned: a screen has no more columns.
    every = -(-run.num_steps // _MOST_POINTS)
    figure = chain_figure(
        _step_numbers(run)[::every],
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
            "masked.step": _step_numbers(run),
            "masked.changed_share": rates,
            "masked.entropy": entropies,
        },
        code=program(template, run.start.model_id, num_steps=run.num_steps, **settings),
    )


def _step_numbers(run: GibbsRun) -> np.ndarray:
    return run.start.step + np.arange(1, run.num_steps + 1)


def _around(values: np.ndarray) -> np.ndarray:
    """The mean of the steps up to each, at most `_WINDOW` of them, `[S]`."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - _WINDOW, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


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
    settings = GibbsSettings(**sampling, order=order, seed=seed, burn_in=burn_in)
    text = "" if num_masks else question.text
    asked = (question.model, text, num_masks, settings)
    chain: Chain | None = st.session_state.get(_CHAIN)
    version = version_of(question.model)
    if chain is not None and (chain.version != version or not chain.is_of(*asked)):
        _reset()
        chain = None
    if chain is None:
        if num_masks:
            state = ask(start_from_masks)(question.model, num_masks, settings)
        else:
            state = ask(start_chain)(question.model, text, settings)
        chain = Chain(*asked, state, num_steps, version=version)
    chain = chain.with_burn_in(settings.burn_in)
    if chain.job_id is None:  # a single step has a goal of its own
        chain = dataclasses.replace(chain, goal=num_steps)
    st.session_state[_CHAIN] = chain
    every = POLL_SECONDS if chain.job_id is not None else None
    panel(_watch, every)(chain.job_id is not None)


def _choose_start(question: Question) -> int:
    """How many masks to begin with; 0 begins with the sentence."""
    start = choose_named("masked.gibbs_start", _STARTS, "gibbs")
    if start == "sentence":
        return 0
    limit = ask(Explorer.info)(question.model).config.max_position_embeddings
    return choose_number(
        st.number_input, "masked.gibbs_length", 1, limit - 2, min(8, limit - 2)
    )


def _watch(was_running: bool) -> None:
    """The buttons and the chain; repeats itself while a chunk is under way."""
    if _CHAIN not in st.session_state:
        st.rerun()  # starts over
    chain = _collect(st.session_state[_CHAIN])
    st.session_state[_CHAIN] = chain
    if was_running != (chain.job_id is not None):
        st.rerun()  # starts or stops the clock
    _draw_buttons(chain)
    if chain.job_id is not None:
        step = chain.state.step
        st.progress(
            min(step / chain.goal, 1.0),
            t("masked.gibbs_at", step=step, goal=chain.goal),
        )
    show_chain(chain)
    show_error(chain.error)


def _draw_buttons(chain: Chain) -> None:
    running, step = chain.job_id is not None, chain.state.step
    name = "pause" if running else "resume" if step else "begin"
    icons = {"pause": "pause", "resume": "play_arrow", "begin": "play_arrow"}
    is_done = step >= chain.goal
    with st.container(horizontal=True):
        button(
            t(f"masked.gibbs_{name}"),
            # Two keys: a click can be delivered again while the clock ticks, and must
            # not mean the opposite by then.
            "masked_gibbs_pause" if running else "masked_gibbs_go",
            icons[name],
            _pause if running else _go,
            disabled=is_done and not running,
        )
        label, key = "masked.gibbs_one_step", "masked_gibbs_one_step"
        button(label, key, "skip_next", _go, True, disabled=running)
        button(
            "masked.gibbs_reset",
            "masked_gibbs_reset",
            "restart_alt",
            _reset,
            disabled=not step and not running,
        )
    if is_done and not running:
        st.caption(t("masked.gibbs_done", count=step))


def _go(one_step: bool = False) -> None:
    """Takes the steps to the goal, or one step more, also beyond it."""
    chain = st.session_state[_CHAIN]
    # The page may not have run since another number was typed.
    goal = chain.state.step + 1 if one_step else st.session_state["masked_gibbs_steps"]
    if chain.job_id is None and goal > chain.state.step:
        with shown_to_user(stop=False):
            st.session_state[_CHAIN] = _start(dataclasses.replace(chain, goal=goal))


def _pause() -> None:
    """Stops the chunk; steps that were not seen are drawn again, and alike, later."""
    chain: Chain | None = st.session_state.get(_CHAIN)
    if chain is None or chain.job_id is None:
        return
    with shown_to_user(stop=False):
        client().cancel(chain.job_id)
    st.session_state[_CHAIN] = dataclasses.replace(chain, job_id=None)


def _reset() -> None:
    if _CHAIN in st.session_state:
        _pause()
        del st.session_state[_CHAIN]


def _start(chain: Chain) -> Chain:
    """Has the next steps to the goal taken."""
    state, left = chain.state, chain.goal - chain.state.step
    question = client().ask(follow_chain).about(state.model_id, state, left)
    job_id = client().start(question, owner())
    hold(_CHAIN, [job_id])
    return dataclasses.replace(
        chain, job_id=job_id, origin=state, before=chain.run, error=None
    )


def _collect(chain: Chain) -> Chain:
    """Takes what a chunk has brought so far, and starts the next one at its end."""
    if chain.job_id is None or chain.origin is None:
        return chain
    try:
        status = client().job(chain.job_id)
    except BertVizError as error:  # the server has started again since
        return dataclasses.replace(chain, job_id=None, error=error)
    if not status.is_finished:
        if status.so_far is None:
            return chain
        words = ask(vocabulary)(chain.model)
        return _gone_on(chain, GibbsRun.from_dict(chain.origin, status.so_far, words))
    if status.state != "done":
        return dataclasses.replace(chain, job_id=None, error=status.error)
    chain = dataclasses.replace(_gone_on(chain, status.result), job_id=None)
    return _start(chain) if chain.goal > chain.state.step else chain


def _gone_on(chain: Chain, run: GibbsRun) -> Chain:
    """The chain after the steps of the chunk under way."""
    whole = run if chain.before is None else chain.before.then(run)
    chain = dataclasses.replace(chain, state=run.end, run=whole)
    # Another one may have been chosen since the chunk was started.
    return chain.with_burn_in(chain.settings.burn_in)
