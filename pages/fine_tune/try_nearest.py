"""The rows that the model learned from and that look most alike to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetuned_tasks import nearest_training_rows
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.finetuned_results import NearTrainingRows, ReadText
from bertviz_core.finetune.outcome import RunOutcome
from pages.shared.answers import ask
from pages.shared.export import download_csv
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import plain, t

_NUM_ROWS = 5
# A row that nobody has counted the tokens of.
_USUAL_TOKENS = 40
_DONE = "ft_try_vectors"
# The engine keeps some 128 MB of answers; of what takes more than half of that, the
# next answers leave nothing.
_KEPT_BYTES = 2**26


def show_nearest(outcome: RunOutcome, read: ReadText) -> None:
    """Draws the nearest rows with their labels."""
    num_rows = int(outcome.recipe.get("training_rows", 0))
    size = ask(Explorer.info)(read.model_id).config.hidden_size
    are_kept = num_rows * size * np.dtype("float32").itemsize <= _KEPT_BYTES
    # While the engine keeps the vectors of the rows, another text takes one pass.
    is_known = are_kept and st.session_state.get(_DONE) == outcome.run_id
    found = ask_job(
        "ft_try_nearest",
        t("fine_tune_results.search_rows", count=num_rows),
        ask(nearest_training_rows).about(
            outcome.run_id, read.text, pair=read.pair, count=_NUM_ROWS
        ),
        at_once=is_known or is_short(read.model_id, num_rows, _USUAL_TOKENS),
    )
    if found is None:
        return
    st.session_state[_DONE] = outcome.run_id
    columns = _columns(found, outcome.has_pairs)
    said = _description(found, read)
    st.dataframe(columns, hide_index=True, alt=said)
    st.caption(said)
    download_csv(columns, "ft_try_nearest")


def _columns(found: NearTrainingRows, has_pairs: bool) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        plain("fine_tune_results.cosine"): [
            round(float(value), 4) for value in found.cosines
        ],
        plain("fine_tune_results.label"): [row.label for row in found.rows],
        plain("fine_tune_results.text"): [row.text for row in found.rows],
    }
    if has_pairs:
        second = plain("fine_tune_results.second_text")
        columns[second] = [row.pair or "" for row in found.rows]
    columns[plain("fine_tune_results.row")] = [row.row for row in found.rows]
    return columns


def _description(found: NearTrainingRows, read: ReadText) -> str:
    if read.is_regression:
        return t("fine_tune_results.nearest_numbers", count=found.num_searched)
    label = read.labels[read.best]
    return t(
        "fine_tune_results.nearest_classes",
        alike=sum(row.label == label for row in found.rows),
        shown=len(found.rows),
        label=label,
        count=found.num_searched,
    )
