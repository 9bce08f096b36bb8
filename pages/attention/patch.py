"""Put one hidden state of a sentence into another, and see what comes back."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.cause_results import PatchingMap, Target
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.explorer import Explorer
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.mask_text import normalise_masks
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts
from pages.attention.target import choose_contrast
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel
from pages.shared.text_pair import MOST_CHARACTERS
from pages.shared.watched_answer import Watched

_OTHER = "attention_other"
_SMALLEST_SHARE = 0.5  # of the difference; below it nothing is pointed out


@panel
def explore_patches(model: str, texts: Texts, watched: Watched) -> None:
    """Draws a box for the other sentence, and the map of what each state brings."""
    st.markdown(t("attention.patch_intro", word=watched.name))
    typed = type_linked(
        st.text_input,
        t("attention.patch_other"),
        "",
        key=_OTHER,
        max_chars=MOST_CHARACTERS,
        help=t("attention.patch_other_help"),
    )
    other = normalise_masks(typed)[0].strip()
    contrast = choose_contrast(model, texts, watched)
    if not other:
        st.info(t("attention.patch_empty"), icon=":material/edit:")
        return
    _warn_of_lost_mask(model, Texts(other, texts.pair), watched.target)
    minus = None if contrast is None else contrast.target.index
    result = ask_job(
        "attention_patch",
        t("attention.patch_start"),
        ask(patch_hidden_states).about(
            model,
            clean=texts.text,
            corrupted=other,
            target=watched.target,
            minus=minus,
            clean_pair=texts.pair,
            corrupted_pair=texts.pair,
            cut=True,
        ),
    )
    if result is not None:
        of = {"model": model, "text": texts.text, "pair": texts.pair}
        of |= watched.literals
        code = program(programs.PATCHED, **of, other=other, minus=minus)
        _show(result, watched, contrast, code)


def _warn_of_lost_mask(model: str, other: Texts, target: Target) -> None:
    """Says so if the answer is watched at a token of the other text that is no mask."""
    read = ask(Explorer.tokenize)(model, other.text, other.pair, cut=True)
    if target.head != "mlm" or target.position >= read.num_tokens:
        return
    if target.position not in read.mask_positions:
        st.warning(
            t("attention.patch_no_mask", token=read.tokens[target.position]),
            icon=":material/visibility:",
        )


def _show(
    result: PatchingMap, watched: Watched, contrast: Watched | None, code: Program
) -> None:
    recovered = result.recovered
    tokens = [
        clean if clean == corrupted else f"{corrupted} ← {clean}"
        for clean, corrupted in zip(
            result.clean.tokens, result.corrupted.tokens, strict=True
        )
    ]
    rows = [plain("attention.input_row"), *map(str, range(1, len(recovered)))]
    share, best = _strongest_between(recovered, rows, tokens)
    show_figure(
        value_map_figure(
            recovered,
            rows,
            tokens,
            title=plain("attention.recovered"),
            row_title=plain("attention.after_layer"),
            column_title=plain("attention.token"),
            is_signed=True,
            digits=3,
        ),
        name="attention_patch",
        description=t(
            f"attention.patch_described{'' if contrast is None else '_contrast'}",
            word=watched.name,
            best=best,
            clean=result.clean_score,
            corrupted=result.corrupted_score,
            **({} if contrast is None else {"other": contrast.name}),
        ),
        columns={
            plain("attention.after_layer"): [row for row in rows for _ in tokens],
            plain("attention.token"): [token for _ in rows for token in tokens],
            plain("attention.recovered"): recovered.ravel().tolist(),
        },
        code=code,
    )
    if share < _SMALLEST_SHARE:
        st.caption(t("attention.patch_spread"))


def _strongest_between(
    recovered: np.ndarray, rows: list[str], tokens: list[str]
) -> tuple[float, Markdown]:
    """What the best state brings back, and the sentence about it.

    A changed token's embedding, and the last state of the token that is read, bring
    everything back by themselves: what is to be found lies between.
    """
    between = recovered[1:-1]
    if not between.size:
        return 1.0, Markdown(t("attention.patch_none_between"))
    layer, token = np.unravel_index(np.argmax(between), between.shape)
    share, row = float(between[layer, token]), rows[int(layer) + 1]
    said = t("attention.patch_best", row=row, token=tokens[int(token)], share=share)
    return share, Markdown(said)
