"""How alike the layers see the tokens of the text."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.layer_similarity import FORMULA
from bertviz_core.experiments.residual_stream import layer_similarity
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import layers
from bertviz_core.trace import Texts
from pages.shared.answers import ask
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel


@panel
def compare_layers(model: str, texts: Texts) -> None:
    """Draws every two layers against each other."""
    st.markdown(t("layers.similarity_intro"))
    st.latex(FORMULA)
    found = ask(layer_similarity)(model, texts)
    names = [plain("layers.part_embeddings")]
    names += [
        plain("layers.part_layer", number=number) for number in range(1, len(found))
    ]
    # What each layer makes new: the less it is like the one before it.
    steps = np.diag(found, k=1)
    least = 0 if np.isnan(steps).all() else int(np.nanargmin(steps))
    show_figure(
        value_map_figure(
            found,
            names,
            names,
            title=plain("layers.similarity"),
            row_title="",
            column_title="",
            is_signed=False,
            digits=3,
            is_paired=True,
        ),
        name="layers_similarity",
        description=t(
            "layers.similarity_described",
            first=names[least],
            second=names[least + 1],
            least=float(steps[least]),
            ends=float(found[0, -1]),
        ),
        columns={plain("layers.layer"): names}
        | {name: row.tolist() for name, row in zip(names, found, strict=True)},
        code=program(layers.SIMILARITY, model=model, text=texts.text, pair=texts.pair),
    )
