"""The numbers of a step, as they fit it: strips, shares, words or answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.step_results import LayerStep, PartNumbers
from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_strip import color_limit, fold
from bertviz_core.figures.number_pictures import NamedBars, NumberStrips
from bertviz_core.trace import TokenizedText
from pages.layers.wording import column_name, numbered, operation_name, step_name
from pages.shared.answers import ask
from pages.shared.language import in_a_row, plain, t

_MOST_WORDS = 20


@dataclass(frozen=True, eq=False)
class StepPicture:
    """What is shown of a step's numbers."""

    drawing: NumberStrips | NamedBars
    description: str
    columns: Callable[[], Mapping[str, Any]]


def picture_of(
    model: str,
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    numbers: PartNumbers,
    tokenized: TokenizedText,
) -> StepPicture:
    """What a step computed for the token that is followed, as a picture."""
    values = numbers.of(step.name)
    if values is None:
        raise ValueError(f"The numbers of {step.name} are not those of its part.")
    token = token_name(step, numbers, tokenized)
    if step.axes[-1] == "V":
        return _words(step, values, ask(vocabulary)(model), token)
    if step.axes in (("C",), ("2",)):
        return _named_answers(step, values, _answers(model, step))
    if step.axes[-1] == "K":
        return _heads_by_token(step, values, tokenized, token)
    if values.ndim == 2:
        return _heads(step, values, token)
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


def _heads(step: LayerStep, values: np.ndarray, token: str) -> StepPicture:
    drawing = NumberStrips(
        values,
        [str(index + 1) for index in range(len(values))],
        title=plain("layers.value"),
        row_title=plain("layers.head"),
        column_title=column_name(step),
    )
    numbered = {column_name(step): range(1, values.shape[1] + 1)}
    said = [_describe(step, values, token), _beyond(values, color_limit(values))]
    return StepPicture(
        drawing, in_a_row(said), lambda: numbered | _columns_of_heads(values)
    )


def _heads_by_token(
    step: LayerStep, values: np.ndarray, tokenized: TokenizedText, token: str
) -> StepPicture:
    is_share = step.operation == "attention_probs"
    seen = numbered(tokenized.tokens)
    drawing = NumberStrips(
        values,
        [str(index + 1) for index in range(len(values))],
        seen,
        title=plain("layers.value"),
        row_title=plain("layers.head"),
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
    named = {"layers.one_token": seen}
    return StepPicture(drawing, description, lambda: named | _columns_of_heads(values))


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


def _named_answers(
    step: LayerStep, values: np.ndarray, names: list[str]
) -> StepPicture:
    best = int(np.argmax(values))
    places = {"step": step_name(step), "count": len(values), "word": names[best]}
    description = t("layers.described_answers", **places, value=float(values[best]))
    return StepPicture(
        NamedBars(names, values, plain("layers.value")),
        description,
        lambda: {"layers.answer": names, "layers.value": values},
    )


def _answers(model: str, step: LayerStep) -> list[str]:
    if step.axes == ("2",):
        return [plain("attention.is_next"), plain("attention.is_random")]
    labels = ask(Explorer.info)(model).labels
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


def _columns_of_heads(values: np.ndarray) -> dict[str, list[float]]:
    return {
        plain("layers.head_number", number=index + 1): row.tolist()
        for index, row in enumerate(values)
    }


def _word(words: tuple[str, ...], index: int) -> str:
    """Some checkpoints have more rows than words."""
    return words[index] if index < len(words) else f"#{index}"
