"""Step 5, first part: a model on texts of one's own, why it says so, and on a file."""

from pathlib import Path

import numpy as np
import streamlit as st

from bertviz_core.analysis.word_scores import word_scores
from bertviz_core.engine.finetune_tasks import training_outcome
from bertviz_core.engine.finetuned_tasks import nearest_training_rows, predict_table
from bertviz_core.experiments.after_training import NearTrainingRows
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import named_bars_figure, signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import ModelInfo, TrainedInputs
from bertviz_core.training.finetune.columns import TableView, view_table
from bertviz_core.training.finetune.request import RunOutcome, TableSource
from bertviz_core.training.finetune.row_prediction import (
    ReadText,
    TablePredictions,
    read_text,
)
from bertviz_core.training.finetune.visitor_tables import forget_table
from pages.fine_tune.running import share
from pages.fine_tune.state import ROW, STEP, FineTuneState
from pages.fine_tune.step_data import show_layout, upload_table
from pages.fine_tune.widgets import (
    choose_panel,
    lease,
    row_texts,
    share_text,
    show_warnings,
    text_columns,
    type_texts,
)
from pages.shared.answers import ask, ask_job, is_short
from pages.shared.attribution import BASELINES, METHODS, is_soon, show_completeness
from pages.shared.choices import (
    choose_linked,
    choose_named,
    defaults,
    follow_default,
    switch_linked,
    whole_number,
    write_linked,
)
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure, show_table
from pages.shared.file_download import file_link
from pages.shared.language import Markdown, in_a_row, plain, t
from pages.shared.models import OPEN, language_of, say_if_unread, title_of
from pages.shared.navigation import link_to
from pages.shared.page_head import model_at_work
from pages.shared.panel import button, panel
from pages.shared.visitor import hold, owner

_WHICH, _RUN, _CHOSEN = "ft_try_which", "run", "chosen"
# By the language of the model: a text, and a second one for a model that reads two.
EXAMPLES = {
    "en": ("The room was clean, but breakfast was cold.", "The guest liked the room."),
    "zh": ("房间很干净，就是早餐凉了。", "客人对房间满意。"),
}


def can_try(model: str) -> bool:
    """Whether a model says something of a text as a whole."""
    return "classifier" in ask(Explorer.info)(model).heads


def is_tried(state: FineTuneState) -> bool:
    """Whether the chosen model is tried, and not the one that was trained here.

    Where both are there, a choice of the two is drawn.
    """
    if not can_try(state.model) or state.status is None or not state.is_trained:
        return can_try(state.model)
    trained = state.status.model
    if trained is not None and trained.model_id == state.model:
        return False
    names = {
        _RUN: plain("results.try_trained"),
        _CHOSEN: plain("results.try_other", model=title_of(state.model)),
    }
    which = choose_linked(
        st.segmented_control,
        "results.try_which",
        names,
        key=_WHICH,
        required=True,
        on_change=_keep_texts,
    )
    return which == _CHOSEN


def _keep_texts() -> None:
    """Has the other model read the same, as if it had been typed. A callback."""
    for key in _BOX:
        defaults().pop(key, None)


def show_chosen(model: str) -> None:
    """Draws the step for a model without its training."""
    info = ask(Explorer.info)(model)
    st.header(t("results.try_title"), anchor=False)
    st.markdown(t("results.try_chosen_intro", model=title_of(model)))
    if limit := info.trained_inputs.max_tokens:
        st.caption(t("results.try_length", limit=limit))
    _try_all(info, _reads_pairs(info), None)


def explain_classes() -> None:
    """Says which models could be tried without a training, and where they are."""
    st.markdown(t("results.try_needs_classes"))
    link_to("models", "results.load_back", "upload")


def offer_to_try(model: str) -> None:
    """Draws a button on another page that opens this step for a model."""
    if button("results.try_this", "ft_to_try", "labs"):
        st.session_state[STEP] = "try"
        st.session_state[_WHICH] = _CHOSEN
        # Without parameters, Streamlit refuses to leave an address with a choice.
        parameters = {OPEN: model, STEP: "try"}
        st.switch_page("pages/fine_tune/fine_tune.py", query_params=parameters)


