"""The walk: one step after another, its numbers as a picture, a strip of them all."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.step_results import CodePlace, LayerStep, PartNumbers
from bertviz_core.experiments.token_numbers import (
    part_numbers,
    step_table,
    steps_for_one_token,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_strip import color_limit, fold, strip_figure
from bertviz_core.figures.number_pictures import (
    NamedBars,
    NumberStrips,
    TitledPicture,
    pictures_payload,
)
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.snippets import layers
from bertviz_core.trace import Texts, TokenizedText
from pages.layers.wording import (
    about_step,
    column_name,
    numbered,
    operation_name,
    part_name,
    shape_text,
    step_name,
)
from pages.shared.answers import ask, fetch
from pages.shared.choices import (
    choose_linked,
    follow_default,
    switch_linked,
    write_linked,
)
from pages.shared.components import component, save_drawn
from pages.shared.export import figure_html, show_below, show_figure
from pages.shared.language import Markdown, current_language, in_a_row, plain, spoken, t
from pages.shared.own_text import Reading
from pages.shared.panel import button, panel, program

_MOST_WORDS = 20


@dataclass(frozen=True, eq=False)
class StepPicture:
    """What is shown of a step's numbers."""

    drawing: NumberStrips | NamedBars
    description: str
    columns: Callable[[], Mapping[str, Any]]


def picture_of(
    read: Reading, steps: tuple[LayerStep, ...], step: LayerStep, numbers: PartNumbers
) -> StepPicture:
    """What a step computed for the token that is followed, as a picture."""
    values = numbers.of(step.name)
    if values is None:
        raise ValueError(f"The numbers of {step.name} are not those of its part.")
    token = token_name(step, numbers, read.tokenized)
    if step.axes[-1] == "V":
        return _words(step, values, ask(vocabulary)(read.model), token)
    if step.axes in (("C",), ("2",)):
        labels = ask(Explorer.info)(read.model).labels
        numbers_alone = map(str, range(len(labels), step.shape[0]))
        names = [*labels[: step.shape[0]], *numbers_alone]
        if step.axes == ("2",):
            names = [plain("attention.is_next"), plain("attention.is_random")]
        return _answers(step, values, names)
    if values.ndim == 2:
        return _heads(step, values, read.tokenized, token)
    return _vector(steps, step, values, numbers, token)


def token_name(step: LayerStep, numbers: PartNumbers, tokenized: TokenizedText) -> str:
    """Number and piece of the token that a step's numbers are of."""
    return numbered(tokenized.tokens)[0 if step.is_pooled else numbers.token]


def _vector(
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    values: np.ndarray,
    numbers: PartNumbers,
    token: str,
) -> StepPicture:
    """The vector, below what it was made of where that has the same size."""
    by_name = {other.name: other for other in steps}
    rows = {
        step_name(by_name[name], beside=step): found
        for name in step.inputs
        if (found := numbers.read_by(step, name)) is not None
        and found.shape == values.shape
    }
    rows[operation_name(step)] = values
    if len(rows) == 1:
        matrix, ends = fold(values)
        names = [plain("layers.row_range", first=a, last=b) for a, b in ends]
        starts: list[int] | None = [first for first, _ in ends]
    else:
        matrix, names, starts = np.stack(list(rows.values())), list(rows), None
    # Of the result alone: what it was made of may be of quite another size.
    limit = color_limit(values)
    drawing = NumberStrips(
        matrix,
        names,
        title=plain("layers.value"),
        column_title=column_name(step),
        starts=starts,
        limit=limit,
    )
    said = [_describe(step, values, token), _beyond(matrix, limit)]
    if step.operation == "neurons":
        count = int((values > 0).sum())
        said.append(t("layers.described_firing", count=count, total=len(values)))
    numbered = {column_name(step): range(1, len(values) + 1)}
    return StepPicture(
        drawing,
        in_a_row(said),
        lambda: numbered | {name: row.tolist() for name, row in rows.items()},
    )


