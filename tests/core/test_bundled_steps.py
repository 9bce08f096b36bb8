"""The bundled models, step by step: what the pages show is what the models compute.

Other tests do the same on small random models, where every weight matters; these are
the numbers that a visitor sees first.
"""

import numpy as np
import pytest
from keras import ops

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.embedding_tables import take_input_apart
from bertviz_core.experiments.layer_steps import StepReader
from bertviz_core.experiments.pair_arithmetic import as_passed, pair_arithmetic
from bertviz_core.explorer import Explorer
from tests.core.step_reading import close, in_double_precision, model_values

# A sentence and a pair of each, and a text of all positions.
TEXTS = {
    DEFAULT_MODEL: (
        ("The cat sat on the [MASK] because it was tired.", None),
        ("Where is the bank?", "It is by the river."),
        ("the bank of the river " * 110, None),
    ),
    "bert-mini-zh": (
        ("以前没有人走过这[MASK]话。", None),
        ("银行在哪里？", "在河边。"),
        ("今天天气很好" * 90, None),
    ),
}
# Share of the largest number: how much float32 loses depends on the weights.
LOST = {DEFAULT_MODEL: 3e-6, "bert-mini-zh": 2e-6}


@pytest.fixture(scope="module", params=TEXTS)
def explorer(request):
    return Explorer.open(request.param)


@pytest.fixture(params=TEXTS)
def own_explorer(request):
    """One whose weights a test may change."""
    return Explorer.open(request.param)


def test_the_input_sum_is_the_models_own(explorer):
    """To 1e-6, as the page of embeddings promises it."""
    for text, pair in TEXTS[explorer.model_id]:
        found = take_input_apart(explorer, text, pair, cut=True)
        assert found.largest_difference < 1e-6
        trace = explorer.trace(text, pair, cut=True)
        np.testing.assert_array_equal(found.normed.shape, trace.hidden_states[0].shape)
        close(found.normed, trace.hidden_states[0])


def embedding_values(explorer, trace):
    table = explorer.loaded.model.embeddings
    tokenized = trace.tokenized
    words = table.word_embeddings.numpy()[tokenized.input_ids]
    positions = table.position_embeddings.numpy()[: tokenized.num_tokens]
    segments = table.token_type_embeddings.numpy()[tokenized.token_type_ids]
    total = words + positions + segments
    return {
        "word_embeddings": words,
        "position_embeddings": positions,
        "token_type_embeddings": segments,
        "embedding_sum": total,
        "embedding_norm": ops.convert_to_numpy(table.layer_norm(total)),
    }


def head_values(explorer, trace):
    """What the heads compute from the last hidden state, part by part."""
    model = explorer.loaded.model
    x = trace.hidden_states[-1]
    pooled, inner = model.pooler(x[None]), model.mlm.transform(x[trace.mlm_positions])
    active = model.mlm.activation(inner)
    nsp = model.nsp(pooled)
    words = model.mlm(x[trace.mlm_positions], model.embeddings.word_embeddings)
    found = {
        "pooler_dense": model.pooler.dense(x[:1])[0],
        "pooled_output": pooled[0],
        "nsp_logits": nsp[0],
        "nsp_probs": ops.softmax(nsp)[0],
        "mlm_transform": inner,
        "mlm_activation": active,
        "mlm_norm": model.mlm.transform_norm(active),
        "mlm_logits": words,
        "mlm_probs": ops.softmax(words),
    }
    return {name: ops.convert_to_numpy(value) for name, value in found.items()}


def own_values(explorer, trace):
    """All steps by name, by the model's own parts, from the state that enters each."""
    own = embedding_values(explorer, trace) | head_values(explorer, trace)
    for layer in range(explorer.config.num_hidden_layers):
        values = model_values(explorer, trace, layer)
        # Nothing is masked in a text alone, and the model adds the mask at once.
        values["attention_scores"] = values["masked_scores"]
        own |= {f"layer_{layer}/{name}": array for name, array in values.items()}
    return own


