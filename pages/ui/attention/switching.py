"""Switch parts of the network off, and see what the model says then."""

from __future__ import annotations

import dataclasses

import streamlit as st

from bertviz_core.experiments.cause_results import (
    Edge,
    Prediction,
    SwitchedPrediction,
    Switches,
)
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import TokenizedText
from pages.ui.address import choose_linked
from pages.ui.answers import describe_model, vocabulary
from pages.ui.attention.answers import switch_off
from pages.ui.attention.controls import choose_heads
from pages.ui.attention.pair import choose_pair
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import Columns, download_csv
from pages.ui.head import model_at_work
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown, escape
from pages.ui.text_pair import Texts
from pages.ui.watched import Watched, show_numbers

_HEADS = "attention_off_heads"
_ATTENTION = "attention_off_layers"
_FEED_FORWARD = "attention_off_feed_forward"
_CUT = "attention_cut_edge"
_PLACES = ("everywhere", "layer", "head")


@st.fragment
def explore_switches(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    watched: Watched,
    layer: int,
    head: int,
) -> None:
    """Draws the switches and the prediction before and after.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        watched: the answer to watch.
        layer: that is looked at now, from 0.
        head: likewise.
    """
    st.markdown(t("attention.switch_intro"))
    with shown_to_user():
        switches = _choose_switches(model, tokenized, layer, head)
        with model_at_work():
            result = switch_off(model, texts, watched.target, switches)
        show_before_and_after(
            result.before,
            result.after,
            watched.name,
            answer_names(model, watched),
            "attention_switched_off",
        )
        _say_what_it_means(result, switches)
        _show_code(model, texts, watched, switches)


def _show_code(model: str, texts: Texts, watched: Watched, switches: Switches) -> None:
    show_code(
        programs.SWITCHED_OFF,
        name="attention_switch",
        model=model,
        text=texts.text,
        pair=texts.pair,
        heads=switches.heads,
        attention=switches.attention,
        feed_forward=switches.feed_forward,
        edges=tuple(dataclasses.astuple(edge) for edge in switches.edges),
        **watched.literals,
    )


def show_before_and_after(
    before: Prediction,
    after: Prediction,
    name: str,
    names: tuple[str, ...],
    file: str,
) -> None:
    """Draws a prediction twice, with the difference, and offers both as a table.

    Args:
        before: of the model as it is.
        after: of the model with something changed.
        name: of the target, plain text.
        names: of all answers, by index.
        file: name of the table's file; unique on the page.
    """
    _draw_before_and_after(before, after, name, names)
    download_csv(_table(before, after, name, names), file)


def _draw_before_and_after(
    before: Prediction, after: Prediction, name: str, names: tuple[str, ...]
) -> None:
    word = Markdown(escape(name, 40))
    if before.is_number:
        titles = (t(f"attention.{name}", word=word) for name in ("before", "after"))
        show_numbers(before, after, (*titles, t("attention.delta")))
        return
    boxes = st.columns(3)
    delta = after.probability - before.probability
    boxes[0].metric(t("attention.before", word=word), percent(before.probability))
    boxes[1].metric(t("attention.after", word=word), percent(after.probability))
    boxes[2].metric(
        t("attention.delta"),
        t("attention.points", value=100 * delta),
        t("attention.rank_from_to", before=before.rank, after=after.rank),
        delta_color="off",
        delta_arrow="off",
    )
    first, second = st.columns(2)
    for box, title, prediction in (
        (first, t("attention.best_before"), before),
        (second, t("attention.best_after"), after),
    ):
        box.markdown(f"**{title}**")
        for index, probability in zip(
            prediction.top_ids, prediction.top_probabilities, strict=True
        ):
            shown = Markdown(escape(names[int(index)], 40))
            share = Markdown(percent(float(probability)))
            box.progress(
                min(float(probability), 1.0),
                t("attention.guess", word=shown, share=share),
            )


def _table(
    before: Prediction, after: Prediction, name: str, names: tuple[str, ...]
) -> Columns:
    """The answer that is watched, and the best ones: a row for each, before and after.

    A rank is that among all answers, from 1.
    """
    rows: list[tuple[str, str, int | str, float]] = []
    for when, prediction in (("table_before", before), ("table_after", after)):
        said = plain(f"attention.{when}")
        if prediction.is_number:
            rows.append((said, name, "", prediction.value))
            continue
        rows.append((said, name, prediction.rank, prediction.probability))
        best = zip(prediction.top_ids, prediction.top_probabilities, strict=True)
        for rank, (index, probability) in enumerate(best, start=1):
            rows.append((said, names[int(index)], rank, float(probability)))
    value = "table_number" if before.is_number else "table_probability"
    titles = ("table_when", "table_answer", "table_rank", value)
    return {
        plain(f"attention.{title}"): [row[i] for row in rows]
        for i, title in enumerate(titles)
    }


def answer_names(model: str, watched: Watched) -> tuple[str, ...]:
    """What the answers of the target's head are called, by index."""
    if watched.target.head == "mlm":
        return vocabulary(model)
    if watched.target.head == "nsp":
        return plain("attention.is_next"), plain("attention.is_random")
    return describe_model(model).labels


def _choose_switches(
    model: str, tokenized: TokenizedText, layer: int, head: int
) -> Switches:
    config = describe_model(model).config
    num_layers = int(str(config["num_hidden_layers"]))
    heads = choose_heads(config, _HEADS, ((layer, head),))
    first, second = st.columns(2)
    layers = list(range(1, num_layers + 1))
    attention = first.pills(
        t("attention.off_attention"),
        layers,
        selection_mode="multi",
        key=_ATTENTION,
        bind="query-params",
    )
    feed_forward = second.pills(
        t("attention.off_feed_forward"),
        layers,
        selection_mode="multi",
        key=_FEED_FORWARD,
        bind="query-params",
    )
    return Switches(
        heads=heads,
        attention=tuple(number - 1 for number in attention),
        feed_forward=tuple(number - 1 for number in feed_forward),
        edges=_choose_edges(tokenized, layer, head),
    )


def _choose_edges(tokenized: TokenizedText, layer: int, head: int) -> tuple[Edge, ...]:
    if not st.toggle(t("attention.cut_edge"), key=_CUT, bind="query-params"):
        return ()
    row, column = choose_pair(tokenized, "edge_from", "edge_to")
    st.caption(t("attention.edge_help"))
    place = choose_linked(
        st.segmented_control,
        t("attention.edge_where"),
        _PLACES,
        key=f"{_CUT}_where",
        format_func=lambda name: plain(
            f"attention.edge_{name}", layer=layer + 1, head=head + 1
        ),
    )
    in_layer = None if place == "everywhere" else layer
    in_head = head if place == "head" else None
    return (Edge(row, column, in_layer, in_head),)


def _say_what_it_means(result: SwitchedPrediction, switches: Switches) -> None:
    if switches == Switches():
        st.info(t("attention.nothing_off"), icon=":material/toggle_on:")
        return
    if result.before.is_number:
        change = result.after.value - result.before.value
        st.caption(t("attention.number_moved", change=change))
        return
    smallest = 0.005  # half a point: nobody would see it in the bars
    change = result.delta_probability
    if abs(change) < smallest:
        key = "small_change"
    else:
        key = "large_fall" if change < 0 else "large_rise"
    st.caption(t(f"attention.{key}", points=100 * abs(change)))
