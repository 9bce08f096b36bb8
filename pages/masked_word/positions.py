"""What the model would write at every place, and how surprised it is."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.word_results import EveryPosition
from bertviz_core.figures.token_grid import token_grid_figure
from bertviz_core.snippets import masked_sentences
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.export import show_figure
from pages.shared.jobs import ask_soon
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.tools import program

_HOW = ("hidden", "seen")


@panel
def explore_positions(question: Question) -> None:
    """Draws the text with how surprising each word is, and a table."""
    st.markdown(t("masked_panels.positions_intro"))
    how = choose_named(
        "masked_panels.positions_how", _HOW, "positions", key="masked_positions_how"
    )
    st.caption(t(f"masked_panels.positions_{how}_help"))
    size = question.tokenized.num_tokens
    passes = size if how == "hidden" else 1
    found = ask_soon(
        "masked_positions",
        ask(predict_every_position).about(
            question.model, question.text, masked=how == "hidden"
        ),
        num_passes=passes,
        num_tokens=size,
    )
    if found is None:
        return
    tokens = [found.tokenized.tokens[int(place)] for place in found.positions]
    show_figure(
        token_grid_figure(
            tokens,
            found.surprisal_bits,
            [
                _hint(int(rank), row[0])
                for rank, row in zip(found.ranks, found.top_tokens, strict=True)
            ],
            title=plain("masked_panels.surprisal"),
        ),
        name="masked_positions_map",
        description=_described(found, tokens),
        columns={
            "masked_panels.token": tokens,
            "masked_panels.surprisal": found.surprisal_bits,
            "masked_panels.rank": [int(r) or None for r in found.ranks],
            "masked_panels.best": [row[0] for row in found.top_tokens],
            "masked_panels.probability": np.exp(found.top_log_probs[:, 0]).tolist(),
            "masked_panels.entropy": found.entropy_bits,
        },
        code=program(
            masked_sentences.EVERY_POSITION, **question.program, masked=how == "hidden"
        ),
    )


def _hint(rank: int, best: str) -> str:
    """What the pointer shows; 0 is the rank of a mask, where no word stands."""
    if not rank:
        return plain("masked_panels.position_hover_mask", best=best)
    return plain("masked_panels.position_hover", rank=rank, best=best)


def _described(found: EveryPosition, tokens: list[str]) -> str:
    known = np.nan_to_num(found.surprisal_bits, nan=-1.0)
    most = int(known.argmax())
    if known[most] < 0:
        return t("masked_panels.positions_all_masks")
    return t(
        "masked_panels.positions_described",
        token=tokens[most],
        bits=float(known[most]),
        rank=int(found.ranks[most]),
    )
