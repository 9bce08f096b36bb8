"""Every page, in both languages, with the real engine and the bundled model."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages.shared.navigation import ICONS

ROOT = Path(__file__).parents[2]

# In a process of its own: other tests of this run import Keras.
PROGRAM = """
import json, sys
from pages.shared.navigation import ICONS
from streamlit.testing.v1 import AppTest

if __name__ == "__main__":
    runs, guesses = [], {}
    for locale in ("en-GB", "zh-CN"):
        for name in ICONS:
            app = AppTest.from_file("app.py", default_timeout=150)
            app.context = {"locale": locale}
            app.switch_page(f"pages/{name}/{name}.py").run()
            errors = [e.value for e in (*app.exception, *app.error)]
            runs.append([name, locale, app.title[0].value, errors])
            if name == "masked_word":
                guesses[locale] = [caption.value for caption in app.caption]
    heavy = {"keras", "tensorflow", "tokenizers", "safetensors", "torch"}
    print(json.dumps([runs, guesses, sorted(heavy & sys.modules.keys())]))
"""


@pytest.fixture(scope="module")
def outcome():
    variables = {"BERTVIZ_ENGINE": "cluster", "BERTVIZ_SCHEDULER": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_page_runs_without_an_error(outcome):
    runs = outcome[0]
    assert {run[0] for run in runs} >= {"home", "masked_word", "models"}
    assert len(runs) == 2 * len(ICONS)
    assert [run for run in runs if run[3]] == []


@pytest.mark.parametrize(("locale", "word"), [("en-GB", "children"), ("zh-CN", "美")])
def test_the_bundled_models_complete_their_first_examples(outcome, locale, word):
    (told,) = [text for text in outcome[1][locale] if "%" in text]
    assert re.search(r"[:：] ?(\w+)", told)[1] == word


def test_the_streamlit_process_loads_no_model_framework(outcome):
    assert outcome[2] == []
