"""What the questions of the attention page show is what the engine has computed."""

from __future__ import annotations

import dataclasses

import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from pages.ui.attention import arithmetic
from pages.ui.engine import client
from tests.app.test_attention import TEXT, said
from tests.app.test_attention_questions import ask


@pytest.mark.parametrize("apart", [5e-7, 5e-6])
def test_a_weight_that_rounding_has_moved_says_so(monkeypatch, apart):
    found = client().pair_arithmetic(DEFAULT_MODEL, TEXT, 0, 0, 2, 4)
    moved = dataclasses.replace(
        found, exposed_prob=found.prob, unrounded_probs=found.probs + apart
    )
    monkeypatch.setattr(arithmetic, "pair_arithmetic", lambda *_: moved)
    text = said(ask("arithmetic", attention_from="2", attention_to="4"))
    assert ("Without any rounding in this row" in text) == (apart > 1e-6)
    assert (f"{moved.rounding:+.0e}" in text) == (apart > 1e-6)
