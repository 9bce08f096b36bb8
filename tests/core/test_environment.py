import pytest

from bertviz_core.engine.worker_specs import SLOTS_VARIABLE, training_slots
from bertviz_core.environment import ASKED_POLICY, models_policy, one_of, whole_number
from bertviz_core.errors import EngineError

NAME = "BERTVIZ_OF_A_TEST"


@pytest.mark.parametrize(
    ("said", "expected"), [("3", 3), (" 12 ", 12), ("0", 0), ("", 7), ("  ", 7)]
)
def test_a_number_is_read_and_a_blank_is_the_default(monkeypatch, said, expected):
    monkeypatch.delenv(NAME, raising=False)
    assert whole_number(NAME, 7) == 7
    monkeypatch.setenv(NAME, said)
    assert whole_number(NAME, 7) == expected


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


@pytest.mark.parametrize(
    ("own", "asked", "policy"),
    [
        ("", "any", "any"),
        ("any", "any", "any"),
        ("Listed", "any", "listed"),
        ("", "listed", "listed"),
        ("any", "listed", "listed"),
    ],
)
def test_the_stricter_policy_on_models_holds(monkeypatch, own, asked, policy):
    monkeypatch.setenv("BERTVIZ_MODELS", own)
    token = ASKED_POLICY.set(asked)
    try:
        assert models_policy() == policy
    finally:
        ASKED_POLICY.reset(token)


def test_a_policy_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("BERTVIZ_MODELS", "list")
    with pytest.raises(EngineError, match="any, listed"):
        models_policy()
