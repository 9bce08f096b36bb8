"""Every sentence about checkpoints exists in Chinese, with the same places."""

import ast
import json
import string
from pathlib import Path

from bertviz_core import checkpoints

ROOT = Path(checkpoints.__file__).parents[2]
TRANSLATED = ROOT / "assets" / "locales" / "zh" / "errors" / "checkpoints.json"
CALLS = ("CheckpointError", "ConfigError", "note")


def templates():
    """What is raised or noted, as literals."""
    for path in Path(checkpoints.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in CALLS
            ):
                yield node.args[0].value


def places(text):
    return {name for _, name, *_ in string.Formatter().parse(text) if name}


def test_every_sentence_is_translated_and_none_is_left_over():
    translated = json.loads(TRANSLATED.read_text(encoding="utf-8"))
    assert set(translated) == set(templates())


def test_a_translation_fills_the_same_places():
    translated = json.loads(TRANSLATED.read_text(encoding="utf-8"))
    for english, chinese in translated.items():
        assert places(english) == places(chinese)
        assert any("\u4e00" <= character <= "\u9fff" for character in chinese)
