"""What the engine says about attention is what the analyses say of its trace."""

import numpy as np
import pytest

from bertviz_core.analysis.aggregation import attention_flow, rollout
from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.errors import TextError
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.attention_matrix import (
    attention_mass,
    attention_matrix,
    compare_heads,
    profile_heads,
)
from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.cause_results import SparsePattern, Switches, Target
from bertviz_core.experiments.corpus_profiles import corpus_profile
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_pictures import (
    all_heads,
    attention_links,
    difference_heads,
    difference_links,
    difference_thumbnails,
)
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.trace import Texts, Trace
from tests.core.checkpoint_copies import HF
from tests.core.engine_waiting import ended

MODEL = str(HF)
TEXT = "ab cab [MASK] ba"


@pytest.fixture(scope="module")
def attention(client):
    return client.ask(Trace.only)(
        MODEL, Texts(TEXT), ("attention_probs",)
    ).attention_probs


@pytest.fixture(scope="module")
def target(client):
    position = int(client.ask(Explorer.tokenize)(MODEL, TEXT).mask_positions[0])
    return Target("mlm", 7, position)


EXPECTED = {
    "head": lambda a: a[1, 2],
    "layer": lambda a: a[1].mean(axis=0),
    "chosen": lambda a: (a[0, 1] + a[2, 3]) / 2,
    "mean": lambda a: a.mean(axis=(0, 1)),
    "max": lambda a: a.max(axis=(0, 1)),
    "rollout": lambda a: rollout(a)[1],
    "flow": lambda a: attention_flow(a[:2]),
}


@pytest.mark.parametrize("method", EXPECTED)
def test_a_matrix_is_what_its_name_says(client, attention, method):
    chosen = ((0, 1), (2, 3))
    found = client.ask(attention_matrix)(MODEL, Texts(TEXT), method, 1, 2, heads=chosen)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, EXPECTED[method](attention), rtol=1e-5)


@pytest.mark.parametrize("hides", [False, True])
def test_pictures_of_differences_are_of_the_tokens_that_both_have(client, hides):
    other = "ab cab [MASK] ab ab ba"
    options = AttentionOptions(hide_special=hides, renormalise=hides)
    asked = (MODEL, Texts(TEXT), MODEL, Texts(other), (None, None), options)
    found = client.ask(difference_thumbnails)(*asked)
    exact = client.ask(difference_heads)(*asked)
    links = client.ask(difference_links)(*asked)
    traces = [
        client.ask(Trace.only)(MODEL, Texts(text), ("attention_probs",))
        for text in (TEXT, other)
    ]
    for layer, head in ((0, 0), (2, 3)):
        first, second = (
            show_attention(trace.attention_probs[layer, head], trace.tokenized, options)
            for trace in traces
        )
        alignment = align_tokens(first.places.labels, second.places.labels)
        assert 0 < len(alignment.first) < len(second.places)
        values = attention_difference(first.values, second.values, alignment).values
        expected = grid_thumbnails(values[None, None], is_difference=True)
        np.testing.assert_array_equal(found[layer, head], expected[0, 0])
        np.testing.assert_array_equal(exact[layer, head], values.astype("float32"))
        largest = np.abs(values).argmax(axis=-1)
        np.testing.assert_array_equal(links[layer].targets[head, :, 0], largest)
    same = client.ask(difference_thumbnails)(*asked[:2], *asked[:2])
    assert (same == 128).all()


def test_heads_are_compared_with_those_of_another_text(client, attention):
    found = client.ask(compare_heads)(
        MODEL, Texts(TEXT), MODEL, Texts("ab cab [MASK] ab ab")
    )
    assert found.shape == attention.shape[:2]
    assert ((found > 0) & (found < 1)).all()
    assert not client.ask(compare_heads)(MODEL, Texts(TEXT), MODEL, Texts(TEXT)).any()


@pytest.mark.parametrize("method", ["norms", "value_zeroing"])
def test_other_matrices_have_the_size_of_the_text(client, attention, method):
    found = client.ask(attention_matrix)(MODEL, Texts(TEXT), method, 1, 0)
    assert found.shape == attention.shape[-2:]
    assert (found >= 0).all()
    assert found.any()


@pytest.mark.parametrize("method", ["value_zeroing", "flow"])
def test_a_matrix_that_takes_long_is_the_same_as_a_job(client, method):
    asked = MODEL, Texts(TEXT), method, 1, 0
    job_id = client.start(client.ask(attention_matrix).about(*asked))
    status = ended(client, job_id)
    assert status.error is None
    np.testing.assert_array_equal(status.result, client.ask(attention_matrix)(*asked))


def test_a_text_that_is_too_long_for_flow_is_refused(client, monkeypatch):
    asked = MODEL, Texts(TEXT), "flow", 1, 0
    size = len(client.ask(attention_matrix)(*asked))
    monkeypatch.setattr("bertviz_core.experiments.attention_matrix.MOST_FLOWING", 5)
    with pytest.raises(TextError, match=f"Received: {size} pieces. Keep at most 5"):
        client.ask(attention_matrix)(*asked)


def test_an_unknown_way_to_make_a_matrix_is_refused(client):
    with pytest.raises(Exception, match="attention_matrix"):
        client.ask(attention_matrix)(MODEL, Texts(TEXT), "median", 0, 0)