def _heads(
    step: LayerStep, values: np.ndarray, tokenized: TokenizedText, token: str
) -> StepPicture:
    """A row for each head: over the tokens that it looks at, or over a vector."""
    is_share = step.operation == "attention_probs"
    seen = numbered(tokenized.tokens) if step.axes[-1] == "K" else []
    drawing = NumberStrips(
        values,
        [str(index + 1) for index in range(len(values))],
        seen or None,
        title=plain("layers.value"),
        row_title=plain("layers.head"),
        column_title="" if seen else column_name(step),
        is_signed=not is_share,
    )
    if is_share:
        head, place = np.unravel_index(np.argmax(values), values.shape)
        description = t(
            "layers.described_shares",
            step=step_name(step),
            token=token,
            head=int(head) + 1,
            share=float(values[head, place]),
            seen=seen[place],
        )
    else:
        said = [_describe(step, values, token), _beyond(values, color_limit(values))]
        description = in_a_row(said)
    named: dict[str, Sequence[object]] = {"layers.one_token": seen}
    if not seen:
        named = {column_name(step): range(1, values.shape[1] + 1)}
    heads = {
        plain("layers.head_number", number=index + 1): row.tolist()
        for index, row in enumerate(values)
    }
    return StepPicture(drawing, description, lambda: named | heads)


def _words(
    step: LayerStep, values: np.ndarray, words: tuple[str, ...], token: str
) -> StepPicture:
    order = rank_order(values)
    best = order[:_MOST_WORDS]
    names = [_word(words, index) for index in best.tolist()]
    description = t(
        "layers.described_words",
        step=step_name(step),
        token=token,
        shown=len(best),
        count=len(values),
        word=names[0],
        value=float(values[best[0]]),
    )
    return StepPicture(
        NamedBars(names, values[best], plain("layers.value")),
        description,
        lambda: {
            "layers.word": [_word(words, index) for index in order.tolist()],
            "layers.value": values[order],
        },
    )


def _answers(step: LayerStep, values: np.ndarray, names: list[str]) -> StepPicture:
    best = int(np.argmax(values))
    places = {"step": step_name(step), "count": len(values), "word": names[best]}
    description = t("layers.described_answers", **places, value=float(values[best]))
    return StepPicture(
        NamedBars(names, values, plain("layers.value")),
        description,
        lambda: {"layers.answer": names, "layers.value": values},
    )


def _describe(step: LayerStep, values: np.ndarray, token: str) -> str:
    return t(
        "layers.described_vector",
        step=step_name(step),
        token=token,
        count=values.size,
        mean=float(values.mean()),
        deviation=float(values.std()),
        length=float(np.linalg.norm(values)),
        low=float(values.min()),
        high=float(values.max()),
    )


def _beyond(values: np.ndarray, limit: float) -> str:
    """How many numbers are too large for the colours; nothing if none is."""
    known = values[~np.isnan(values)]
    count = int((np.abs(known) > limit).sum())
    return t("layers.beyond", count=count, limit=limit) if count else ""


def _word(words: tuple[str, ...], index: int) -> str:
    """Some checkpoints have more rows than words."""
    return words[index] if index < len(words) else f"#{index}"


_NAME = "layers_numbers"  # of the files and the widgets
_PICTURE = "layers_picture"
_FILE = "layers_{}"  # saved from the picture
_picture = component("step", "showPicture(parentElement, data)", "step-picture")


