"""What stands under a map: where it began, and what it is worth."""

from __future__ import annotations

import pytest

from tests.app.test_embeddings import finished, open_page, sent

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