def _reads_pairs(info: ModelInfo) -> bool:
    """Whether the model reads two texts; a question where its files do not say."""
    if info.config.type_vocab_size < 2:
        return False
    if info.trained_inputs.has_pairs is not None:
        return info.trained_inputs.has_pairs
    return switch_linked("results.try_two_texts", key="ft_try_pairs")


# Keys of the session: handle and name of the table, and how it is laid out.
TRY_TABLE, _SOURCE = "ft_try_table", "ft_try_table_source"


def _predict_file(info: ModelInfo, has_pairs: bool) -> None:
    """Draws the whole way from a file to the file with predictions."""
    st.markdown(t("results.table_intro"))
    _upload()
    chosen: tuple[str, str] | None = st.session_state.get(TRY_TABLE)
    if chosen is None:
        return
    handle, name = chosen
    st.markdown(t("results.table_chosen", name=name))
    source = st.session_state.get(_SOURCE) or TableSource(handle)
    view = _read(source)
    if view is None:
        return
    text, pair = _choose_columns(view, info.trained_inputs, has_pairs)
    found = ask_job(
        "ft_try_table",
        t("results.predict_all", count=view.num_rows),
        ask(predict_table).about(
            info.model_id, source=source, text_column=text, pair_column=pair
        ),
    )
    if found is None:
        return
    if Path(found.path).is_file():
        _show_predictions(found, name)
    else:
        st.info(t("results.predictions_gone"), icon=":material/timer:")


def _upload() -> None:
    found = upload_table("try_table", t("results.table_upload"))
    if found is None:
        return
    before = st.session_state.get(TRY_TABLE)
    st.session_state[TRY_TABLE] = found
    hold(TRY_TABLE, [found[0]])
    st.session_state.pop(_SOURCE, None)
    if before is not None:
        forget_table(before[0], owner())
    st.rerun()


def _read(source: TableSource) -> TableView | None:
    """Reads the file, says what is lost of it, and lets it be read differently."""
    view = None
    with shown_to_user(stop=False):
        view = ask(view_table)(source)
        show_warnings(view.warnings)

    def take(changed: TableSource) -> None:
        st.session_state[_SOURCE] = changed

    show_layout(source, view, "try_table", take)
    return view


def _choose_columns(
    view: TableView, learned: TrainedInputs, has_pairs: bool
) -> tuple[str, str | None]:
    """The text and, where two are read, the second; at first those that it learned."""
    names, guess = list(view.columns), view.guess
    longest = max(view.profiles, key=lambda column: column.mean_chars)
    first = guess.text if guess is not None else longest.name
    if learned.text_column in names:
        first = learned.text_column
    others = [name for name in names if name != first] or names
    wanted = (learned.pair_column, guess.pair if guess is not None else None)
    second = next((name for name in wanted if name in others), others[0])
    starts = {"text": first} | ({"pair": second} if has_pairs else {})
    chosen = [
        box.selectbox(
            t(f"results.{name}_column"),
            names,
            index=names.index(start),
            key=f"{TRY_TABLE}_{name}",
        )
        or start
        for box, (name, start) in zip(st.columns(2), starts.items(), strict=False)
    ]
    rows = [dict(zip(names, row, strict=True)) for row in view.preview[:3]]
    st.dataframe(rows, hide_index=True, alt=plain("results.first_rows"))
    return chosen[0], chosen[1] if has_pairs else None


def _show_predictions(found: TablePredictions, name: str) -> None:
    count = found.num_rows - found.num_empty
    counts = {"empty": found.num_empty, "cut": found.num_cut}
    said = t("results.table_done", count=count, **counts)
    st.success(said, icon=":material/check_circle:")
    path, stem = Path(found.path), Path(name).stem[:60] or "table"
    file = plain("results.predictions_file", name=stem)
    key = f"{TRY_TABLE}_download"
    file_link("results.download_predictions", path, file, key, "download")
    path, file = path.with_suffix(".jsonl"), plain("results.exact_file", name=stem)
    key = f"{TRY_TABLE}_exact"
    file_link("results.download_exact", path, file, key, "data_object")
    first = {
        "results.row": [row.row for row in found.first],
        "results.text": [row.text for row in found.first],
    }
    values = [row.value for row in found.first]
    if found.is_regression:
        first["results.said_number"] = values
    else:
        first["results.said_class"] = [row.label for row in found.first]
        first["results.sure"] = [share_text(value) for value in values]
        counted = {"results.class": found.labels, "results.rows": found.counts}
        alt = t("results.class_counts")
        show_table(counted, alt)
    said = t("results.first_predictions", count=len(found.first))
    show_table(first, said, caption=said)