def show_numbers(
    read: Reading,
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    numbers_of: Callable[[str], PartNumbers],
) -> None:
    """Draws what a step computed for the token that is followed."""

    def picture(one: LayerStep) -> StepPicture:
        return picture_of(read, steps, one, numbers_of(one.part))

    def titled(one: LayerStep) -> TitledPicture:
        made = picture(one)
        token = token_name(one, numbers_of(one.part), read.tokenized)
        return TitledPicture(
            made.drawing,
            plain("layers.picture_title", step=step_name(one), token=token),
            spoken(made.description),
            _FILE.format(one.name.replace("/", "_")),
        )

    payload = _payload(
        *read.asked,
        step.part,
        numbers_of(step.part).token,
        current_language(),
        lambda: {one.name: titled(one) for one in _near(steps, step.part)},
    )
    _picture(data=payload, key=_PICTURE)
    shown = picture(step)
    show_below(
        name=_NAME,
        description=shown.description,
        columns=shown.columns,
        html=lambda: _html(shown),
        also=functools.partial(save_drawn, _PICTURE),
        code=program(
            layers.STEP,
            *read.asked,
            part=step.part,
            token=0 if step.is_pooled else numbers_of(step.part).token,
            step=step.name,
        ),
    )


def _near(steps: tuple[LayerStep, ...], part: str) -> tuple[LayerStep, ...]:
    """The steps of a part, the one before and the one after: the ways out of it."""
    places = [place for place, step in enumerate(steps) if step.part == part]
    return steps[max(0, places[0] - 1) : places[-1] + 2]


# Twenty pictures take longer than the rest of a step; 0.3 MB in a BERT-base.
@st.cache_data(max_entries=256, max_size="32MB", show_spinner=False)
def _payload(
    model: str,
    texts: Texts,
    part: str,
    token: int,
    language: str,
    _make: Callable[[], dict[str, TitledPicture]],
) -> bytes:
    """The pictures of a part; all but the last argument tell them apart."""
    return pictures_payload(_make())


def _html(picture: StepPicture) -> bytes:
    figure = picture.drawing.figure()
    set_titles_upright(figure)
    return figure_html(figure, _NAME)


def offer_all_tokens(read: Reading, step: LayerStep, token: int) -> None:
    """Draws a switch, and the table when it is on; not for a step without tokens."""
    if not set(step.axes) & set("TQK") or not switch_linked("layers.all_tokens"):
        return
    head = 1
    if "N" in step.axes:
        heads = [str(index + 1) for index in range(step.shape[0])]
        label, key = t("layers.head_shown"), "layers_head"
        head = int(choose_linked(st.selectbox, label, heads, key=key, width=160))
    table = ask(step_table)(*read.asked, step.name, token, head - 1)
    last = table.first + len(table.values)
    every_name = numbered(read.tokenized.tokens)
    names = every_name[table.first : last]
    is_square = step.axes[-1] == "K"
    columns = names if is_square else map(str, range(1, table.values.shape[1] + 1))
    show_figure(
        strip_figure(
            table.values,
            names,
            names if is_square else None,
            title=plain("layers.value"),
            row_title=plain("layers.looks") if is_square else "",
            column_title=plain("layers.seen") if is_square else column_name(step),
            is_signed=step.operation != "attention_probs",
        ),
        name="layers_all",
        description=t(
            "layers.table_described",
            step=step_name(step),
            first=table.first + 1,
            last=last,
            low=float(table.values.min()),
            high=float(table.values.max()),
            token=every_name[token],
        ),
        columns={"layers.one_token": names}
        | dict(zip(columns, table.values.T.tolist(), strict=True)),
    )


STEP = "layers_step"  # one choice that several widgets move
_STRIP = "layers_strip"
_TURN = "layers_turn"  # number of the choice in the strip that was taken last
_WORDS = {
    "label": "layers.strip",
    "previous": "layers.previous",
    "next": "layers.next",
    "progress": "layers.progress",
}
_strip = component(
    "layers",
    'showStrip(parentElement, data, (choice) => setTriggerValue("choice", choice))',
    "walk-strip",
    "nav",
)


def go_to(name: str) -> None:
    """Makes a step the chosen one. For callbacks: they run before the page."""
    st.session_state[STEP] = name


