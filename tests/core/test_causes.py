"""Parts that are off, replaced or cut: each number against a whole pass of its own."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.errors import CheckpointError, ConfigError, TextError
from bertviz_core.experiments import targets
from bertviz_core.experiments.ablation import ablate_heads, ablate_parts
from bertviz_core.experiments.cause_results import Edge, SparsePattern, Switches, Target
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.sparsity import edges_of, predict_sparsely
from bertviz_core.experiments.switching import interventions_of, switch_off
from bertviz_core.experiments.targets import compare_answers, read_prediction
from bertviz_core.interventions import Interventions
from tests.core.cause_models import (
    CONFIGS,
    HEADS,
    LAYERS,
    NEURONS,
    TARGETS,
    TEXT,
    WORD,
    answer,
    explorer_named,
)
from tests.core.random_models import CONFIG, PRE_NORM, agree, explorer_of, random_model


def slow_map(explorer, target, off, text=TEXT, pair=None):
    """Logits and probabilities `[L, places]`, each part off in a pass of its own."""
    found = [
        [switch_off(explorer, text, target, one, pair).after for one in off(layer)]
        for layer in range(LAYERS)
    ]
    return [
        [[getattr(one, name) for one in row] for row in found]
        for name in ("logit", "probability")
    ]


def slow_head_map(explorer, target, *texts):
    heads = range(explorer.config.num_attention_heads)

    def off(layer):
        return [Switches(heads=((layer, head),)) for head in heads]

    return slow_map(explorer, target, off, *texts)


def slow_part_map(explorer, target):
    def off(layer):
        parts = {"attention": (layer,), "feed_forward": (layer,)}
        return [Switches(**{k: parts[k]}) for k in parts] + [Switches(**parts)]

    return slow_map(explorer, target, off)


def agree_with(found, slow):
    agree(found.logits, slow[0])
    agree(found.probabilities, slow[1])


@pytest.mark.parametrize(
    ("name", "target"), [*((name, WORD) for name in CONFIGS), ("post-norm", TARGETS[2])]
)
def test_each_head_alone_is_off_as_in_a_whole_pass(name, target):
    explorer = explorer_named(name)
    found = ablate_heads(explorer, TEXT, target)
    assert found.logits.shape == (LAYERS, explorer.config.num_attention_heads)
    agree_with(found, slow_head_map(explorer, target))
    logit, probability = answer(explorer, target)
    agree([found.before.logit, found.before.probability], [logit, probability])
    assert np.abs(found.delta_logits).min(axis=1).max() > 1e-4, "nothing was off"


def test_each_half_of_a_layer_is_off_as_in_a_whole_pass(any_norm_explorer):
    explorer = any_norm_explorer
    found = ablate_parts(explorer, TEXT, WORD)
    agree_with(found, slow_part_map(explorer, WORD))
    agree(found.deltas, found.probabilities - found.before.probability, 0)
    agree(found.delta_logits, found.logits - found.before.logit, 0)


def test_the_size_of_a_batch_changes_no_number(monkeypatch):
    explorer = explorer_named("pre-norm")
    whole = ablate_heads(explorer, TEXT, WORD)
    monkeypatch.setattr(targets, "MOST_TOKENS", 45)
    agree(ablate_heads(explorer, TEXT, WORD).logits, whole.logits)


@pytest.mark.parametrize(
    ("name", "target", "texts"),
    [
        ("post-norm", Target("mlm", 9, 7), ("the cats", "a [MASK] mat")),
        ("sparse", Target("mlm", 3, 1), ("[MASK]", None)),
    ],
)
def test_a_pair_and_a_text_of_one_token_have_a_map(name, target, texts):
    explorer, (text, pair) = explorer_named(name), texts
    found = ablate_heads(explorer, text, target, pair)
    agree_with(found, slow_head_map(explorer, target, text, pair))


def test_an_explorer_that_is_gone_leaves_nothing_behind():
    explorer = explorer_of(random_model(CONFIG)[0])
    ablate_heads(explorer, TEXT, WORD)
    gone = weakref.ref(explorer), weakref.ref(explorer.loaded.model)
    del explorer
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_an_absent_token_is_refused():
    with pytest.raises(TextError, match=r"no token number 10.*Received: 9 tokens"):
        ablate_heads(explorer_named("post-norm"), TEXT, Target("mlm", 1, 9))
    with pytest.raises(ValueError, match="below 23"):
        ablate_heads(explorer_named("post-norm"), TEXT, Target("mlm", 23, 1))


CORRUPTED = "The mats [MASK] on red cat"
MINUS = 9


def slow_scores(explorer, target, minus):
    forward = explorer.forward
    taken, states = (explorer.trace(text).hidden_states for text in (TEXT, CORRUPTED))
    place = target.position if target.head == "mlm" else 0
    scores = np.zeros(states.shape[:2])
    for level, position in np.ndindex(scores.shape):
        x = states[level][None].copy()
        x[0, position] = taken[level, position]
        for layer in range(level, LAYERS):
            x = forward.block(layer, x)["output"]
        logits = forward.read(target.head, x[0, [place]])["output"][0]
        scores[level, position] = score(logits, target, minus)
    return scores


def score(logits, target, minus):
    logits = logits.astype("float64")
    if minus is None:
        return np.exp(logits[target.index]) / np.exp(logits).sum()
    return logits[target.index] - logits[minus]


@pytest.mark.parametrize(
    ("name", "minus"),
    [*((name, MINUS) for name in CONFIGS), ("post-norm", None), ("pre-norm", None)],
)
def test_each_patch_is_what_the_blocks_above_it_give(name, minus):
    explorer = explorer_named(name)
    found = patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, minus)
    expected = slow_scores(explorer, WORD, minus)
    assert found.scores.shape == (LAYERS + 1, 9)
    agree(found.scores, expected)
    clean, corrupted = (
        score(
            explorer.trace(text, mlm_positions=[WORD.position]).mlm_logits[0],
            WORD,
            minus,
        )
        for text in (TEXT, CORRUPTED)
    )
    agree([found.clean_score, found.corrupted_score], [clean, corrupted])
    # A share divides the error of a score by the difference of the two texts.
    whole = clean - corrupted
    agree(found.recovered * whole, expected - corrupted, 2e-5)
    if minus is not None:
        # The last state at the asked place brings all back, and no other any.
        agree(found.recovered[LAYERS], np.eye(9)[WORD.position], 1e-4)


@pytest.mark.parametrize("target", TARGETS[1:], ids=lambda target: target.head)
def test_patches_of_a_class_are_what_the_blocks_above_them_give(target):
    explorer = explorer_named("post-norm")
    found = patch_hidden_states(explorer, TEXT, CORRUPTED, target)
    agree(found.scores, slow_scores(explorer, target, None))


def test_pairs_are_patched_with_pairs():
    explorer, target = explorer_named("post-norm"), Target("nsp", 0)
    found = patch_hidden_states(explorer, "a cat", "a mat", target, None, "the cats")
    assert found.clean.token_type_ids.tolist() == [0] * 4 + [1] * 4
    agree(found.corrupted_score, answer(explorer, target, None, "a mat", "the cats")[1])


def test_texts_that_cannot_be_compared_are_refused(monkeypatch):
    explorer = explorer_named("post-norm")
    with pytest.raises(
        TextError,
        match=r"Received: 4 tokens \(\[CLS\] a cat \[SEP\]\) and 5 tokens "
        r"\(\[CLS\] a cat ##s \[SEP\]\)",
    ):
        patch_hidden_states(explorer, "a cat", "a cats", Target("mlm", 1, 2))
    monkeypatch.setattr("bertviz_core.experiments.patching.MOST_TOKENS_SHOWN", 3)
    with pytest.raises(TextError, match=r"5 tokens \(\[CLS\] a cat …\)"):
        patch_hidden_states(explorer, "a cat", "a cats", Target("mlm", 1, 2))
    for minus in (None, MINUS):
        with pytest.raises(TextError, match="Both texts give the same answer"):
            patch_hidden_states(explorer, TEXT, TEXT, WORD, minus)
    for minus in (WORD.index, CONFIG.vocab_size):
        with pytest.raises(ValueError, match=r"minus|below 23"):
            patch_hidden_states(explorer, TEXT, CORRUPTED, WORD, minus)


def test_a_small_probability_has_shares_as_a_large_one_has():
    """The bias of one word falls: all its probabilities do, by the same factor."""
    whole = patch_hidden_states(explorer_named("post-norm"), TEXT, CORRUPTED, WORD)
    model, weights = random_model(CONFIG)
    lowered = weights["decoder_bias"].copy()
    lowered[WORD.index] -= 20
    model.mlm.bias.assign(lowered)
    found = patch_hidden_states(explorer_of(model), TEXT, CORRUPTED, WORD)
    assert found.clean_score < 1e-8
    # Odds, not probabilities, fall by one factor: equal where both are small.
    odds = whole.scores / (1 - whole.scores)
    first, last = whole.clean_score, whole.corrupted_score
    first, last = first / (1 - first), last / (1 - last)
    agree(found.recovered, (odds - last) / (first - last), 1e-3)


def test_long_texts_are_cut():
    explorer = explorer_named("post-norm")
    limit = explorer.config.max_position_embeddings
    clean, corrupted = (f"{text} " + "cat " * limit for text in (TEXT, CORRUPTED))
    found = patch_hidden_states(explorer, clean, corrupted, WORD)
    assert found.recovered.shape == (LAYERS + 1, limit)
    assert found.clean_score != found.corrupted_score


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.head)
def test_any_combination_is_what_its_masks_give(any_norm_explorer, target):
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
    explorer = any_norm_explorer
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
        ({"heads": ((3, 0),)}, "and below"),
        ({"heads": ((0, 7),)}, "and below"),
        ({"attention": (-1,)}, "and below"),
        ({"feed_forward": (3,)}, "and below"),
        ({"neurons": ((0, 13),)}, "and below"),
        ({"edges": (Edge(0, 1, layer=3),)}, "and below"),
        ({"edges": (Edge(0, 1, head=7),)}, "and below"),
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
        with pytest.raises(
            CheckpointError, match=f"no trained {target.head.upper()} head"
        ):
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
    assert [
        read_prediction(logits, Target("classifier", index)).rank for index in order
    ] == [1, 2, 3, 4, 5, 6]


PATTERNS = (
    SparsePattern(),
    SparsePattern(window=1),
    SparsePattern(num_global=1),
    SparsePattern(window=1, stride=3, num_global=1, block=2),
)


def edges_by_hand(pattern, tokens):
    edges = np.full((tokens, tokens), pattern == SparsePattern())
    for q, k in np.ndindex(tokens, tokens):
        first, second = q // pattern.block, k // pattern.block
        edges[q, k] |= (
            abs(first - second) <= pattern.window
            or (pattern.stride > 0 and (first - second) % pattern.stride == 0)
            or min(first, second) < pattern.num_global
        )
    return edges


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_does_what_its_edges_say(any_norm_explorer, pattern):
    explorer, edges = any_norm_explorer, edges_by_hand(pattern, 9)
    found = predict_sparsely(explorer, TEXT, WORD, pattern)
    off = Interventions(edge_mask=edges.astype("int32")[None, None])
    agree([found.before.logit, found.before.probability], answer(explorer, WORD))
    agree([found.after.logit, found.after.probability], answer(explorer, WORD, off))
    agree(found.delta_logit, found.after.logit - found.before.logit, 0)
    change = found.after.probability - found.before.probability
    agree(found.delta_probability, change, 0)
    assert (found.edges == edges).all()
    assert found.kept_share == pytest.approx(edges.sum() / 81)
    assert (found.kept_share < 1) == (pattern != SparsePattern())
    # The cut mass is the attention that lay there.
    probs = explorer.trace(TEXT).attention_probs
    agree(found.cut_mass, (probs * ~edges).sum(axis=-1).mean(axis=-1))


def test_imposing_a_pattern_is_building_the_model_with_it():
    """The same weights in a model that is sparse by itself."""
    config = dataclasses.replace(PRE_NORM, sparse_window=1, sparse_global=2)
    sparse = explorer_of(random_model(config)[0])
    pattern = SparsePattern(window=1, num_global=2)
    for target in TARGETS:
        found = predict_sparsely(explorer_named("pre-norm"), TEXT, target, pattern)
        agree([found.after.logit, found.after.probability], answer(sparse, target))


def test_a_sparse_model_keeps_its_own_pattern():
    """It sees 1 to each side and every 4th; asked for 2 to each side: its 1."""
    explorer = explorer_named("sparse")
    found = predict_sparsely(explorer, TEXT, WORD, SparsePattern(window=2))
    own = edges_by_hand(SparsePattern(window=1, stride=4), 9)
    assert (found.edges == edges_by_hand(SparsePattern(window=1), 9)).all()
    assert found.kept_share == pytest.approx(found.edges.sum() / own.sum())


@pytest.mark.parametrize(
    ("pattern", "field"),
    [
        (SparsePattern(window=-1), "sparse_window"),
        (SparsePattern(stride=-2), "sparse_stride"),
        (SparsePattern(num_global=-1), "sparse_global"),
        (SparsePattern(window=1, block=0), "sparse_block"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(pattern, field):
    with pytest.raises(ConfigError, match=field):
        edges_of(pattern, CONFIG, 5)
    with pytest.raises(CheckpointError, match="has no trained MLM head"):
        predict_sparsely(explorer_named("headless"), TEXT, WORD, PATTERNS[0])
