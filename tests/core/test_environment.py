"""What the environment says, and how errors are told."""

import ast
import pickle
import string
from pathlib import Path

import pytest

from bertviz_core import errors
from bertviz_core.engine.worker_specs import SLOTS_VARIABLE, training_slots
from bertviz_core.environment import ASKED_POLICY, models_policy, one_of, whole_number
from bertviz_core.errors import BertVizError, EngineError, TextError, require_positions

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


KINDS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, BertVizError)
]
FOLDER = Path(errors.__file__).parent


def test_the_sentence_is_the_filled_template():
    error = TextError("Received: {text}={size}.", text="{0} {x!r}", size=7)
    assert str(error) == "Received: {0} {x!r}=7."
    assert error.template == "Received: {text}={size}."
    assert error.details == {"text": "{0} {x!r}", "size": 7}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(protocol):
    assert len(KINDS) >= 8
    for kind in KINDS:
        error = kind("{a} and {b}: 你好.", a="[MASK] {x}", b=3)
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is kind
        assert str(again) == "[MASK] {x} and 3: 你好."
        assert again.template == error.template
        assert again.details == error.details


def test_a_text_that_does_not_fit_is_refused_with_both_numbers():
    require_positions(5, 5)
    with pytest.raises(TextError) as caught:
        require_positions(6, 5)
    assert caught.value.details == {"num_tokens": 6, "max_tokens": 5}
    assert "6 tokens" in str(caught.value)
    assert "5 positions" in str(caught.value)


def test_each_raised_template_has_a_value_for_each_place():
    """`tests/test_locales.py` holds the templates themselves."""
    names, wrong, seen = {kind.__name__ for kind in KINDS}, [], 0
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names:
                (template,), seen = node.args, seen + 1
                parts = string.Formatter().parse(template.value)
                places = {name for _, name, *_ in parts if name}
                given = {keyword.arg for keyword in node.keywords}
                given = given - {None} | places if None in given else given  # of a dict
                if places != given or not template.value.endswith("."):
                    wrong.append(f"{path.relative_to(FOLDER)}:{node.lineno}")
    assert wrong == []
    assert seen > 100
