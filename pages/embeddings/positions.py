"""Position embeddings: how alike they are, the chain they form, which stand apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import streamlit as st

from bertviz_core.analysis.position_geometry import OUTLIER_SCORE, PositionGeometry
from bertviz_core.experiments.embedding_tables import measure_positions
from bertviz_core.experiments.map_results import DrawnMap
from bertviz_core.figures.embedding_positions import chain_figure
from bertviz_core.figures.square_map import square_map_figure
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import quality_sentence
from pages.embeddings.widgets import choose_place
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_curves, show_figure, show_table
from pages.shared.language import plain, t
from pages.shared.markdown import escape
from pages.shared.panel import panel
from pages.shared.tools import Program, program

_COSINES = (-1.05, 1.05)
_AXES = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}


@panel
def explore_positions(model: str) -> None:
    """Draws one of three views of the positions, and what stands apart."""
    st.markdown(t("embeddings.positions_intro"))
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
    chosen = choose_linked(
        st.segmented_control,
        "embeddings.axes",
        options or ["1-2"],
        key="embeddings_position_axes",
        required=True,
    )
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
