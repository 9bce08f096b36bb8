import pickle

import numpy as np
import pytest

from bertviz_core.interventions import Interventions
from tests.core.random_models import CONFIG, TOKENS, agree

TEXT = "The cats [MASK] on a [MASK]"  # 9 tokens with those that are added
PARTS = ("hidden_states", "attention_probs", "pooled_output", "nsp_logits")
PARTS += ("class_logits", "mlm_logits")

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


def test_every_part_becomes_an_input_of_a_batch_of_one():
    assert Interventions().inputs(CONFIG, TOKENS) == {}
    inputs = Interventions(**full()).inputs(CONFIG, TOKENS)
    shapes = {name: array.shape for name, array in inputs.items()}
    assert shapes == {name: (1, *shape) for name, shape in SHAPES.items()}
    # Edges may be cut for all layers or heads at once.
    for some in ((1, 1), (1, HEADS), (LAYERS, 1)):
        edges = np.ones((*some, TOKENS, TOKENS), "int32")
        inputs = Interventions(edge_mask=edges).inputs(CONFIG, TOKENS)
        assert inputs["edge_mask"].shape == (1, *edges.shape)


@pytest.mark.parametrize(
    ("name", "axis"),
    [(name, axis) for name in sorted(SHAPES) for axis in range(len(SHAPES[name]))],
)
def test_a_part_of_another_size_is_refused(name, axis):
    shape = list(SHAPES[name])
    shape[axis] += 1
    made = given(name, np.ones(shape, "float32"))
    with pytest.raises(ValueError, match=f"`{name}` must have one of the shapes"):
        made.inputs(CONFIG, TOKENS)


def test_what_leaves_nothing_or_half_is_refused():
    edges = full()["edge_mask"]
    edges[1, 4, 5] = 0
    with pytest.raises(ValueError, match="must keep at least one edge"):
        Interventions(edge_mask=edges)
    for name in ("replace_mask", "replacement"):
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


@pytest.fixture(scope="module")
def whole(explorer):
    return explorer.trace(TEXT)


def assert_differs(actual, expected):
    assert np.abs(actual - expected).max() > 1e-4


def test_a_cut_edge_changes_its_row_of_its_head_and_what_comes_after(explorer, whole):
    tokens = whole.tokenized.num_tokens
    edges = np.ones((LAYERS, HEADS, tokens, tokens), "int32")
    edges[1, 4, 6, 2] = 0
    changed = explorer.trace(TEXT, interventions=Interventions(edge_mask=edges))
    assert changed.attention_probs[1, 4, 6, 2] == 0
    expected = whole.attention_probs[:2].copy()
    row = expected[1, 4, 6]
    row[2] = 0
    row /= row.sum()
    agree(changed.attention_probs[:2], expected, 1e-6)
    others = np.arange(tokens) != 6
    agree(changed.hidden_states[:3, others], whole.hidden_states[:3, others], 0)
    assert_differs(changed.hidden_states[2, 6], whole.hidden_states[2, 6])
    assert_differs(changed.hidden_states[3, 0], whole.hidden_states[3, 0])


def test_a_replaced_state_is_the_new_one_and_the_rest_follows(explorer, whole):
    tokens = whole.tokenized.num_tokens
    mask = np.zeros((LAYERS + 1, tokens), "int32")
    mask[2, 5] = 1
    new = np.full((*mask.shape, HIDDEN), np.nan, "float32")
    new[2, 5] = 0.25
    changed = explorer.trace(
        TEXT, interventions=Interventions(replace_mask=mask, replacement=new)
    )
    expected = whole.hidden_states[:3].copy()
    expected[2, 5] = 0.25
    agree(changed.hidden_states[:3], expected, 0)
    agree(changed.attention_probs[:2], whole.attention_probs[:2], 0)
    assert_differs(changed.hidden_states[3, 0], whole.hidden_states[3, 0])
    assert np.isfinite(changed.mlm_logits).all()
