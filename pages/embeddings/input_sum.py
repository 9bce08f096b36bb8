"""What enters the first block: word, position and segment added up, then normed."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.embedding_results import PARTS, InputSum
from bertviz_core.experiments.embedding_tables import take_input_apart
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.widgets import choose_place
from pages.shared.answers import answer, ask
from pages.shared.export import show_figure, show_table
from pages.shared.language import plain, t
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import panel
from pages.shared.tools import Program, program

# Strips: the three parts and their sum on one scale, what the norm makes of it alone.
_NUM_ON_ONE_SCALE = len(PARTS) + 1
# Of the largest number: what float32 may lose on the way through a layer norm. The
# bundled models lose 2e-7 of it.
_ROUNDING = 1e-6


@panel
def explore_input(model: str) -> None:
    """Draws the text, the strips, the lengths and the arithmetic of one number."""
    st.markdown(t("embeddings.input_intro"))
    texts = type_sentence(model)
    parts = ask(take_input_apart).about(model, texts.text, texts.pair, cut=True)
    read, found = read_by(model, texts, parts), answer(parts)
    boxes = st.columns(2)
    with boxes[0]:
        token = choose_piece_in_focus(read)
    with boxes[1]:
        dimension = choose_place("dimension", found.summed.shape[1]) - 1
    code = program(programs.INPUT_SUM, model, texts, token=token, dimension=dimension)
    _show_strips(found, token, dimension)
    _show_shares(found, token, code)
    _show_arithmetic(found, token, dimension)


def _names() -> list[str]:
    parts = [plain(f"embeddings.part_{name}") for name in PARTS]
    return [*parts, plain("embeddings.part_sum"), plain("embeddings.part_normed")]


def _show_strips(found: InputSum, token: int, dimension: int) -> None:
    values = np.vstack(
        [found.parts[:, token], found.summed[token][None], found.normed[token][None]]
    )
    names = _names()
    show_figure(
        strip_figure(
            values,
            names,
            title="",
            row_title="",
            column_title=plain("embeddings.dimension"),
            is_signed=True,
            apart=_NUM_ON_ONE_SCALE,
            marked=dimension,
        ),
        name="embeddings_strips",
        description=t(
            "embeddings.strips_described",
            token=found.tokenized.tokens[token],
            size=values.shape[1],
            word=float(found.part_norms[0, token]),
            position=float(found.part_norms[1, token]),
            segment=float(found.part_norms[2, token]),
            sum=float(found.sum_norms[token]),
            normed=float(found.normed_norms[token]),
        ),
        columns={
            "embeddings.dimension": list(range(1, values.shape[1] + 1)),
            **{name: row.tolist() for name, row in zip(names, values, strict=True)},
        },
    )
    _show_check(found)


def _show_check(found: InputSum) -> None:
    difference, largest = found.largest_difference, float(np.abs(found.normed).max())
    if difference <= _ROUNDING * largest:
        told = t("embeddings.input_checked", difference=difference)
        st.success(told, icon=":material/check_circle:")
    else:
        told = t("embeddings.input_differs", difference=difference, largest=largest)
        st.warning(told, icon=":material/warning:")


def _show_shares(found: InputSum, token: int, code: Program) -> None:
    st.subheader(t("embeddings.shares_title"), anchor=False)
    names = _names()[: len(PARTS)]
    shares = found.shares[:, token]
    part, share = {"embeddings.part": names}, {"embeddings.share_of_sum": shares}
    length, cosine = found.part_norms[:, token], found.cosines[:, token]
    more = {"embeddings.length": length, "embeddings.cosine_with_sum": cosine}
    show_table(part | more | share, t("embeddings.shares_title"))
    places = {"largest": names[int(np.argmax(shares))], "share": float(shares.max())}
    show_figure(
        signed_bars_figure(names, shares, plain("embeddings.share_of_sum")),
        name="embeddings_shares",
        description=t("embeddings.shares_described", **places),
        columns=part | share,
        code=code,
    )


def _show_arithmetic(found: InputSum, token: int, dimension: int) -> None:
    st.subheader(t("embeddings.arithmetic_title", number=dimension + 1), anchor=False)
    word, position, segment = (float(part[token, dimension]) for part in found.parts)
    total = float(found.summed[token, dimension])
    summed = rf"{word:.5f} + ({position:.5f}) + ({segment:.5f}) = {total:.5f}"
    mean, deviation = float(found.means[token]), float(found.deviations[token])
    gain, bias = float(found.gain[dimension]), float(found.bias[dimension])
    scale = rf"\sqrt{{{deviation:.5f}^2 + {_power(found.epsilon)}}}"
    normed = (
        rf"\frac{{{total:.5f} - ({mean:.5f})}}{{{scale}}} \cdot {gain:.5f} + "
        rf"({bias:.5f}) = {float(found.normed[token, dimension]):.5f}"
    )
    st.latex(summed)
    st.latex(normed)
    st.caption(t("embeddings.arithmetic_explained"))


def _power(value: float) -> str:
    """1e-12 as a formula writes it."""
    mantissa, exponent = f"{value:.0e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"
