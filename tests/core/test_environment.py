"""Numbers and words from the environment: one rule for all of each."""

import pytest

from bertviz_core.engine.worker_specs import SLOTS_VARIABLE, training_slots
from bertviz_core.environment import one_of, whole_number
from bertviz_core.errors import EngineError

NAME = "BERTVIZ_OF_A_TEST"


@pytest.mark.parametrize(("said", "expected"), [("3", 3), (" 12 ", 12), ("0", 0)])
def test_a_number_is_read(monkeypatch, said, expected):
    monkeypatch.setenv(NAME, said)
    assert whole_number(NAME, 7) == expected


@pytest.mark.parametrize("said", [None, "", "  "])
def test_what_is_absent_or_blank_is_the_default(monkeypatch, said):
    monkeypatch.delenv(NAME, raising=False)
    if said is not None:
        monkeypatch.setenv(NAME, said)
    assert whole_number(NAME, 7) == 7


@pytest.mark.parametrize("said", ["two", "-1", "1.5", "1e3", "9" * 5000])
def test_anything_else_is_told_with_its_name(monkeypatch, said):
    monkeypatch.setenv(NAME, said)
    with pytest.raises(EngineError, match=f"{NAME} must be a whole number") as caught:
        whole_number(NAME, 7)
    assert caught.value.details == {"name": NAME, "received": said[:60]}
    assert len(str(caught.value)) < 250


def test_a_number_that_makes_no_sense_is_told(monkeypatch):
    monkeypatch.setenv(SLOTS_VARIABLE, "0")
    with pytest.raises(EngineError, match="whole number"):
        training_slots()
    monkeypatch.setenv(SLOTS_VARIABLE, " 2 ")
    assert training_slots() == 2


def test_a_word_is_one_of_several_in_any_case(monkeypatch):
    choices = ("cluster", "inline")
    monkeypatch.delenv("WORD", raising=False)
    assert one_of("WORD", choices) == "cluster"
    monkeypatch.setenv("WORD", " InLine ")
    assert one_of("WORD", choices) == "inline"
    monkeypatch.setenv("WORD", "rocket" * 100)
    with pytest.raises(EngineError) as caught:
        one_of("WORD", choices)
    assert "WORD must be one of: cluster, inline. Received: rocket" in str(caught.value)
    assert len(str(caught.value)) < 250
