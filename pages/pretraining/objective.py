"""The two losses of pre-training, piece by piece, for the text of the visit."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.text_objective import Objective, objective_of
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.pretraining import objective_formulas
from bertviz_core.snippets import pretraining as snippets
from bertviz_core.trace import Texts
from pages.layers.wording import numbered
from pages.shared.answers import ask
from pages.shared.choices import choose_named, choose_number
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.tools import Program, program

MAX_SEED = 9999


def choose_draw() -> tuple[float, int]:
    """Draws both choices: the share of the pieces that are drawn, and the seed."""
    first, second = st.columns([3, 1])
    rate = choose_number(
        *(first.slider, t("objective.rate"), 5, 60, 15),
        key="objective_rate",
        format="%d%%",
        help=t("objective.rate_help"),
    )
    seed = choose_number(
        *(second.number_input, t("objective.seed"), 0, MAX_SEED, 1),
        key="objective_seed",
        help=t("objective.seed_help"),
    )
    return rate / 100, seed


@panel
def show_objective(model: str, texts: Texts) -> None:
    """Draws the choices, the sum, and each piece with its loss."""
    st.markdown(t("objective.intro"))
    rate, seed = choose_draw()
    can_follow = bool(texts.pair) and "nsp" in ask(Explorer.info)(model).heads
    is_next = not can_follow or (
        choose_named("objective.truth", ("next", "other"), key="objective_is") == "next"
    )
    choices: dict[str, Any] = {"seed": seed, "rate": rate, "is_next": is_next}
    found = ask(objective_of)(model, texts.text, texts.pair, **choices)
    if not len(found.positions):
        st.info(t("objective.nothing_to_guess"), icon=":material/edit:")
        return
    for formula in objective_formulas(
        found.losses, found.num_places, found.nsp_loss, found.total
    ):
        st.latex(formula)
    st.caption(t("objective.places"))
    if not texts.pair:
        st.caption(t("objective.no_pair"))
    _show_pieces(found, program(snippets.OBJECTIVE, model, texts, **choices))


def _show_pieces(found: Objective, code: Program) -> None:
    losses, worst = found.losses, int(found.losses.argmax())
    all_names = numbered(found.tokens)
    names = [all_names[place] for place in found.positions.tolist()]
    fates = [plain(f"objective.fate_{fate}") for fate in found.fates]
    shown = list(found.shown)
    bars = [
        plain("objective.bar", piece=piece, fate=fate, shown=there)
        for piece, fate, there in zip(names, fates, shown, strict=True)
    ]
    described = t(
        "objective.described",
        count=len(names),
        worst=names[worst],
        loss=float(losses[worst]),
        share=percent(float(np.exp(-losses[worst]))),
    )
    if found.nsp_loss is not None:
        losses = np.append(losses, found.nsp_loss)
        for column in (bars, names):
            column.append(plain("objective.nsp"))
        for column in (fates, shown):
            column.append("")
    show_figure(
        named_bars_figure(bars, losses, title=plain("objective.loss")),
        name="objective_losses",
        description=described,
        columns={
            plain("objective.piece"): names,
            plain("objective.fate"): fates,
            plain("objective.shown"): shown,
            plain("objective.probability"): np.exp(-losses),
            plain("objective.loss"): losses,
        },
        code=code,
    )
