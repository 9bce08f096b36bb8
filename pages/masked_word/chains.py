"""Gibbs sampling: a sentence that changes word by word, shown while it does."""

from __future__ import annotations

import dataclasses
import time

import streamlit as st

from bertviz_core.checkpoints.versions import version_of
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.errors import BertVizError
from bertviz_core.experiments.chain_results import (
    ORDERS,
    GibbsRun,
    GibbsSettings,
)
from bertviz_core.experiments.gibbs import follow_chain, start_chain, start_from_masks
from bertviz_core.explorer import Explorer
from pages.masked_word.chain import POLL_SECONDS, Chain, next_chunk
from pages.masked_word.chain_pictures import show_chain
from pages.masked_word.question import Question, choose_sampling
from pages.shared.answers import ask
from pages.shared.choices import choose_named, choose_number
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.visitor import hold, owner

_CHAIN = "masked_chain"
_MOST_STEPS, _MOST_TOP_K = 20_000, 1000
_STARTS = ("sentence", "masks")


@st.fragment
def explore_chains(question: Question) -> None:
    """Draws the settings, the buttons and the chain."""
    st.markdown(t("masked_panels.gibbs_intro"))
    with shown_to_user():
        num_masks = _choose_start(question)
        settings, num_steps = _choose_settings(question)
        text = "" if num_masks else question.text
        asked = (question.model, text, num_masks, settings)
        chain: Chain | None = st.session_state.get(_CHAIN)
        version = version_of(question.model)
        if chain is not None and (chain.version != version or not chain.is_of(*asked)):
            _pause()
            del st.session_state[_CHAIN]
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
        st.fragment(_watch, run_every=every)(chain.job_id is not None)


def _choose_start(question: Question) -> int:
    """How many masks to begin with; 0 begins with the sentence."""
    start = choose_named(
        "masked_panels.gibbs_start", _STARTS, "gibbs", key="masked_gibbs_start"
    )
    if start == "sentence":
        return 0
    limit = ask(Explorer.info)(question.model).config.max_position_embeddings
    return choose_number(
        st.number_input,
        t("masked_panels.gibbs_length"),
        1,
        limit - 2,
        min(8, limit - 2),
        key="masked_gibbs_length",
    )


def _choose_settings(question: Question) -> tuple[GibbsSettings, int]:
    """How to draw, and how many steps."""
    sampling = choose_sampling("masked_gibbs", _MOST_TOP_K)
    order = choose_named(
        "masked_panels.gibbs_order", ORDERS, "gibbs", key="masked_gibbs_order"
    )
    boxes = st.columns(3)
    num_steps, burn_in, seed = [
        choose_number(
            box.number_input, t(f"masked_panels.gibbs_{name}"), low, _MOST_STEPS, start,
            key=f"masked_gibbs_{name}", help=t(f"masked_panels.gibbs_{name}_help"),
        )
        for box, name, low, start in zip(
            boxes, ("steps", "burn_in", "seed"), (1, 0, 0), (200, 20, 1), strict=True
        )
    ]  # fmt: skip
    settings = GibbsSettings(
        **dataclasses.asdict(sampling), order=order, seed=seed, burn_in=burn_in
    )
    return settings, num_steps


def _watch(was_running: bool) -> None:
    """The buttons and the chain; repeats itself while a chunk is under way."""
    with shown_to_user():
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
                t("masked_panels.gibbs_at", step=step, goal=chain.goal),
            )
        show_chain(chain)
    with shown_to_user(stop=False):
        if chain.error is not None:
            raise chain.error


def _draw_buttons(chain: Chain) -> None:
    running, step = chain.job_id is not None, chain.state.step
    name = "pause" if running else "resume" if step else "begin"
    icons = {"pause": "pause", "resume": "play_arrow", "begin": "play_arrow"}
    is_done = step >= chain.goal
    with st.container(horizontal=True):
        st.button(
            t(f"masked_panels.gibbs_{name}"),
            icon=f":material/{icons[name]}:",
            # Two keys: a click can be delivered again while the clock ticks, and
            # must not mean the opposite by then.
            key="masked_gibbs_pause" if running else "masked_gibbs_go",
            on_click=_pause if running else _go,
            disabled=is_done and not running,
        )
        st.button(
            t("masked_panels.gibbs_one_step"),
            icon=":material/skip_next:",
            key="masked_gibbs_one_step",
            on_click=_step_once,
            disabled=running,
        )
        st.button(
            t("masked_panels.gibbs_reset"),
            icon=":material/restart_alt:",
            key="masked_gibbs_reset",
            on_click=_reset,
            disabled=not step and not running,
        )
    if is_done and not running:
        st.caption(t("masked_panels.gibbs_done", count=step))


def _go() -> None:
    chain = st.session_state[_CHAIN]
    if chain.job_id is not None:
        return
    # The page may not have run since another number was typed.
    goal = st.session_state["masked_gibbs_steps"]
    if goal <= chain.state.step:
        return
    chunk = next_chunk(goal - chain.state.step)
    with shown_to_user(stop=False):
        st.session_state[_CHAIN] = dataclasses.replace(_start(chain, chunk), goal=goal)


def _step_once() -> None:
    """One step more, also beyond the goal; it is too short for a job."""
    chain = st.session_state[_CHAIN]
    if chain.job_id is not None:
        return
    with shown_to_user(stop=False):
        goal = chain.state.step + 1
        st.session_state[_CHAIN] = dataclasses.replace(_start(chain, 1), goal=goal)


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


def _start(chain: Chain, chunk: int) -> Chain:
    question = (
        client().ask(follow_chain).about(chain.state.model_id, chain.state, chunk)
    )
    job_id = client().start(question, owner())
    hold(_CHAIN, [job_id])
    return dataclasses.replace(
        chain,
        job_id=job_id,
        chunk=chunk,
        began=time.monotonic(),
        origin=chain.state,
        before=chain.run,
        error=None,
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
    left = chain.goal - chain.state.step
    if left <= 0:
        return chain
    seconds = time.monotonic() - chain.began
    return _start(chain, next_chunk(left, chain.chunk, seconds))


def _gone_on(chain: Chain, run: GibbsRun) -> Chain:
    """The chain after the steps of the chunk under way."""
    whole = run if chain.before is None else chain.before.then(run)
    chain = dataclasses.replace(chain, state=run.end, run=whole)
    # Another one may have been chosen since the chunk was started.
    return chain.with_burn_in(chain.settings.burn_in)
