"""What stands under a map: where it began, and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.real_pages import finished, said, specs
from tests.app.test_embeddings import open_page, sent
from tests.core.sent_figures import numbers

LINES = "\n".join(
    ["The cat sat.", "It rained.", "We ate soup.", "Birds sing.", "He ran home."]
)


def test_a_t_sne_map_says_what_its_seed_moves():
    pytest.importorskip("sklearn")
    app = open_page(
        embeddings_panel="sentences",
        embeddings_topics=LINES,
        embeddings_points_method="tsne",
    )
    app.button(key="job_embeddings_tsne_start").click().run()
    first, *later = sent(finished(app))["notes"]
    assert "Seed 0 begins at the PCA map" in first
    assert all("Seed 0 begins just at the map of the layer before" in n for n in later)


def test_points_that_are_one_have_no_quality():
    """Before the first layer all sentences have the same [CLS]."""
    app = open_page(
        embeddings_panel="sentences",
        embeddings_topics=LINES,
        embeddings_points_reading="cls",
    )
    first, *later = sent(app)["notes"]
    one, trust = "All points are one here", "Trustworthiness"
    assert first.startswith(one)
    assert trust not in first
    assert "%" not in first
    assert all(trust in note and one not in note for note in later)
    curves = [numbers(trace["y"]) for trace in specs(app)[0]["data"]]
    assert len(curves) == 3
    for curve in curves:
        assert np.isnan(curve[0])
        assert np.isfinite(curve[1:]).all()
    assert "All points are one at: input of layer 1" in said(app)
