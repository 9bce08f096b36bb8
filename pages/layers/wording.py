"""Names of steps, parts and sizes on the layers page, in the visitor's language."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.experiments.step_results import LayerStep
from pages.shared.language import plain, t

# What reads otherwise where the norm stands in front of each half of a layer.
_OTHER_BEFORE = ("attention_norm", "attention_residual", "output_norm")


def numbered(tokens: Sequence[str]) -> list[str]:
    """Tokens with their places in the text, which tell equal ones apart."""
    return [f"{place} {token}" for place, token in enumerate(tokens, start=1)]


def neuron_names(neurons: np.ndarray) -> list[str]:
    """Names of neurons, int `[R, 2]`: layer and number of each, from 0."""
    return [
        plain("layers.neuron_place", layer=layer + 1, number=number + 1)
        for layer, number in neurons.tolist()
    ]


def operation_name(step: LayerStep) -> str:
    """What a step does, in a word or two."""
    return plain(f"layer_steps.name_{_kind(step)}")


def part_name(part: str) -> str:
    """The place of a step in the network, layers numbered from 1."""
    if part.startswith("layer_"):
        number = int(part.removeprefix("layer_")) + 1
        return plain("layers.part_layer", number=number)
    return plain(f"layers.part_{part}")


def step_name(step: LayerStep, beside: LayerStep | None = None) -> str:
    """A step with its place, unless it stands in the same one as another step."""
    if beside is not None and beside.part == step.part:
        return operation_name(step)
    return plain("layers.step_of", part=part_name(step.part), step=operation_name(step))


def about_step(step: LayerStep, pre_norm: bool) -> str:
    """What a step does, in a sentence or three."""
    if pre_norm and step.operation in _OTHER_BEFORE:
        return t(f"layer_steps.about_{step.operation}_first")
    return t(f"layer_steps.about_{_kind(step)}")


def column_name(step: LayerStep) -> str:
    """What one number of a step's vector is called."""
    return plain("layers.neuron" if step.axes[-1] == "I" else "layers.dimension")


def shape_text(step: LayerStep) -> str:
    """The sizes of a step's result, each with its name."""
    sizes = zip(step.axes, step.shape, strict=True)
    return " × ".join(
        plain("layers.axis", size=size, name=_axis_name(step, letter))
        for letter, size in sizes
    )


def _kind(step: LayerStep) -> str:
    """The operation; with its own texts where a model says a number."""
    return f"{step.operation}_number" if _is_number(step) else step.operation


def _is_number(step: LayerStep) -> bool:
    return step.operation == "class_logits" and step.shape == (1,)


def _axis_name(step: LayerStep, letter: str) -> str:
    if _is_number(step):
        return plain("layers.axis_one_number")
    if step.is_pooled:
        return plain("layers.axis_whole_h")
    return plain(f"layers.axis_{letter.lower()}")
