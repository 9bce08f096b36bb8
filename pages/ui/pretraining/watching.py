"""A tiny network learns a page of text, and is asked the same thing over and over."""

from __future__ import annotations

from typing import Any

import streamlit as st

from bertviz_core.engine.pretraining_tasks import pretrain_tiny
from bertviz_core.figures.tiny_pretraining import TinyWords, tiny_loss_figure
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.pretrain.tiny_results import (
    MAX_TINY_CHARACTERS,
    MAX_TINY_STEPS,
    TinyLook,
    TinyRun,
)
from bertviz_core.sentences import FIRST_QUESTIONS, first_page
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import Wording, ask_job
from pages.ui.language import current_language, plain, t

_SMALLEST_STEPS, _STEPS = 100, 400
_MAX_SEED = 9999


@st.fragment
def explore_pretraining() -> None:
    """Draws what to learn from, the button, and the network while it learns."""
    page, sentence = _choose_texts()
    num_steps, seed = _choose_run()
    with shown_to_user(stop=False):
        run = ask_job(
            "pretrain_tiny",
            t("pretraining.start"),
            ask(pretrain_tiny).about(page, sentence, num_steps=num_steps, seed=seed),
            wording=Wording(
                working=lambda share: t("pretraining.working", share=share)
            ),
            show=_show_so_far,
        )
        if run is not None:
            _show_whole(run)


def _choose_texts() -> tuple[str, str]:
    language = choose_linked(
        st.segmented_control,
        t("pretraining.language"),
        _languages(),
        key="pretraining_language",
        format_func=lambda name: plain(f"pretraining.page_{name}"),
    )
    page = st.text_area(
        t("pretraining.page"),
        first_page(language),
        key=f"pretraining_page_{language}",
        height=200,
        max_chars=MAX_TINY_CHARACTERS,
        help=t("pretraining.page_help"),
    )
    sentence = st.text_input(
        t("pretraining.sentence"),
        FIRST_QUESTIONS[language],
        key=f"pretraining_sentence_{language}",
        bind="query-params",
        max_chars=200,
        help=t("pretraining.sentence_help"),
    )
    return page or "", sentence or ""


def _languages() -> tuple[str, ...]:
    """The reader's own first: the first one is the default."""
    return ("zh", "en") if current_language() == "zh" else ("en", "zh")


def _choose_run() -> tuple[int, int]:
    first, second = st.columns([3, 1])
    num_steps = first.slider(
        t("pretraining.steps"),
        _SMALLEST_STEPS,
        MAX_TINY_STEPS,
        _STEPS,
        step=100,
        key="pretraining_steps",
        bind="query-params",
        help=t("pretraining.steps_help"),
    )
    seed = second.number_input(
        t("pretraining.seed"),
        0,
        _MAX_SEED,
        1,
        key="pretraining_seed",
        bind="query-params",
        help=t("pretraining.seed_help"),
    )
    return num_steps, int(seed)


def _show_so_far(raw: dict[str, Any]) -> None:
    run = TinyRun.from_dict(raw)
    _show_sizes(run)
    _show_look(run, run.looks[-1])
    _show_loss(run, is_whole=False)


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
    _show_loss(run, is_whole=True)


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


def _show_loss(run: TinyRun, *, is_whole: bool) -> None:
    words = TinyWords(
        **{
            name: plain(f"pretraining.figure_{name}")
            for name in ("step", "loss", "network", "chance", "frequency")
        }
    )
    figure = tiny_loss_figure(run, words)
    set_titles_upright(figure)  # at once, or it would move at the end
    last = run.looks[-1]
    if last.loss is None:
        return
    description = t(
        "pretraining.loss_described",
        step=last.num_steps,
        loss=last.loss,
        chance=run.chance_loss,
        frequency=run.frequency_loss,
        right=last.accuracy,
    )
    if not is_whole:
        st.plotly_chart(figure, key="pretraining_live")
        st.caption(description)
        return
    show_figure(
        figure,
        name="pretraining_loss",
        description=description,
        columns={
            plain("pretraining.figure_step"): [k.num_steps for k in run.looks],
            plain("pretraining.figure_loss"): [k.loss for k in run.looks],
            plain("pretraining.right"): [k.accuracy for k in run.looks],
            plain("pretraining.best_word"): [k.guesses[0][0] for k in run.looks],
            plain("pretraining.its_share"): [k.guesses[0][1] for k in run.looks],
        },
    )
