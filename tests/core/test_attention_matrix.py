import numpy as np
import pytest

from bertviz_core.analysis.aggregation import attention_flow, rollout
from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.errors import TextError
from bertviz_core.experiments import attention_matrix as module
from bertviz_core.experiments import attention_parts
from bertviz_core.figures import attention_pictures as pictures
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links

EXPECTED = {
    "head": lambda a: a[1, 2],
    "layer": lambda a: a[1].mean(axis=0),
    "chosen": lambda a: (a[0, 1] + a[2, 3]) / 2,
    "mean": lambda a: a.mean(axis=(0, 1)),
    "max": lambda a: a.max(axis=(0, 1)),
    "rollout": lambda a: rollout(a)[1],
    "flow": lambda a: attention_flow(a[:2]),
}


@pytest.fixture(scope="module")
def trace(explorer):
    return explorer.trace("the cats [MASK] on")


@pytest.mark.parametrize("method", EXPECTED)
def test_a_matrix_is_what_its_name_says(explorer, trace, method):
    chosen = ((0, 1), (2, 3))
    found = module.attention_matrix(explorer, trace, method, 1, 2, heads=chosen)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, EXPECTED[method](trace.attention_probs), 1e-5)


def test_other_matrices_are_those_of_a_layer(explorer, trace):
    for method, expected in {
        "norms": attention_parts.norm_weighted_attention(explorer, trace, 1).combined,
        "value_zeroing": attention_parts.value_zeroing(explorer, trace, 1),
    }.items():
        found = module.attention_matrix(explorer, trace, method, 1, 0)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_cannot_be_made_is_refused(explorer, trace, monkeypatch):
    monkeypatch.setattr(module, "MOST_FLOWING", 6)
    with pytest.raises(TextError, match=r"Received: 7 pieces. Keep at most 6"):
        module.attention_matrix(explorer, trace, "flow", 1, 0)
    with pytest.raises(ValueError, match="median"):
        module.attention_matrix(explorer, trace, "median", 0, 0)


def test_heads_are_compared_with_those_of_another_text(explorer, trace):
    other = explorer.trace("the cats [MASK] a mat")
    found = module.compare_heads(trace, other)
    alignment = align_tokens(trace.tokenized.tokens, other.tokenized.tokens)
    sides = trace.attention_probs, other.attention_probs
    assert found.shape == sides[0].shape[:2]
    for place in np.ndindex(found.shape):
        alone = attention_difference(*(side[place] for side in sides), alignment)
        assert found[place] == pytest.approx(alone.distances, rel=1e-6)
    assert ((found > 0) & (found < 1)).all()
    assert not module.compare_heads(trace, trace).any()


def test_a_typed_sign_counts_like_one_that_was_added(explorer):
    trace = explorer.trace("the [SEP] [CLS] cat [MASK]")
    read, probs = trace.tokenized, trace.attention_probs
    tokens = np.array(read.tokens)
    cls, sep = (np.flatnonzero(tokens == sign) for sign in ("[CLS]", "[SEP]"))
    assert len(cls) == len(sep) == 2
    to_signs = probs[..., [*cls, *sep]].sum(axis=-1)  # [L, N, Q]
    mass = module.attention_mass(trace, 1)
    np.testing.assert_allclose(mass, 1 - to_signs[..., 1], atol=1e-6)
    profile = module.profile_heads(explorer, trace).profile
    assert profile.num_rows[0] == len(tokens)
    for measure, places in (("to_cls", cls), ("to_separators", sep)):
        expected = probs[..., places].sum(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(profile.of(measure), expected, rtol=1e-5)
    shown = show_attention(probs[0, 0], read, AttentionOptions(hide_special=True))
    assert not {"[CLS]", "[SEP]"} & set(shown.places.labels)
    assert "[MASK]" in shown.places.labels


@pytest.mark.parametrize("hides", [False, True])
def test_pictures_are_filtered_as_one_matrix_is(trace, hides):
    options = AttentionOptions(hide_special=hides, renormalise=hides)
    expected = np.array(
        [
            [show_attention(head, trace.tokenized, options).values for head in layer]
            for layer in trace.attention_probs
        ]
    )
    found, held = pictures.all_heads(trace, options)
    np.testing.assert_array_equal(found, grid_thumbnails(expected))
    np.testing.assert_array_equal(held.exact, expected.astype(np.float32))
    links, strongest = (
        pictures.attention_links(trace, 2, options),
        strongest_links(expected[2]),
    )
    np.testing.assert_array_equal(links.targets, strongest.targets)
    np.testing.assert_array_equal(links.weights, strongest.weights)
    np.testing.assert_allclose(links.sums, 1, rtol=1e-5)


@pytest.mark.parametrize("hides", [False, True])
def test_pictures_of_differences_are_of_the_tokens_that_both_have(
    explorer, trace, hides
):
    options = AttentionOptions(hide_special=hides, renormalise=hides)
    traces = trace, explorer.trace("the cats [MASK] a mat on")
    asked = (*traces, (None, None), options)
    found = pictures.difference_heads(*asked, in_small=True)
    exact, links = pictures.difference_heads(*asked), pictures.difference_links(*asked)
    for layer, head in ((0, 0), (2, 3)):
        first, second = (
            show_attention(one.attention_probs[layer, head], one.tokenized, options)
            for one in traces
        )
        alignment = align_tokens(first.places.labels, second.places.labels)
        assert 0 < len(alignment.first) < len(second.places)
        values = attention_difference(first.values, second.values, alignment).values
        expected = grid_thumbnails(values[None, None], is_difference=True)
        np.testing.assert_array_equal(found[layer, head], expected[0, 0])
        np.testing.assert_array_equal(exact[layer, head], values.astype("float32"))
        largest = np.abs(values).argmax(axis=-1)
        np.testing.assert_array_equal(links[layer].targets[head, :, 0], largest)
    assert (pictures.difference_heads(trace, trace, in_small=True) == 128).all()
