"""Points to take away: for a spreadsheet, and for the TensorFlow projector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from bertviz_core.analysis.projector_files import metadata_tsv, vectors_tsv
from bertviz_core.experiments.map_results import MAX_EXPORTED_NUMBERS
from pages.shared.export import download_csv
from pages.shared.language import plain, t

# As text.
_BYTES_A_NUMBER = 12
# As the projector's own documents name them.
_VECTORS, _METADATA = "vectors.tsv", "metadata.tsv"


@dataclass(frozen=True)
class MapFiles:
    """What can be taken away of a map of M points.

    `explained` is Markdown; `table` has columns of M values in the words of the reader,
    `metadata` the same for the projector, whose files are alike in all languages, the
    name of a point first; `coordinates` are float `[M, k]`. `worth` says what the map
    is worth, and its seed; `vectors`, `[M, size]`, are of the full space and need none.
    """

    explained: str
    table: Mapping[str, Sequence[object]]
    metadata: Mapping[str, Sequence[object]]
    coordinates: np.ndarray
    worth: Mapping[str, object]
    size: int
    vectors: Callable[[], np.ndarray]


def offer_files(key: str, collect: Callable[[], MapFiles]) -> None:
    """Draws the files of a map in a popover; they are made once it is opened."""
    files = st.popover(
        t("embeddings.files"),
        icon=":material/download:",
        key=f"{key}_files",
        on_change="rerun",
    )
    if not files.open:
        return
    found = collect()
    count = len(found.coordinates)
    with files:
        st.caption(found.explained)
        axes = {
            plain("embeddings.axis_column", number=number): places
            for number, places in enumerate(found.coordinates.T.tolist(), start=1)
        }
        worth = {name: [value] * count for name, value in found.worth.items()}
        download_csv({**found.table, **axes, **worth}, key)
        offer_tsv(key, found.size, found.vectors, found.metadata)


def offer_tsv(
    key: str,
    size: int,
    vectors: Callable[[], np.ndarray],
    metadata: Mapping[str, Sequence[object]],
) -> None:
    """Draws the buttons for both files of the projector; made when clicked.

    `vectors` gives `[M, size]`; `metadata` has columns of M values, the name first.
    """
    count = len(next(iter(metadata.values())))
    if count > (limit := MAX_EXPORTED_NUMBERS // size):
        told = t("embeddings.too_many_for_file", limit=limit, count=count)
        st.info(told, icon=":material/info:")
        return
    if not count:
        st.info(t("embeddings.nothing_left"), icon=":material/filter_alt_off:")
        return
    st.download_button(
        t("embeddings.vectors_tsv", size=count * size * _BYTES_A_NUMBER / 1e6),
        lambda: vectors_tsv(vectors()).encode("utf-8"),
        file_name=_VECTORS,
        mime="text/tab-separated-values",
        key=f"{key}_vectors",
        on_click="ignore",
    )
    st.download_button(
        t("embeddings.metadata_tsv"),
        lambda: metadata_tsv(metadata).encode("utf-8"),
        file_name=_METADATA,
        mime="text/tab-separated-values",
        key=f"{key}_metadata",
        on_click="ignore",
    )
