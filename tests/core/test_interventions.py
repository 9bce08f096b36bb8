"""Interventions: which are refused, and what reaches the model."""

import pickle

import numpy as np
import pytest

from bertviz_core.interventions import Interventions
from tests.core.random_models import CONFIG, TOKENS

LAYERS, HEADS = CONFIG.num_hidden_layers, CONFIG.num_attention_heads
HIDDEN, INNER = CONFIG.hidden_size, CONFIG.intermediate_size
SHAPES = {
    "head_mask": (LAYERS, HEADS),
    "edge_mask": (LAYERS, HEADS, TOKENS, TOKENS),
    "neuron_mask": (LAYERS, INNER),
    "replace_mask": (LAYERS + 1, TOKENS),
    "replacement": (LAYERS + 1, TOKENS, HIDDEN),
}


def full():
    return {name: np.ones(shape, "float32") for name, shape in SHAPES.items()}


def given(name, array):
    """One part, with what goes together with it."""
    partners = ("replace_mask", "replacement")
    together = {part: full()[part] for part in partners} if name in partners else {}
    return Interventions(**together | {name: array})


def test_nothing_is_changed_by_default():
    assert Interventions().inputs(CONFIG, TOKENS) == {}


def test_every_part_becomes_an_input_of_a_batch_of_one():
    inputs = Interventions(**full()).inputs(CONFIG, TOKENS)
    shapes = {name: array.shape for name, array in inputs.items()}
    assert shapes == {name: (1, *shape) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("layers", [1, LAYERS])
@pytest.mark.parametrize("heads", [1, HEADS])
def test_edges_may_be_cut_for_all_layers_or_heads_at_once(layers, heads):
    edges = np.ones((layers, heads, TOKENS, TOKENS), "int32")
    inputs = Interventions(edge_mask=edges).inputs(CONFIG, TOKENS)
    assert inputs["edge_mask"].shape == (1, layers, heads, TOKENS, TOKENS)


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("axis", range(4))
def test_a_part_of_another_size_is_refused(name, axis):
    shape = list(SHAPES[name])
    if axis >= len(shape):
        axis = len(shape) - 1
    shape[axis] += 1
    made = given(name, np.ones(shape, "float32"))
    with pytest.raises(ValueError, match=f"`{name}` must have one of the shapes"):
        made.inputs(CONFIG, TOKENS)


def test_a_row_cut_whole_is_refused():
    edges = full()["edge_mask"]
    edges[1, 4, 5] = 0
    with pytest.raises(ValueError, match="must keep at least one edge"):
        Interventions(edge_mask=edges)


@pytest.mark.parametrize("name", ["replace_mask", "replacement"])
def test_what_to_replace_and_with_what_go_together(name):
    with pytest.raises(ValueError, match="go together"):
        Interventions(**{name: full()[name]})


def test_arrays_are_read_only_also_after_pickling():
    for made in (
        Interventions(**full()),
        pickle.loads(pickle.dumps(Interventions(**full()))),
    ):
        for name in SHAPES:
            with pytest.raises(ValueError, match="read-only"):
                getattr(made, name)[...] = 0
