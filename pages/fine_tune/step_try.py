"""Step 5, first part: the model on texts of one's own, and why it says so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from bertviz_core.analysis.word_scores import word_scores
from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.engine.finetuned_tasks import nearest_training_rows
from bertviz_core.experiments.attribution import AttributionSettings, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.explorer import Explorer
from bertviz_core.figures.class_bars import class_bars_figure
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.finetune.nearest_rows import NearTrainingRows
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.row_prediction import ReadText, read_text
from bertviz_core.trace import Texts
from pages.fine_tune.running import share
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.text_boxes import begin_boxes, fill_boxes, row_texts, type_texts
from pages.fine_tune.try_table import Classifier, predict_file
from pages.fine_tune.widgets import button, choose_panel, draw_figure, show_table
from pages.fine_tune.wording import lease
from pages.shared.answers import ask
from pages.shared.attribution import BASELINES, METHODS, is_soon, show_completeness
from pages.shared.choices import choose_named
from pages.shared.errors import shown_to_user
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import Markdown
from pages.shared.models import say_if_unread
from pages.shared.page_head import model_at_work

PANELS = ("words", "nearest")
_PLACE, _BOX = "ft_try", ("ft_try_text", "ft_try_pair")
_MOST_CHARACTERS = 5000
_MOST_DRAWN = 25  # words
_LARGE = 0.1  # smaller scores need more digits
_NUM_ROWS = 5  # of the nearest
# A row that nobody has counted the tokens of.
_USUAL_TOKENS = 40
_DONE = "ft_try_vectors"
# The engine keeps some 128 MB of answers; of what takes more than half of that, the
# next answers leave nothing.
_KEPT_BYTES = 2**26


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("fine_tune_results.try_title"), anchor=False)
    st.markdown(t("fine_tune_results.try_intro"))
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    if state.status is None:
        return
    if not state.status.is_own:
        said = t(
            "fine_tune_results.try_by_link",
            title=state.status.request.title or plain("fine_tune_results.untitled"),
        )
        said = in_a_row([said, t("fine_tune_results.try_lease", time=lease())])
        st.info(said, icon=":material/link:")
    else:
        share(state.status)
    request = state.status.request
    try_all(
        Classifier(
            model_id=outcome.model_id,
            has_pairs=outcome.has_pairs,
            max_tokens=request.settings.max_tokens,
            text_column=request.data.columns.text,
            pair_column=request.data.columns.pair or "",
            outcome=outcome,
        )
    )


def try_all(classifier: Classifier) -> None:
    """Draws the model on a text, and on a file."""
    _try_text(classifier)
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
def _try_text(classifier: Classifier) -> None:
    with shown_to_user(stop=False):
        texts = _edit(classifier)
        if texts is None:
            st.info(t("fine_tune_results.try_empty"), icon=":material/edit:")
            return
        limit = classifier.max_tokens
        read = ask(read_text)(classifier.model_id, texts.text, texts.pair, limit)
        say_if_unread(read.model_id, read.tokenized)
        if read.was_cut:
            counts = {
                "count": read.num_tokens_uncut,
                "limit": read.tokenized.num_tokens,
            }
            said = t("fine_tune_results.was_cut", **counts)
            st.warning(said, icon=":material/content_cut:")
        _show_answer(read)
        outcome, panel = classifier.outcome, "words"
        if outcome is not None:  # the rows that it learned from are still here
            label = "fine_tune_results.try_panel"
            panel = choose_panel(label, PANELS, "ft_try_panel")
        kind = "_number" if read.is_regression else ""
        st.markdown(t(f"fine_tune_results.{panel}_intro{kind}"))
        if outcome is None or panel == "words":
            _show_words(read)
        else:
            _show_nearest(outcome, read)


def _edit(classifier: Classifier) -> Texts | None:
    """Draws the boxes; at first they hold a row that was set aside."""
    outcome = classifier.outcome
    if outcome is not None:
        begin_boxes(_PLACE, _BOX, outcome.run_id, lambda: _row(outcome, 0))
    boxes = _BOX if classifier.has_pairs else _BOX[:1]
    labels = {key: t(f"fine_tune_results.{key[3:]}") for key in boxes}
    texts = type_texts(st.text_area, labels, _MOST_CHARACTERS)
    if outcome is not None:
        label = t("fine_tune_results.another_row")
        help_of_it = t("fine_tune_results.another_row_help")
        key, icon = "ft_try_another", "autorenew"
        button(label, key, icon, _next_row, outcome, help=help_of_it)
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
    return row_texts(outcome, index, _BOX, _MOST_CHARACTERS)


def _show_answer(read: ReadText) -> None:
    if read.is_regression:
        label = t("fine_tune_results.says_number", name=read.labels[0])
        value = float(read.outputs[0])
        st.metric(label, plain("fine_tune_results.number", value=value))
        return
    title, label = plain("fine_tune_results.probability"), read.labels[read.best]
    share = Markdown(percent(float(read.outputs[read.best])))
    draw_figure(
        class_bars_figure(read.labels, read.outputs, title),
        name="ft_try_classes",
        description=t("fine_tune_results.says_class", label=label, share=share),
        columns={
            "fine_tune_results.class": read.labels,
            "fine_tune_results.probability": read.outputs,
        },
    )


def _show_words(read: ReadText) -> None:
    index = _choose_class(read)
    method = choose_named(
        "fine_tune_results.method", METHODS, "why", key="ft_try_method"
    )
    st.caption(t(f"fine_tune_results.why_{method}_help"))
    baseline = BASELINES[0]
    if method == "integrated_gradients":
        baseline = choose_named(
            "fine_tune_results.why_baseline", BASELINES, "why", key="ft_try_baseline"
        )
    found = ask_job(
        "ft_try_words",
        t("fine_tune_results.compute"),
        ask(attribute).about(
            read.model_id,
            read.text,
            Target("classifier", index),
            pair=read.pair,
            settings=AttributionSettings(baseline=baseline),
            cut=True,
        ),
        at_once=is_soon(read.model_id, read.tokenized.num_tokens),
    )
    if found is None:
        return
    kind = "number" if read.is_regression else "log"
    numbers = {
        f"why_{kind}_value": found.value,
        "why_start_value": found.baseline_value,
    }
    show_completeness(
        {
            f"fine_tune_results.{name}": plain(
                "fine_tune_results.three_digits", value=value
            )
            for name, value in numbers.items()
        },
        found,
        label=read.labels[index],
    )
    _draw_words(found, method, read, index)


def _choose_class(read: ReadText) -> int:
    if read.is_regression:
        return 0
    chosen = st.selectbox(
        t("fine_tune_results.why_class"),
        range(len(read.labels)),
        index=read.best,
        format_func=lambda index: read.labels[index],
        # With another answer of the model the choice begins there again.
        key=f"ft_try_class_{read.best}",
        help=t("fine_tune_results.why_class_help"),
    )
    return read.best if chosen is None else chosen


def _draw_words(found: Attribution, method: str, read: ReadText, index: int) -> None:
    words = word_scores(found.tokenized, found.scores[found.methods.index(method)])
    known = np.nan_to_num(words.values)
    strongest = int(np.abs(known).argmax())
    value = float(known[strongest])
    # The strongest words, in the order of the text.
    chosen = np.sort(np.argsort(-np.abs(known), kind="stable")[:_MOST_DRAWN])
    names = [f"{i + 1} {words.words[i]}" for i in chosen.tolist()]
    does = "raises" if read.is_regression else "speaks"
    digits = 2 if abs(value) >= _LARGE else 4
    title = plain(f"fine_tune_results.why_{does}")
    scores = zip(found.methods, found.scores, strict=True)
    draw_figure(
        signed_bars_figure(names, words.values[chosen], title, digits=digits),
        name="ft_try_words",
        description=t(
            "fine_tune_results.why_described",
            label=read.labels[index],
            word=words.words[strongest],
            value=value,
        ),
        columns={
            "fine_tune_results.token": found.tokenized.tokens,
            **{f"fine_tune_results.why_{one}": row for one, row in scores},
        },
    )
    if len(chosen) < len(words.words):
        st.caption(t("fine_tune_results.words_left_out", count=len(chosen)))


def _show_nearest(outcome: RunOutcome, read: ReadText) -> None:
    """Draws the rows that the model learned from and that look most alike to it."""
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
    columns = {
        "fine_tune_results.cosine": [round(float(c), 4) for c in found.cosines],
        "fine_tune_results.label": [row.label for row in found.rows],
        "fine_tune_results.text": [row.text for row in found.rows],
    }
    if outcome.has_pairs:
        columns["fine_tune_results.second_text"] = [r.pair or "" for r in found.rows]
    columns["fine_tune_results.row"] = [row.row for row in found.rows]
    show_table(columns, _say_nearest(found, read), "ft_try_nearest")


def _say_nearest(found: NearTrainingRows, read: ReadText) -> str:
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
