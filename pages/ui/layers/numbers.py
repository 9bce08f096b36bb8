"""The numbers of a step, as they fit it: strips, shares, words or answers."""

from __future__ import annotations

import numpy as np

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.experiments.step_results import LayerStep, PartNumbers
from bertviz_core.figures.layer_strip import (
    color_limit,
    fold,
    named_bars_figure,
    strip_figure,
)
from bertviz_core.trace import TokenizedText
from pages.ui.answers import describe_model, vocabulary
from pages.ui.export import show_figure
from pages.ui.language import in_a_row, plain, t
from pages.ui.layers.wording import column_name, operation_name, step_name

_NAME = "layers_numbers"  # of the figure and its files
_MOST_WORDS = 20


def show_numbers(
    model: str,
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    numbers: PartNumbers,
    tokenized: TokenizedText,
) -> None:
    """Draws what a step computed for the token that is followed.

    Args:
        model: its id.
        steps: all of them.
        step: the one to draw.
        numbers: of its part of the network.
        tokenized: what the model reads.
    """
    values = numbers.of(step.name)
    if values is None:
        raise ValueError(f"The numbers of {step.name} are not those of its part.")
    place = 0 if step.is_pooled else numbers.token
    token = f"{place + 1} {tokenized.tokens[place]}"
    if step.axes[-1] == "V":
        _show_words(step, values, vocabulary(model), token)
    elif step.axes in (("C",), ("2",)):
        _show_answers(step, values, _answers(model, step))
    elif step.axes[-1] == "K":
        _show_heads_by_token(step, values, tokenized, token)
    elif values.ndim == 2:
        _show_heads(step, values, token)
    else:
        _show_vector(steps, step, values, numbers, token)


def _show_vector(
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    values: np.ndarray,
    numbers: PartNumbers,
    token: str,
) -> None:
    """The vector, below what it was made of where that has the same size."""
    by_name = {other.name: other for other in steps}
    rows = {
        _row_name(by_name[name], step): found
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
    figure = strip_figure(
        matrix,
        names,
        title=plain("layers.value"),
        row_title="",
        column_title=column_name(step),
        is_signed=True,
        starts=starts,
        limit=limit,
    )
    columns = {column_name(step): list(range(1, len(values) + 1))}
    firing = _firing(values) if step.operation == "neurons" else ""
    show_figure(
        figure,
        name=_NAME,
        description=in_a_row(
            [_describe(step, values, token), _beyond(matrix, limit), firing]
        ),
        columns=columns | {name: row.tolist() for name, row in rows.items()},
    )


def _show_heads(step: LayerStep, values: np.ndarray, token: str) -> None:
    names = _head_names(len(values))
    figure = strip_figure(
        values,
        names,
        title=plain("layers.value"),
        row_title=plain("layers.head"),
        column_title=column_name(step),
        is_signed=True,
    )
    columns = {column_name(step): list(range(1, values.shape[1] + 1))}
    columns |= dict(zip(_long_head_names(len(values)), values.tolist(), strict=True))
    show_figure(
        figure,
        name=_NAME,
        description=in_a_row(
            [_describe(step, values, token), _beyond(values, color_limit(values))]
        ),
        columns=columns,
    )


def _show_heads_by_token(
    step: LayerStep, values: np.ndarray, tokenized: TokenizedText, token: str
) -> None:
    is_share = step.operation == "attention_probs"
    seen = [f"{i + 1} {piece}" for i, piece in enumerate(tokenized.tokens)]
    figure = strip_figure(
        values,
        _head_names(len(values)),
        seen,
        title=plain("layers.value"),
        row_title=plain("layers.head"),
        column_title="",
        is_signed=not is_share,
    )
    columns = {plain("layers.one_token"): seen}
    columns |= dict(zip(_long_head_names(len(values)), values.tolist(), strict=True))
    head, place = np.unravel_index(np.argmax(values), values.shape)
    description = (
        t(
            "layers.described_shares",
            step=step_name(step),
            token=token,
            head=int(head) + 1,
            share=float(values[head, place]),
            seen=seen[place],
        )
        if is_share
        else in_a_row(
            [_describe(step, values, token), _beyond(values, color_limit(values))]
        )
    )
    show_figure(figure, name=_NAME, description=description, columns=columns)


def _show_words(
    step: LayerStep, values: np.ndarray, words: tuple[str, ...], token: str
) -> None:
    order = rank_order(values)
    best = order[:_MOST_WORDS]
    names = [_word(words, index) for index in order.tolist()]
    show_figure(
        named_bars_figure(
            names[:_MOST_WORDS], values[best], title=plain("layers.value")
        ),
        name=_NAME,
        description=t(
            "layers.described_words",
            step=step_name(step),
            token=token,
            shown=len(best),
            count=len(values),
            word=names[0],
            value=float(values[best[0]]),
        ),
        columns={
            plain("layers.word"): names,
            plain("layers.value"): values[order].tolist(),
        },
    )


def _show_answers(step: LayerStep, values: np.ndarray, names: list[str]) -> None:
    best = int(np.argmax(values))
    show_figure(
        named_bars_figure(names, values, title=plain("layers.value")),
        name=_NAME,
        description=t(
            "layers.described_answers",
            step=step_name(step),
            count=len(values),
            word=names[best],
            value=float(values[best]),
        ),
        columns={
            plain("layers.answer"): names,
            plain("layers.value"): values.tolist(),
        },
    )


def _answers(model: str, step: LayerStep) -> list[str]:
    if step.axes == ("2",):
        return [plain("layers.is_next"), plain("layers.is_random")]
    labels = describe_model(model).labels
    return [labels[i] if i < len(labels) else str(i) for i in range(step.shape[0])]


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


def _firing(values: np.ndarray) -> str:
    count = int((values > 0).sum())
    return t("layers.described_firing", count=count, total=len(values))


def _row_name(source: LayerStep, step: LayerStep) -> str:
    is_near = source.part == step.part
    return operation_name(source) if is_near else step_name(source)


def _head_names(count: int) -> list[str]:
    return [str(index + 1) for index in range(count)]


def _long_head_names(count: int) -> list[str]:
    return [plain("layers.head_number", number=index + 1) for index in range(count)]


def _word(words: tuple[str, ...], index: int) -> str:
    """Some checkpoints have more rows than words."""
    return words[index] if index < len(words) else f"#{index}"
