"""Errors carry their sentence, its template and its numbers between processes."""

import ast
import pickle
import string
from pathlib import Path

import pytest

from bertviz_core import errors
from bertviz_core.errors import BertVizError, TextError, require_positions

KINDS = (
    errors.BertVizError,
    errors.ConfigError,
    errors.TokenizerError,
    errors.TextError,
    errors.CheckpointError,
    errors.DatasetError,
    errors.TrainingError,
    errors.EngineError,
)
FOLDER = Path(errors.__file__).parent


def test_the_sentence_is_the_filled_template():
    error = BertVizError("Received: {name}={size}.", name="T", size=7)
    assert str(error) == "Received: T=7."
    assert error.template == "Received: {name}={size}."
    assert error.details == {"name": "T", "size": 7}


def test_braces_in_what_the_user_typed_are_text():
    assert (
        str(TextError("Received: {text}.", text="{0} {x!r}")) == "Received: {0} {x!r}."
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(kind, protocol):
    error = kind("{a} and {b}: 你好.", a="[MASK] {x}", b=3)
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is kind
    assert str(again) == "[MASK] {x} and 3: 你好."
    assert again.template == error.template
    assert again.details == error.details


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_caught_as_one_family(kind):
    assert issubclass(kind, BertVizError)
    assert not issubclass(kind, ValueError)


@pytest.mark.parametrize(("tokens", "positions"), [(0, 5), (5, 5), (4, 5)])
def test_a_text_that_fits_is_let_through(tokens, positions):
    require_positions(tokens, positions)


def test_a_text_that_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(TextError) as caught:
        require_positions(6, 5)
    assert caught.value.details == {"num_tokens": 6, "max_tokens": 5}
    assert "6 tokens" in str(caught.value)
    assert "5 positions" in str(caught.value)


def raised_errors():
    """Every `…Error("…", …)` of the family in the core: file, line, call."""
    names = {kind.__name__ for kind in KINDS}
    for path in sorted(FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in names
            ):
                where = f"{path.relative_to(FOLDER)}:{node.lineno}"
                yield pytest.param(node, id=where)


@pytest.mark.parametrize("call", list(raised_errors()))
def test_a_raised_template_is_a_literal_with_each_place_filled(call):
    (template,) = call.args
    assert isinstance(template, ast.Constant), "not one literal string"
    places = {name for _, name, *_ in string.Formatter().parse(template.value) if name}
    assert places == {keyword.arg for keyword in call.keywords}
    assert template.value.endswith(".")