def test_every_step_of_the_walk_is_the_models_own(explorer):
    """Each step against the model's own part where both compute in float64.

    1e-6 is promised. What they differ by was measured as 2e-14 at most, in texts of 13
    to 512 tokens with numbers up to 42, and no step may differ by more than 1e-12.
    """
    wide = in_double_precision(explorer)
    for text, pair in TEXTS[explorer.model_id]:
        trace = explorer.trace(text, pair, cut=True)
        own, reader = own_values(wide, trace), StepReader(explorer, trace)
        is_asked = trace.mlm_positions is not None and trace.mlm_positions.size
        asked = {name for name in own if is_asked or not name.startswith("mlm_")}
        assert {step.name for step in reader.steps} == asked
        for name in asked:
            shown = reader.values(name)
            assert shown.dtype == own[name].dtype == np.float64
            np.testing.assert_allclose(shown, own[name], rtol=0, atol=1e-12)


def test_every_step_is_what_the_model_computes_in_float32_but_for_its_rounding(
    explorer,
):
    """To 1e-6 of the step's largest number, or of 1 where all are smaller.

    No step that is shown in float64 can be nearer to what float32 computes: of the 104
    steps of the first text 84 (in the Chinese model 85) differ by more than 1e-6, most
    of all the logits of words, which are up to 12, by 1.1e-5. A softmax passes on the
    rounding of the numbers that it reads: 1e-6 of the largest of those. In the Chinese
    model float32 loses a little more within a layer, see `LOST`.
    """
    text, pair = TEXTS[explorer.model_id][0]
    trace = explorer.trace(text, pair)
    own, reader = own_values(explorer, trace), StepReader(explorer, trace)
    assert {step.name for step in reader.steps} == set(own)
    for name in own:
        read = name.replace("attention_probs", "masked_scores")
        size = own[read.replace("probs", "logits")]
        close(reader.values(name), own[name], size, LOST[explorer.model_id])


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("times", [1, 4])
def test_every_row_of_attention_is_the_arithmetic_that_is_shown(own_explorer, times):
    """To 1e-6, as the page of attention promises it: all heads, all pairs.

    The softmax of the pass's own scores, however large those are; the running sum to
    what float32 leaves of sums of that size.
    """
    with_larger_scores(own_explorer, times)
    largest = 0.0
    for text, pair in TEXTS[own_explorer.model_id]:
        trace = own_explorer.trace(text, pair, cut=True)
        for layer, exposed in enumerate(trace.attention_probs):
            queries, keys, scores = as_passed(own_explorer, trace, layer)
            differences = np.abs(softmax(scores) - exposed)
            assert differences.max() < 1e-6
            largest = max(largest, np.abs(scores).max())
            worst = np.unravel_index(differences.argmax(), differences.shape)
            head, query, _ = map(int, worst)
            found = pair_arithmetic(own_explorer, trace, layer, *map(int, worst))
            assert abs(found.prob - found.exposed_prob) < 1e-6
            np.testing.assert_array_equal(found.query, queries[head, query])
            np.testing.assert_array_equal(found.key, keys[head, worst[2]])
            np.testing.assert_array_equal(found.scores, scores[head, query])
    assert 20 * times < largest


@pytest.mark.parametrize("times", [1, 4])
def test_a_running_sum_is_the_score_to_the_rounding_that_is_told(own_explorer, times):
    with_larger_scores(own_explorer, times)
    text, _ = TEXTS[own_explorer.model_id][-1]
    trace = own_explorer.trace(text, None, cut=True)
    rounded = []
    for layer, exposed in enumerate(trace.attention_probs):
        queries, keys, scores = as_passed(own_explorer, trace, layer)
        row = np.unravel_index(np.abs(scores).argmax(), scores.shape)
        head, query, key = map(int, row)
        found = pair_arithmetic(own_explorer, trace, layer, head, query, key)
        root = np.sqrt(len(found.query))
        told = found.running_sums[-1] / root + found.rounding
        assert told == pytest.approx(found.score, abs=1e-12)
        assert abs(found.rounding) <= most_rounded(found.products) / root
        every = most_rounded(queries[head, query] * keys[head]).max() / root
        # A softmax passes on half of what its scores are off, at most.
        apart = np.abs(found.unrounded_probs - exposed[head, query]).max()
        assert apart <= every / 2 + 1e-6
        rounded.append(abs(found.rounding))
    assert max(rounded) > 1e-7 * times


def most_rounded(products):
    """What float32 loses at most when it multiplies and adds: Higham 2002, (3.5)."""
    half_step = np.finfo(np.float32).eps / 2
    return (products.shape[-1] + 1) * half_step * np.abs(products).sum(axis=-1)


def with_larger_scores(explorer, times):
    for block in explorer.loaded.model.blocks:
        for weight in (block.attention.query.kernel, block.attention.query.bias):
            weight.assign(times * weight.numpy())