def test_pictures_are_made_of_the_same_attention(client, attention):
    thumbnails, held = client.ask(all_heads)(MODEL, Texts(TEXT))
    np.testing.assert_array_equal(thumbnails, grid_thumbnails(attention))
    links, expected = (
        client.ask(attention_links)(MODEL, Texts(TEXT), 2),
        strongest_links(attention[2]),
    )
    np.testing.assert_array_equal(links.targets, expected.targets)
    np.testing.assert_array_equal(links.weights, expected.weights)
    np.testing.assert_array_equal(held.exact, attention)


def test_pictures_are_filtered_as_one_matrix_is(client, attention):
    options = AttentionOptions(hide_special=True, renormalise=True)
    tokenized = client.ask(Explorer.tokenize)(MODEL, TEXT)
    expected = np.array(
        [
            [show_attention(head, tokenized, options).values for head in layer]
            for layer in attention
        ]
    )
    found, held = client.ask(all_heads)(MODEL, Texts(TEXT), options=options)
    np.testing.assert_array_equal(found, grid_thumbnails(expected))
    links = client.ask(attention_links)(MODEL, Texts(TEXT), 2, options=options)
    np.testing.assert_array_equal(links.weights, strongest_links(expected[2]).weights)
    np.testing.assert_allclose(links.sums, 1, rtol=1e-5)
    np.testing.assert_array_equal(held.exact, expected.astype(np.float32))


def test_the_arithmetic_ends_in_the_exposed_probability(client, attention):
    found = client.ask(pair_arithmetic)(MODEL, Texts(TEXT), 2, 1, 3, 0)
    assert found.exposed_prob == pytest.approx(float(attention[2, 1, 3, 0]))
    assert found.prob == pytest.approx(found.exposed_prob, abs=1e-6)


def test_the_profile_counts_the_rows_of_the_text(client, attention):
    found = client.ask(profile_heads)(MODEL, Texts(TEXT))
    num_tokens = attention.shape[-1]
    assert found.profile.num_rows[0] == num_tokens
    np.testing.assert_allclose(
        found.profile.of("to_self"),
        np.trace(attention, axis1=2, axis2=3) / num_tokens,
        rtol=1e-5,
    )


def test_a_typed_sign_counts_like_one_that_was_added(client):
    text = "ab [SEP] [CLS] cab [MASK]"
    read = client.ask(Explorer.tokenize)(MODEL, text)
    cls = [i for i, token in enumerate(read.tokens) if token == "[CLS]"]
    sep = [i for i, token in enumerate(read.tokens) if token == "[SEP]"]
    assert len(cls) == len(sep) == 2
    probs = client.ask(Trace.only)(
        MODEL, Texts(text), ("attention_probs",)
    ).attention_probs
    to_signs = probs[..., cls + sep].sum(axis=-1)  # [L, N, Q]
    mass = client.ask(attention_mass)(MODEL, Texts(text), 1)
    np.testing.assert_allclose(mass, 1 - to_signs[..., 1], atol=1e-6)
    profile = client.ask(profile_heads)(MODEL, Texts(text)).profile
    for measure, places in (("to_cls", cls), ("to_separators", sep)):
        expected = probs[..., places].sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(profile.of(measure), expected, rtol=1e-5)
    shown = show_attention(probs[0, 0], read, AttentionOptions(hide_special=True))
    assert not {"[CLS]", "[SEP]"} & set(shown.places.labels)
    assert "[MASK]" in shown.places.labels


def test_a_profile_of_the_bundled_sentences_is_a_job(client):
    job_id = client.start(client.ask(corpus_profile).about(MODEL, "en"))
    status = ended(client, job_id)
    assert status.error is None
    assert status.result.profile.num_texts >= 100


def test_a_head_off_says_the_same_alone_and_in_the_map(client, target):
    job_id = client.start(client.ask(ablate_heads).about(MODEL, TEXT, target))
    exact = ended(client, job_id).result
    alone = client.ask(switch_off)(MODEL, TEXT, target, Switches(heads=((1, 3),)))
    assert exact.delta_logits[1, 3] == pytest.approx(alone.delta_logit, abs=1e-5)


@pytest.mark.tensorflow
def test_an_estimate_has_a_number_for_every_head(client, attention, target):
    job_id = client.start(client.ask(estimate_heads).about(MODEL, TEXT, target))
    estimate = ended(client, job_id).result
    assert estimate.derivatives.shape == attention.shape[:2]
    mass = client.ask(attention_mass)(MODEL, Texts(TEXT), target.position)
    assert mass.shape == attention.shape[:2]
    assert ((mass >= 0) & (mass <= 1 + 1e-6)).all()


def test_full_attention_is_a_pattern_that_changes_nothing(client, target):
    found = client.ask(predict_sparsely)(MODEL, TEXT, target, SparsePattern())
    assert found.kept_share == 1
    assert found.delta_logit == pytest.approx(0, abs=1e-6)


def test_a_text_patched_into_another_brings_its_own_answer_back(client, target):
    other = TEXT.removesuffix("ba") + "be"
    job_id = client.start(
        client.ask(patch_hidden_states).about(MODEL, TEXT, other, target)
    )
    status = ended(client, job_id)
    assert status.error is None
    assert status.result.recovered[-1, target.position] == pytest.approx(1, abs=1e-3)
