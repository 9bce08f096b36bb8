import ast
import pickle
import string
from pathlib import Path

import pytest

from bertviz_core import errors
from bertviz_core.errors import BertVizError, TextError, require_positions

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
                if places != given or not template.value.endswith("."):
                    wrong.append(f"{path.relative_to(FOLDER)}:{node.lineno}")
    assert wrong == []
    assert seen > 100
