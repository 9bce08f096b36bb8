"""Long work of the masked-word page waits for a button; one bad word spoils nothing."""

from __future__ import annotations

import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.joint_filling import fill_masks
from pages.shared.engine import client
from tests.app.real_pages import checked, finished, table
from tests.app.test_masked_panels import TWO_MASKS, open_page

UNREADABLE = "龘"


def test_a_word_without_a_score_leaves_those_of_the_others():
    app = open_page(masked_panel="score", masked_score_words=f"france, {UNREADABLE}")
    assert list(table(app)["Word"]) == ["france"]
    assert [UNREADABLE in warning.value for warning in app.warning] == [True]
    app.text_input(key="masked_score_words").set_value(UNREADABLE).run()
    assert len(checked(app).warning) == 1
    assert not app.dataframe


@pytest.mark.parametrize(
    ("panel", "place", "below", "choices"),
    [
        ("fill", "masked_fill", "", {}),
        ("whole", "masked_whole", "masked_whole_words", {}),
        ("score", "masked_word_scores", "", {"masked_score_words": "rome, oslo"}),
    ],
)
def test_what_takes_long_waits_for_a_button_and_says_the_same(
    panel, place, below, choices, monkeypatch
):
    app = open_page(masked_panel=panel, text=TWO_MASKS, **choices)
    expected = table(app, below)
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 0)
    app = open_page(masked_panel=panel, text=TWO_MASKS, **choices)
    assert not app.dataframe
    app.button(key=f"job_{place}_start").click().run()
    finished(checked(app))
    assert table(app, below).equals(expected)


def test_what_takes_a_little_longer_starts_without_a_button(monkeypatch):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 1)
    app = finished(open_page(masked_panel="fill", text=TWO_MASKS))
    filling = client().ask(fill_masks)(DEFAULT_MODEL, TWO_MASKS, "most_confident_first")
    assert list(table(app)["Word"]) == [step.token for step in filling.steps]
