"""A tiny network learns a page of text, and is asked the same thing over and over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from bertviz_core.engine.training_tasks import pretrain_tiny
from bertviz_core.experiments.tiny_results import (
    MAX_TINY_CHARACTERS,
    MAX_TINY_STEPS,
    TinyLook,
    TinyRun,
)
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.sentences import FIRST_QUESTIONS, bundled_text
from pages.shared.answers import Wording, ask, ask_job
from pages.shared.choices import choose_named, choose_number, type_linked
from pages.shared.export import show_figure
from pages.shared.language import current_language, plain, t
from pages.shared.panel import panel

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MAX_SEED = 9999


@panel
def explore_pretraining() -> None:
    """Draws what to learn from, the button, and the network while it learns."""
    # The reader's own first: the first one is the default.
    language = choose_named(
        "pretraining.language",
        ("zh", "en") if current_language() == "zh" else ("en", "zh"),
        "page",
    )
    page = type_linked(
        st.text_area,
        "pretraining.page",
        bundled_text("first_page", language),
        key=f"pretraining_page_{language}",
        is_main=True,
        max_chars=MAX_TINY_CHARACTERS,
        height=200,
    )
    sentence = type_linked(
        st.text_input,
        "pretraining.sentence",
        FIRST_QUESTIONS[language],
        key=f"pretraining_sentence_{language}",
        max_chars=200,
    )
    first, second = st.columns([3, 1])
    num_steps = choose_number(
        first.slider, "pretraining.steps", 100, MAX_TINY_STEPS, 400, step=100
    )
    seed = choose_number(second.number_input, "pretraining.seed", 0, _MAX_SEED, 1)
    run = ask_job(
        "pretrain_tiny",
        t("pretraining.start"),
        ask(pretrain_tiny).about(page, sentence, num_steps=num_steps, seed=seed),
        wording=Wording(working=lambda share: t("pretraining.working", share=share)),
        show=_show_so_far,
    )
    if run is not None:
        _show_whole(run)


def _show_so_far(raw: dict[str, Any]) -> None:
    run = TinyRun.from_dict(raw)
    _show_sizes(run)
    _show_look(run, run.looks[-1])
    if run.looks[-1].loss is not None:
        figure, described = _loss(run)
        st.plotly_chart(figure, key="pretraining_live")
        st.caption(described)


def _show_whole(run: TinyRun) -> None:
    _show_sizes(run)
    steps = [look.num_steps for look in run.looks]
    chosen = st.select_slider(
        t("pretraining.look_back"),
        steps,
        steps[-1],
        key="pretraining_look",
        help=t("pretraining.look_back_help"),
    )
    _show_look(run, run.looks[steps.index(chosen)])
    beaten = run.below_frequency
    if beaten is None:
        st.info(t("pretraining.never_beaten"), icon=":material/info:")
    else:
        st.info(t("pretraining.beaten", step=beaten), icon=":material/flag:")
    figure, described = _loss(run)
    show_figure(
        figure,
        name="pretraining_loss",
        description=described,
        columns={
            plain("pretraining.figure_step"): steps,
            plain("pretraining.figure_loss"): [k.loss for k in run.looks],
            plain("pretraining.right"): [k.accuracy for k in run.looks],
            plain("pretraining.best_word"): [k.guesses[0][0] for k in run.looks],
            plain("pretraining.its_share"): [k.guesses[0][1] for k in run.looks],
        },
    )


def _show_sizes(run: TinyRun) -> None:
    st.caption(
        t(
            "pretraining.sizes",
            weights=run.num_weights,
            words=run.vocab_size,
            tokens=run.num_tokens,
        )
    )


def _show_look(run: TinyRun, look: TinyLook) -> None:
    st.subheader(t("pretraining.guesses_after", step=look.num_steps), anchor=False)
    st.markdown(t("pretraining.asked", sentence=" ".join(run.tokens)))
    for token, probability in look.guesses:
        st.progress(probability, t("pretraining.guess", word=token, share=probability))


def _loss(run: TinyRun) -> tuple[go.Figure, str]:
    """The curve, and what it shows."""
    known = {look.num_steps: look.loss for look in run.looks if look.loss is not None}
    steps = sorted({0, *known, run.num_steps})
    curves = {
        "network": [known.get(step, np.nan) for step in steps],
        "chance": [run.chance_loss] * len(steps),
        "frequency": [run.frequency_loss] * len(steps),
    }
    highest = max(run.chance_loss, *known.values(), 0.0)
    figure = lines_figure(
        {
            plain(f"pretraining.figure_{name}"): np.array(curve)
            for name, curve in curves.items()
        },
        steps,
        x_title=plain("pretraining.figure_step"),
        y_title=plain("pretraining.figure_loss"),
        bounds=(0.0, 1.05 * highest),
    )
    set_titles_upright(figure)  # at once, or it would move at the end
    last = run.looks[-1]
    return figure, t(
        "pretraining.loss_described",
        step=last.num_steps,
        loss=last.loss,
        chance=run.chance_loss,
        frequency=run.frequency_loss,
        right=last.accuracy,
    )