def step_strip(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """Draws the strip."""
    data = {
        "words": {name: plain(key) for name, key in _WORDS.items()},
        "parts": [
            {
                "name": part,
                "title": part_name(part),
                "steps": [
                    {
                        "name": one.name,
                        "operation": one.operation,
                        "title": operation_name(one),
                    }
                    for one in steps
                    if one.part == part
                ],
            }
            for part in dict.fromkeys(one.part for one in steps)
        ],
        "current": step.name,
        "turn": st.session_state.get(_TURN, 0),
    }
    _strip(data=data, key=_STRIP, on_choice_change=_take)


def _take() -> None:
    sent = (st.session_state.get(_STRIP) or {}).get("choice") or {}
    name, turn = sent.get("step"), sent.get("turn")
    if isinstance(name, str) and isinstance(turn, int):
        st.session_state[_TURN] = turn
        go_to(name)


@panel
def walk(read: Reading) -> None:
    """Draws the chosen step: what it does, its formula, its numbers, its lines of code.

    Only this part of the page runs again when the step changes, and the numbers of a
    layer come in one piece: each runs once for a token.
    """
    model, token = read.model, read.token
    steps = ask(steps_for_one_token)(*read.asked)
    step = _current(steps)
    step_strip(steps, step)
    name_missing_heads(model)
    asked_of = functools.partial(ask(part_numbers).about, *read.asked, token=token)
    fetch(*map(asked_of, dict.fromkeys(one.part for one in _near(steps, step.part))))
    numbers_of = functools.partial(ask(part_numbers), *read.asked, token=token)
    token = numbers_of(step.part).token
    st.subheader(step_name(step), anchor=False)
    show_numbers(read, steps, step, numbers_of)
    words, formula = st.columns([1, 1], gap="medium")
    pre_norm = ask(Explorer.info)(model).config.pre_norm
    # One element in place of two: a browser takes milliseconds for each.
    words.markdown("\n\n".join((about_step(step, pre_norm), shape_sentence(step))))
    formula.latex(step.formula)
    if step.inputs:  # each is a way to the step that is read
        by_name = {other.name: other for other in steps}
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(t("layers.computed_from"), width="content")
            for name in step.inputs:
                label = Markdown(step_name(by_name[name], beside=step))
                key = f"layers_input_{name}"
                button(label, key, "", go_to, name, type="tertiary")
    offer_all_tokens(read, step, token)
    show_lines(step.place)


def _current(steps: tuple[LayerStep, ...]) -> LayerStep:
    """The chosen step; of a smaller model, the same one further in front."""
    by_name = {step.name: step for step in steps}
    first = steps[0].name
    name = follow_default(STEP, first)
    if name not in by_name:
        operation = name.rpartition("/")[2]
        alike = [step.name for step in steps if step.operation == operation]
        name = st.session_state[STEP] = alike[-1] if alike else first
    write_linked(STEP, name, first)
    return by_name[name]


def name_missing_heads(model: str) -> None:
    """Why the way out is shorter than that of a pre-trained BERT."""
    heads = ask(Explorer.info)(model).heads
    missing = [head for head in ("mlm", "pooler", "nsp") if head not in heads]
    if "pooler" in missing:  # what next sentence is read from
        missing.remove("nsp")
    if missing:
        st.caption(in_a_row(t(f"layers.without_{head}") for head in missing))


def shape_sentence(step: LayerStep) -> str:
    """The sizes; not every step is done for the whole sentence."""
    key = "layers.shape_asked" if "P" in step.axes else "layers.shape"
    key = "layers.shape_pooled" if step.is_pooled else key
    return t(key, sizes=shape_text(step), count=math.prod(step.shape))


def show_lines(place: CodePlace) -> None:
    """Draws lines of the core, and where they stand.

    Without Streamlit's colours, some of which are too pale to read well.
    """
    st.code(place.code, None, wrap_lines=True)
    is_one = place.line == place.last_line
    st.caption(
        t(
            "layers.code_place" if is_one else "layers.code_places",
            file=place.module.replace(".", "/") + ".py",
            line=place.line,
            function=place.qualified_name,
            **({} if is_one else {"last": place.last_line}),
        )
    )
