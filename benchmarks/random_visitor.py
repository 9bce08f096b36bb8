"""A visitor who chooses at random, on the app without a browser: what breaks?

`python -m benchmarks.random_visitor --seed 3 --steps 20 attention layers`. Each walk
opens a page in a language, with a bundled model and a text, and changes one widget
after the other. It tells of every error and traceback, of the steps that led there, and
of choices that are others once the link is opened anew. An error may be right, as where
a text is too long: who reads it decides.
"""

import itertools
import logging
import random
import time
from pathlib import Path
from typing import Any
from unittest import mock

import click
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from pages.shared import language
from pages.shared.navigation import ICONS

APP = Path(__file__).parents[1] / "app.py"
MODELS = ("bert-mini-en", "bert-mini-zh")
TEXTS = (
    "The cat sat on the [MASK].",
    "a",
    "[MASK] [MASK] [MASK]",
    "<b>bold</b> $x$ [link](http://x) `c` **s** \u200b",
    "它坐在[MASK]上。",
    "😀 family 👨‍👩‍👧 and the [MASK]",
    "word " * 140,
    "مرحبا بالعالم",
    "New York is [MASK] .\n\nSecond paragraph.",
    "  ",
)
CHOOSING = ("selectbox", "radio", "select_slider", "button_group", "multiselect")
KINDS = [*CHOOSING, "slider", "number_input", "text_input", "text_area"]
KINDS += ["toggle", "checkbox", "button"]
LEFT_OUT = ("sample_zip", "ft_start")  # leads away, or takes minutes
JOB_SECONDS = 60.0


def walk(page: str, speech: str, model: str, num_steps: int, seed: str) -> list[str]:
    """Takes steps on a page; returns what went wrong, with the steps before it."""
    rng = random.Random(seed)
    params = {"lang": language.LANGUAGES[speech], "model": model}
    params |= {"text": rng.choice(TEXTS), "pair": rng.choice(("", *TEXTS))}
    app, steps, faults = _opened(page, params), [str(params)], []
    told: list[str] = []
    while not app.exception and len(steps) <= num_steps:
        told, before = [error.value for error in app.error], told
        new = [f"-> {said}" for said in told if said not in before]
        faults += ["\n  ".join([*steps, *new])] if new else []
        steps.append(_change(app, rng))
    if app.exception:
        return [*faults, "\n  ".join([*steps, f"-> {app.exception[0].value}"])]
    # That of the language is written by a browser.
    shown, link = _choices(app), {**app.query_params, "lang": app.session_state["lang"]}
    again = _choices(_opened(page, link))
    others = {key for key in shown | again if shown.get(key) != again.get(key)}
    new = [f"-> {key}: {shown.get(key)}, anew {again.get(key)}" for key in others]
    return [*faults, "\n  ".join([*steps, str(link), *new])] if new else faults


def _opened(page: str, params: dict[str, Any]) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=120)
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page(f"pages/{page}/{page}.py")
    return _run(app)


def _run(app: AppTest) -> AppTest:
    """Runs the page until no job is under way."""
    end = time.monotonic() + JOB_SECONDS
    names = {name: code for code, name in language.LANGUAGES.items()}
    while True:
        app.run()
        # Names of options are asked for in this thread, which draws no page.
        language._RUN.language = names[app.session_state["lang"]]
        if not app.get("progress") or time.monotonic() > end:
            return app
        time.sleep(0.5)


def _widgets(app: AppTest) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [(k, one) for k in KINDS for one in app.get(k)]
    return [(k, one) for k, one in found if one.key and not one.disabled]


def _choices(app: AppTest) -> dict[str, str]:
    return {
        widget.key: f"{widget.value:.6g}"
        if isinstance(widget.value, float)
        else repr(widget.value)
        for kind, widget in _widgets(app)
        # Of the tools, and of what the visitor typed before, a link says nothing.
        if kind != "button" and not widget.key.endswith(("_tools", "_earlier"))
    }


def _change(app: AppTest, rng: random.Random) -> str:
    """Changes one widget and runs the page; returns which, and to what."""
    offered = [each for each in _widgets(app) if each[1].key not in LEFT_OUT]
    kind, widget = rng.choice(offered)
    value: Any = True
    if kind in CHOOSING:
        options = list(widget.options)
        several = kind == "multiselect" or getattr(widget.proto, "click_mode", 0) == 1
        value = [one for one in options if rng.random() < 0.4]
        value = value if several else rng.choice(options or [None])
    elif kind in ("text_input", "text_area"):
        value = rng.choice(TEXTS)
    elif kind in ("slider", "number_input"):
        low, high = widget.min or 0, widget.max or 50
        count = min(int((high - low) / widget.step), 60)
        value = type(widget.value)(low + widget.step * rng.randint(0, count))
    elif kind != "button":
        value = not widget.value
    widget.set_value(value)
    _run(app)
    return f"{widget.key}: {value!r}"


@click.command(help=__doc__)
@click.argument("pages", nargs=-1, type=click.Choice(list(ICONS)))
@click.option("--steps", default=20, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(pages: tuple[str, ...], steps: int, seed: int) -> None:
    """Walks over these pages, or over all."""
    logging.disable(logging.WARNING)
    # As in the app's process, which never has Keras, and reads its packages once.
    with (
        mock.patch.object(script_runner, "_clean_problem_modules"),
        mock.patch.object(BidiComponentManager, "discover_and_register_components"),
    ):
        for where in itertools.product(pages or ICONS, language.LANGUAGES, MODELS):
            faults = walk(*where, steps, f"{seed} {where}")
            print(f"{', '.join(where)}: {len(faults)} faults", *faults, sep="\n")


if __name__ == "__main__":
    main()
