"""What enters the first block: the sum of three vectors, and those of positions."""

from itertools import combinations

import numpy as np
import streamlit as st

from bertviz_core.analysis.position_geometry import OUTLIER_SCORE, PositionGeometry
from bertviz_core.experiments.embedding_results import PARTS, InputSum
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    take_input_apart,
)
from bertviz_core.experiments.map_results import DrawnMap
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.embedding_positions import chain_figure
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.figures.square_map import square_map_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import choose_place, quality_sentence
from pages.shared.answers import answer, ask
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_curves, show_figure, show_table
from pages.shared.language import escape, plain, t
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import Program, panel, program

# Strips: the three parts and their sum on one scale, what the norm makes of it alone.
_NUM_ON_ONE_SCALE = len(PARTS) + 1
# Of the largest number: what float32 may lose on the way through a layer norm. The
# bundled models lose 2e-7 of it.
_ROUNDING = 1e-6


@panel
def explore_input(model: str) -> None:
    """Draws the text, the strips, the lengths and the arithmetic of one number."""
    texts = type_sentence(model)
    parts = ask(take_input_apart).about(model, texts.text, texts.pair)
    read, found = read_by(model, texts, parts), answer(parts)
    boxes = st.columns([3, 1])
    with boxes[0]:
        token = choose_piece_in_focus(read).token
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


_COSINES = (-1.05, 1.05)
_AXES = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}


@panel
def explore_positions(model: str) -> None:
    """Draws one of three views of the positions, and what stands apart."""
    found = ask(measure_positions)(model)
    views = {"matrix": _show_matrix, "chain": _show_chain, "curve": _show_curve}
    code = program(programs.POSITIONS, model)
    views[choose_named("embeddings.positions_view", list(views))](found, code)
    _show_apart(found)


def _show_matrix(found: PositionGeometry, code: Program) -> None:
    size = len(found.norms)
    row = choose_place("position", size, size // 2 + 1) - 1
    position = plain("embeddings.position")
    show_figure(
        square_map_figure(
            found.cosines,
            title=plain("embeddings.cosine"),
            side_title=position,
            is_signed=True,
            marked=row,
        ),
        name="embeddings_position_matrix",
        description=t(
            "embeddings.matrix_described",
            size=size,
            near=float(found.by_distance[1]),
            far=float(found.by_distance[size // 2]),
        ),
        columns={
            position: list(range(1, size + 1)),
            **{str(i + 1): found.cosines[i].tolist() for i in range(size)},
        },
    )
    show_curves(
        {"embeddings.cosine": found.cosines[row].astype(np.float64)},
        position,
        range(1, size + 1),
        name="embeddings_position_row",
        description=t("embeddings.row_described", number=row + 1),
        bounds=_COSINES,
        code=code,
    )


def _show_chain(found: PositionGeometry, code: Program) -> None:
    pairs = list(combinations(range(len(found.explained)), 2))
    options = [name for name, axes in _AXES.items() if max(axes) < len(found.explained)]
    widget, label = st.segmented_control, "embeddings.position_axes"
    chosen = choose_linked(widget, label, options or ["1-2"], required=True)
    axes = list(_AXES[chosen])
    titles = [
        plain("embeddings.axis", number=a + 1, share=float(found.explained[a]))
        for a in axes
    ]
    points = found.coordinates[:, axes]
    share = float(found.explained[axes].sum())
    show_figure(
        chain_figure(
            points,
            x_title=titles[0],
            y_title=titles[1],
            order=plain("embeddings.position"),
        ),
        name="embeddings_position_chain",
        description=t("embeddings.chain_described", size=len(points), share=share),
        columns={
            "embeddings.position": list(range(1, len(points) + 1)),
            titles[0]: points[:, 0].tolist(),
            titles[1]: points[:, 1].tolist(),
        },
        code=code,
    )
    quality = found.qualities[pairs.index((axes[0], axes[1]))]
    drawn = DrawnMap("pca", points, quality, share)
    st.caption(escape(quality_sentence(drawn)))


def _show_curve(found: PositionGeometry, code: Program) -> None:
    distance = choose_place("distance", len(found.norms) - 1)
    apart = found.cosines.diagonal(distance).astype(np.float64)
    place = int(apart.argmin()) + 1
    show_curves(
        {"embeddings.cosine": apart},
        "embeddings.position",
        range(1, len(apart) + 1),
        name="embeddings_neighbour_curve",
        description=t(
            "embeddings.curve_described",
            distance=distance,
            mean=float(apart.mean()),
            lowest=float(apart.min()),
            place=place,
            other=place + distance,
        ),
        bounds=_COSINES,
    )
    show_curves(
        {"embeddings.cosine": found.by_distance},
        "embeddings.distance",
        name="embeddings_by_distance",
        description=t("embeddings.by_distance_described"),
        bounds=_COSINES,
        code=code,
    )


def _show_apart(found: PositionGeometry) -> None:
    st.subheader(t("embeddings.apart_title"), anchor=False)
    apart = found.standing_apart
    if not len(apart):
        st.info(t("embeddings.none_apart", limit=OUTLIER_SCORE), icon=":material/info:")
        return
    show_table(
        {
            "embeddings.position": apart + 1,
            "embeddings.length": found.norms[apart],
            "embeddings.length_score": found.norm_scores[apart],
            "embeddings.near_cosine": found.near_cosines[apart],
            "embeddings.near_score": found.near_scores[apart],
        },
        t("embeddings.apart_title"),
    )
    st.caption(
        t(
            "embeddings.apart_explained",
            count=len(apart),
            size=len(found.norms),
            limit=OUTLIER_SCORE,
            length=float(np.median(found.norms)),
            near=float(np.median(found.near_cosines)),
        )
    )
