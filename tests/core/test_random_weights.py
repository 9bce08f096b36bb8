"""The check of attribution against a model that knows nothing."""

import numpy as np
import pytest

from bertviz_core.experiments import attribution
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.random_weights import (
    check_with_random_weights,
    shuffled_explorer,
)
from bertviz_core.weights import as_numpy
from tests.core.random_models import VOCABULARY

TEXT = "the [MASK] sat on a mat"
TARGET = Target("mlm", VOCABULARY.index("cat"), 2)
METHODS = ("gradient_x_input", "occlusion_mask")


def test_each_weight_keeps_its_numbers_in_another_order(post_norm_model, explorer):
    other = shuffled_explorer(explorer, seed=2).loaded.model
    for new, old in zip(other.weights, post_norm_model[0].weights, strict=True):
        assert new.path == old.path
        assert sorted(as_numpy(new).ravel()) == sorted(as_numpy(old).ravel())
        if as_numpy(old).size > 5:
            assert (as_numpy(new) != as_numpy(old)).any()


@pytest.mark.tensorflow
def test_both_attributions_and_their_rank_correlation_are_given(explorer, monkeypatch):
    monkeypatch.setattr(attribution, "METHODS", METHODS)
    model, seen = explorer.loaded.model, []
    before = [as_numpy(weight) for weight in model.weights]
    own = attribute(explorer, TEXT, TARGET)
    other = attribute(shuffled_explorer(explorer, 2), TEXT, TARGET)
    found = check_with_random_weights(
        explorer, TEXT, TARGET, seed=2, progress=lambda done, _: seen.append(done)
    )
    np.testing.assert_allclose(found.own.scores, own.scores, atol=1e-6)
    for row in range(2):
        ranks = [
            np.argsort(np.argsort(part.scores[row, own.compared]))
            for part in (own, other)
        ]
        expected = np.corrcoef(*ranks)[0, 1]
        assert found.agreement[row] == pytest.approx(expected)
    assert seen == [0.5, 1.0]
    for weight, old in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(as_numpy(weight), old)
    # Another seed, and a text whose one word has no order.
    found = check_with_random_weights(explorer, "the [MASK]", TARGET, seed=3)
    assert np.isnan(found.agreement).all()
