"""Step 5, first part: the model on texts of one's own."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.figures.class_bars import class_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.finetune.finetuned_results import ReadText
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.row_prediction import read_text
from bertviz_core.trace import Texts
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.text_boxes import begin_boxes, fill_boxes, row_texts, type_texts
from pages.fine_tune.try_nearest import show_nearest
from pages.fine_tune.try_table import Classifier, predict_file
from pages.fine_tune.try_words import show_words
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.models import say_if_unread
from pages.shared.page_head import model_at_work

PANELS = ("words", "nearest")
_PLACE, _BOX = "ft_try", ("ft_try_text", "ft_try_pair")
_MOST_CHARACTERS = 5000


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("fine_tune_results.try_title"), anchor=False)
    st.markdown(t("fine_tune_results.try_intro"))
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    if state.status is None:
        return
    request = state.status.request
    classifier = Classifier(
        model_id=outcome.model_id,
        has_pairs=outcome.has_pairs,
        max_tokens=request.settings.max_tokens,
        text_column=request.data.columns.text,
        pair_column=request.data.columns.pair or "",
        outcome=outcome,
    )
    try_text(classifier)
    st.subheader(t("fine_tune_results.table_title"), anchor=False)
    predict_file(classifier)


def begin_with(examples: Mapping[str, tuple[str, str]], language: str) -> None:
    """Fills the boxes where nobody has typed, and takes over another language."""
    known = {key: {pair[i] for pair in examples.values()} for i, key in enumerate(_BOX)}
    for key, example in zip(_BOX, examples[language], strict=True):
        is_empty = key not in st.session_state and key not in st.query_params
        if is_empty or st.session_state.get(key) in known[key]:
            st.session_state[key] = example


@st.fragment
def try_text(classifier: Classifier) -> None:
    """Draws the boxes, what the model says, and why."""
    with shown_to_user(stop=False):
        texts = _edit(classifier)
        if not texts.text or texts.pair == "":
            st.info(t("fine_tune_results.try_empty"), icon=":material/edit:")
            return
        read = ask(read_text)(
            classifier.model_id, texts.text, texts.pair, classifier.max_tokens
        )
        say_if_unread(read.model_id, read.tokenized)
        if read.was_cut:
            limit = read.tokenized.num_tokens
            count = read.num_tokens_uncut
            st.warning(
                t("fine_tune_results.was_cut", count=count, limit=limit),
                icon=":material/content_cut:",
            )
        _show_answer(read)
        _explain(read, classifier.outcome)


def _explain(read: ReadText, outcome: RunOutcome | None) -> None:
    kind = "_number" if read.is_regression else ""
    panel = "words"
    if outcome is not None:  # the rows that it learned from are still here
        panel = choose_named(
            "fine_tune_results.try_panel",
            PANELS,
            "panel",
            key="ft_try_panel",
            widget=st.pills,
        )
    st.markdown(t(f"fine_tune_results.{panel}_intro{kind}"))
    if outcome is None or panel == "words":
        show_words(read)
    else:
        show_nearest(outcome, read)


def _edit(classifier: Classifier) -> Texts:
    """Draws the boxes; at first they hold a row that was set aside."""
    outcome = classifier.outcome
    boxes = _boxes(classifier.has_pairs)
    if outcome is not None:
        begin_boxes(_PLACE, _BOX, outcome.run_id, lambda: _row(outcome, 0))
    labels = {key: t(f"fine_tune_results.{key[3:]}") for key in boxes}
    texts = type_texts(st.text_area, labels, _MOST_CHARACTERS)
    if outcome is not None:
        st.button(
            t("fine_tune_results.another_row"),
            icon=":material/autorenew:",
            key="ft_try_another",
            help=t("fine_tune_results.another_row_help"),
            on_click=_next_row,
            args=(outcome,),
        )
    return texts


def _next_row(outcome: RunOutcome) -> None:
    """Takes the next of the rows that were set aside. A callback."""
    place = st.session_state.get("ft_try_row", 0) + 1
    with shown_to_user(stop=False):
        texts = _row(outcome, place % len(outcome.report.targets))
        fill_boxes(_PLACE, outcome.run_id, texts)


def _row(outcome: RunOutcome, index: int) -> dict[str, str]:
    """A row that was set aside, by box; it counts as the one that is looked at."""
    st.session_state["ft_try_row"] = index
    boxes = _boxes(outcome.has_pairs)
    return row_texts(outcome.run_id, index, boxes, _MOST_CHARACTERS)


def _boxes(has_pairs: bool) -> tuple[str, ...]:
    return _BOX if has_pairs else _BOX[:1]


def _show_answer(read: ReadText) -> None:
    if read.is_regression:
        st.metric(
            t("fine_tune_results.says_number", name=read.labels[0]),
            plain("fine_tune_results.number", value=float(read.outputs[0])),
        )
        return
    share = Markdown(percent(float(read.outputs[read.best])))
    show_figure(
        class_bars_figure(
            read.labels, read.outputs, plain("fine_tune_results.probability")
        ),
        name="ft_try_classes",
        description=t(
            "fine_tune_results.says_class",
            label=read.labels[read.best],
            share=share,
        ),
        columns={
            plain("fine_tune_results.class"): list(read.labels),
            plain("fine_tune_results.probability"): read.outputs.tolist(),
        },
    )
