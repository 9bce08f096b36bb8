"""What a Gibbs chain did: its sentence, how much changes, its last steps."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.joined_pieces import join_pieces
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.chain_results import GibbsRun
from bertviz_core.figures.masked_panels import chain_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import masked_sentences
from pages.masked_word.chain import Chain
from pages.shared.answers import ask
from pages.shared.code import program
from pages.shared.export import show_figure, table_csv
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown, escape
from pages.shared.panel import show_numbers

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
        st.caption(t("masked_panels.gibbs_not_begun"))
        return
    rate, counted = run.change_rate, run.new_ids[~run.is_burn_in, 0]
    show_numbers(
        {
            "masked_panels.gibbs_steps_done": t(
                "masked_panels.count", count=run.num_steps
            ),
            "masked_panels.change_rate": (
                t("masked_panels.not_yet") if np.isnan(rate) else percent(rate)
            ),
            "masked_panels.words_drawn": t(
                "masked_panels.count", count=len(np.unique(counted))
            ),
            "masked_panels.share_kept": percent(run.share_kept),
        }
    )
    if run.num_steps > 1:
        _show_picture(chain, run)
    _show_last_steps(run)
    st.download_button(
        t("masked_panels.gibbs_csv"),
        lambda: table_csv(chain_columns(run)),
        file_name=plain("app.csv_file", name="gibbs_chain"),
        mime="text/csv",
        key="masked_gibbs_csv",
        icon=":material/download:",
        on_click="ignore",
    )
    st.caption(t("masked_panels.gibbs_lesson"))


def chain_columns(run: GibbsRun) -> dict[str, list[Any]]:
    """A row for every step, with the sentence after it, for a CSV file."""
    words = run.words
    return {
        plain("masked_panels.step"): _step_numbers(run).tolist(),
        plain("masked_panels.position"): run.positions[:, 0].tolist(),
        plain("masked_panels.before"): [words[int(i)] for i in run.old_ids[:, 0]],
        plain("masked_panels.after"): [words[int(i)] for i in run.new_ids[:, 0]],
        plain("masked_panels.changed"): run.has_changed[:, 0].astype(int).tolist(),
        plain("masked_panels.burn_in"): run.is_burn_in.astype(int).tolist(),
        plain("masked_panels.probability"): np.exp(run.log_probs[:, 0]).tolist(),
        plain("masked_panels.entropy"): run.entropy_bits[:, 0].tolist(),
        plain("masked_panels.sentence"): [
            join_pieces([words[int(i)] for i in ids], _ADDED)
            for ids in run.sequences()[1:, 0]
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
        x_title=plain("masked_panels.step"),
        changed=plain("masked_panels.changed_share"),
        entropy=plain("masked_panels.entropy"),
        burn_in_name=plain("masked_panels.burn_in"),
    )
    show_figure(
        figure,
        name="masked_gibbs",
        description=t("masked_panels.gibbs_described", window=_WINDOW),
        columns={
            plain("masked_panels.step"): _step_numbers(run).tolist(),
            plain("masked_panels.changed_share"): rates.tolist(),
            plain("masked_panels.entropy"): entropies.tolist(),
        },
        code=program(
            template,
            model=run.start.model_id,
            num_steps=run.num_steps,
            **settings,
        ),
    )


def _show_last_steps(run: GibbsRun) -> None:
    rows = range(run.num_steps - 1, max(run.num_steps - 1 - _LAST_STEPS, -1), -1)
    numbers, words = _step_numbers(run), run.words
    shown = {
        plain("masked_panels.step"): [int(numbers[row]) for row in rows],
        plain("masked_panels.before"): [words[int(run.old_ids[r, 0])] for r in rows],
        plain("masked_panels.after"): [words[int(run.new_ids[r, 0])] for r in rows],
        plain("masked_panels.probability"): [
            percent(float(np.exp(run.log_probs[row, 0]))) for row in rows
        ],
        plain("masked_panels.burn_in"): [bool(run.is_burn_in[row]) for row in rows],
        plain("masked_panels.sentence"): [
            join_pieces(run.tokens_after(row + 1), _ADDED) for row in rows
        ],
    }
    st.dataframe(shown, hide_index=True, alt=plain("masked_panels.gibbs_table"))


def _step_numbers(run: GibbsRun) -> np.ndarray:
    return run.start.step + np.arange(1, run.num_steps + 1)


def _around(values: np.ndarray) -> np.ndarray:
    """The mean of the steps up to each, at most `_WINDOW` of them, `[S]`."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - _WINDOW, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)