PANELS = ("words", "nearest")
_BOX = ("ft_try_text", "ft_try_pair")
_MOST_CHARACTERS = 5000
_MOST_DRAWN = 25  # words
_MOST_CLASSES = 20  # the likeliest
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
    st.header(t("results.try_title"), anchor=False)
    st.markdown(t("results.try_intro"))
    with shown_to_user(), model_at_work():
        outcome = ask(training_outcome)(state.run_id)
    if state.status is None:
        return
    if not state.status.is_own:
        said = t(
            "results.try_by_link",
            title=state.status.request.title or plain("results.untitled"),
        )
        said = in_a_row([said, t("results.try_lease", time=lease())])
        st.info(said, icon=":material/link:")
    else:
        share(state.status)
    _try_all(ask(Explorer.info)(outcome.model_id), outcome.has_pairs, outcome)


def _try_all(info: ModelInfo, has_pairs: bool, outcome: RunOutcome | None) -> None:
    """Draws the model on a text, and on a file; `outcome` is there with its rows."""
    _try_text(info.model_id, has_pairs, outcome)
    st.subheader(t("results.table_title"), anchor=False)
    _predict_file(info, has_pairs)


@panel
def _try_text(model: str, has_pairs: bool, outcome: RunOutcome | None) -> None:
    boxes = _BOX if has_pairs else _BOX[:1]
    labels = {key: f"results.{key[3:]}" for key in boxes}
    first = EXAMPLES[language_of(model)]
    if outcome is not None:  # a row that was set aside
        first = row_texts(outcome, _row(outcome), _MOST_CHARACTERS)
    texts = type_texts(st.text_area, labels, first, _MOST_CHARACTERS)
    if outcome is not None:
        label = "results.another_row"
        button(label, "ft_try_another", "autorenew", _next_row)
    if texts is None:
        st.info(t("results.try_empty"), icon=":material/edit:")
        return
    read = ask(read_text)(model, texts.text, texts.pair)
    say_if_unread(read.model_id, read.tokenized)
    if read.was_cut:
        counts = {"count": read.num_tokens_uncut, "limit": read.tokenized.num_tokens}
        said = t("results.was_cut", **counts)
        st.warning(said, icon=":material/content_cut:")
    _show_answer(read)
    opened = "words"
    if outcome is not None:
        label = "results.try_panel"
        opened = choose_panel(label, PANELS, "ft_try_panel")
    kind = "_number" if read.is_regression else ""
    st.markdown(t(f"results.{opened}_intro{kind}"))
    if outcome is None or opened == "words":
        _show_words(read)
    else:
        _show_nearest(outcome, read)


def _row(outcome: RunOutcome) -> int:
    """Which of the rows that were set aside is looked at; a link brings it back."""
    row: int = follow_default(ROW, 0, lambda written: whole_number(written, None))
    row %= len(outcome.report.targets)
    write_linked(ROW, str(row), "0")
    return row


def _next_row() -> None:
    """Takes the next row, instead of what was typed, too. A callback."""
    st.session_state[ROW] += 1
    st.session_state.update(dict.fromkeys(_BOX))


def _show_answer(read: ReadText) -> None:
    if read.is_regression:
        label = t("results.says_number", name=read.labels[0])
        value = float(read.outputs[0])
        st.metric(label, plain("results.number", value=value))
        return
    title, label = plain("results.probability"), read.labels[read.best]
    share = Markdown(percent(float(read.outputs[read.best])))
    order = np.argsort(-read.outputs, kind="stable")[:_MOST_CLASSES]
    names = [read.labels[index] for index in order.tolist()]
    show_figure(
        named_bars_figure(names, read.outputs[order], title=title, are_shares=True),
        name="ft_try_classes",
        description=t("results.says_class", label=label, share=share),
        columns={"results.class": read.labels, "results.probability": read.outputs},
    )


