"""Switches against masks written by hand."""

import numpy as np
import pytest

from bertviz_core.analysis.sampling import rank_of, rank_order
from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.experiments.cause_results import Edge, Switches, Target
from bertviz_core.experiments.switching import interventions_of, switch_off
from bertviz_core.experiments.targets import compare_answers, read_prediction
from bertviz_core.interventions import Interventions
from tests.core.cause_models import (
    HEADS,
    LAYERS,
    NEURONS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
)
from tests.core.random_models import CONFIG, agree

NORMS = pytest.mark.parametrize("name", ["post-norm", "pre-norm"])


@NORMS
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
def test_any_combination_is_what_its_masks_give(name, target):
    heads = np.ones((LAYERS, HEADS), "float32")
    heads[0, 2] = heads[2, 6] = 0
    heads[1] = 0
    neurons = np.ones((LAYERS, NEURONS), "float32")
    neurons[0] = neurons[2, 11] = 0
    edges = np.ones((LAYERS, HEADS, 9, 9), "int32")
    edges[2, 5, 4, 1] = 0
    edges[1, :, 0, 8] = 0
    edges[:, 3, 4, 4] = 0
    edges[:, :, 0, 4] = 0
    by_hand = Interventions(head_mask=heads, edge_mask=edges, neuron_mask=neurons)
    switches = Switches(
        heads=((0, 2), (2, 6)),
        attention=(1,),
        feed_forward=(0,),
        edges=(Edge(4, 1, 2, 5), Edge(0, 8, 1), Edge(4, 4, head=3), Edge(0, 4)),
        neurons=((2, 11),),
    )
    explorer = explorer_named(name)
    found = switch_off(explorer, TEXT, target, switches)
    before, after = answer(explorer, target), answer(explorer, target, by_hand)
    agree([found.before.logit, found.before.probability], before)
    agree([found.after.logit, found.after.probability], after)
    agree(found.delta_logit, after[0] - before[0])
    agree(found.delta_probability, after[1] - before[1])
    assert abs(found.delta_logit) > 1e-3


def test_masks_are_no_larger_than_needed():
    tokenized = explorer_named("post-norm").tokenize(TEXT)

    def shape(*edges):
        switches = Switches(edges=edges)
        return interventions_of(switches, CONFIG, tokenized).edge_mask.shape

    assert shape(Edge(0, 1)) == (1, 1, 9, 9)
    assert shape(Edge(0, 1), Edge(0, 2, layer=2)) == (LAYERS, 1, 9, 9)
    assert shape(Edge(0, 1), Edge(0, 2, head=6)) == (1, HEADS, 9, 9)
    nothing = interventions_of(Switches(), CONFIG, tokenized)
    assert nothing.head_mask is nothing.edge_mask is nothing.neuron_mask is None


@pytest.mark.parametrize(("name", "seen"), [("post-norm", 9), ("sparse", 4)])
def test_a_token_must_keep_something_to_look_at(name, seen):
    """Token 1 of the sparse model sees 0, 1, 2 and 5."""
    explorer = explorer_named(name)
    places = [0, 1, 2, 5, 3, 4, 6, 7, 8][:seen]
    edges = tuple(Edge(1, place, 0, 3) for place in places)
    with pytest.raises(
        TextError, match=f"token the has nothing left.*{seen} cut edges"
    ):
        switch_off(explorer, TEXT, WORD, Switches(edges=edges))
    assert switch_off(explorer, TEXT, WORD, Switches(edges=edges[1:])).delta_logit


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        *(({"edges": (edge,)}, "no token number")
          for edge in (Edge(9, 0), Edge(0, 9), Edge(-1, 0))),
        ({"heads": ((3, 0),)}, "must be below"),
        ({"heads": ((0, 7),)}, "must be below"),
        ({"attention": (-1,)}, "must be below"),
        ({"feed_forward": (3,)}, "must be below"),
        ({"neurons": ((0, 13),)}, "must be below"),
        ({"edges": (Edge(0, 1, layer=3),)}, "must be below"),
        ({"edges": (Edge(0, 1, head=7),)}, "must be below"),
    ],
)  # fmt: skip
def test_a_part_that_there_is_not_is_refused(switches, said):
    with pytest.raises((TextError, ValueError), match=said):
        switch_off(explorer_named("post-norm"), TEXT, WORD, Switches(**switches))


def test_a_target_that_cannot_be_is_refused():
    for arguments in (("x", 0), ("mlm", -1), ("mlm", 1, -1), ("nsp", 1, 2)):
        with pytest.raises(ValueError, match=r"Received|negative"):
            Target(*arguments)
    for target in TARGETS:
        with pytest.raises(CheckpointError, match=f"no {target.head.upper()} head"):
            switch_off(explorer_named("headless"), TEXT, target, Switches())


def test_the_best_of_both_sides_are_named_with_what_the_other_says_of_them():
    before = np.log(np.array([0.3, 0.25, 0.2, 0.1, 0.06, 0.05, 0.03, 0.01]))
    after = before[[5, 1, 2, 3, 4, 0, 6, 7]]  # the first and the sixth change places
    target = Target("mlm", 7, 3)
    found = compare_answers({"mlm_logits": before}, {"mlm_logits": after}, target)
    assert found.ids.tolist() == [0, 1, 2, 3, 4, 5, 7]
    agree(found.values[0], [0.3, 0.25, 0.2, 0.1, 0.06, 0.05, 0.01], 1e-7)
    agree(found.values[1], [0.05, 0.25, 0.2, 0.1, 0.06, 0.3, 0.01], 1e-7)
    assert found.ranks.tolist() == [[1, 2, 3, 4, 5, 6, 8], [6, 2, 3, 4, 5, 1, 8]]


def test_a_number_is_compared_as_it_is():
    sides = ({"class_logits": np.array([value], "float32")} for value in (2.5, -1.5))
    found = compare_answers(*sides, Target("classifier", 0))
    assert found.values.tolist() == [[2.5], [-1.5]]


def test_a_prediction_says_what_the_logits_say():
    logits = np.log(np.array([0.1, 0.4, 0.2, 0.3], "float32"))
    found = read_prediction(logits, Target("mlm", 2, 3))
    agree(found.probability, 0.2, 1e-7)
    assert found.logit == pytest.approx(np.log(0.2), abs=1e-6)
    assert found.rank == 3
    assert not found.is_number
    assert read_prediction(logits[:1], Target("classifier", 0)).is_number
    # The rank of a word is its place in the order, of equals as well.
    logits = np.array([0.5, 2.0, 0.5, -1.0, 2.0, 0.5], "float32")
    order = rank_order(logits).tolist()
    assert order == [1, 4, 0, 2, 5, 3]
    assert [rank_of(logits, index) for index in order] == [1, 2, 3, 4, 5, 6]