def _show_words(read: ReadText) -> None:
    index = _choose_class(read)
    method = choose_named("results.why_method", METHODS, "why", key="ft_try_method")
    st.caption(t(f"results.why_{method}_help"))
    baseline = BASELINES[0]
    if method == "integrated_gradients":
        baseline = choose_named(
            "results.why_baseline", BASELINES, "why", key="ft_try_baseline"
        )
    found = ask_job(
        "ft_try_words",
        "results.compute",
        ask(attribute).about(
            read.model_id,
            read.text,
            Target("classifier", index),
            pair=read.pair,
            baseline=baseline,
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
            f"results.{name}": plain("results.three_digits", value=value)
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
        t("results.why_class"),
        range(len(read.labels)),
        index=read.best,
        format_func=lambda index: read.labels[index],
        # With another answer of the model the choice begins there again.
        key=f"ft_try_class_{read.best}",
        help=t("results.why_class_help"),
    )
    return read.best if chosen is None else chosen


def _draw_words(found: Attribution, method: str, read: ReadText, index: int) -> None:
    own = found.scores[found.methods.index(method)]
    words, values = word_scores(found.tokenized, own)
    known = np.nan_to_num(values)
    strongest = int(np.abs(known).argmax())
    value = float(known[strongest])
    # The strongest words, in the order of the text.
    chosen = np.sort(np.argsort(-np.abs(known), kind="stable")[:_MOST_DRAWN])
    names = [f"{i + 1} {words[i]}" for i in chosen.tolist()]
    does = "raises" if read.is_regression else "speaks"
    digits = 2 if abs(value) >= _LARGE else 4
    title = plain(f"results.why_{does}")
    scores = zip(found.methods, found.scores, strict=True)
    places = {"label": read.labels[index], "word": words[strongest]}
    show_figure(
        signed_bars_figure(names, values[chosen], title, digits=digits),
        name="ft_try_words",
        description=t("results.why_described", **places, value=value),
        columns={
            "results.token": found.tokenized.tokens,
            **{f"results.why_{one}": row for one, row in scores},
        },
    )
    if len(chosen) < len(words):
        st.caption(t("results.words_left_out", count=len(chosen)))


def _show_nearest(outcome: RunOutcome, read: ReadText) -> None:
    """Draws the rows that the model learned from and that look most alike to it."""
    num_rows = int(outcome.recipe.get("training_rows", 0))
    size = ask(Explorer.info)(read.model_id).config.hidden_size
    are_kept = num_rows * size * np.dtype("float32").itemsize <= _KEPT_BYTES
    # While the engine keeps the vectors of the rows, another text takes one pass.
    is_known = are_kept and st.session_state.get(_DONE) == outcome.run_id
    found = ask_job(
        "ft_try_nearest",
        t("results.search_rows", count=num_rows),
        ask(nearest_training_rows).about(
            outcome.run_id, read.text, pair=read.pair, count=_NUM_ROWS
        ),
        at_once=is_known or is_short(read.model_id, num_rows, _USUAL_TOKENS),
    )
    if found is None:
        return
    st.session_state[_DONE] = outcome.run_id
    columns = {
        "results.cosine": [round(float(c), 4) for c in found.cosines],
        "results.label": [row.label for row in found.rows],
        **text_columns(found.rows),
        "results.row": [row.row for row in found.rows],
    }
    said = _say_nearest(found, read)
    show_table(columns, said, "ft_try_nearest", said)


def _say_nearest(found: NearTrainingRows, read: ReadText) -> str:
    if read.is_regression:
        return t("results.nearest_numbers", count=found.num_searched)
    label = read.labels[read.best]
    return t(
        "results.nearest_classes",
        alike=sum(row.label == label for row in found.rows),
        shown=len(found.rows),
        label=label,
        count=found.num_searched,
    )
