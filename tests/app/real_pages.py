"""Pages of AppTest with the real engine: opened, waited for, and read."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.engine.questions import Question
from bertviz_core.explorer import Explorer
from pages.shared.engine import client
from tests.core.bundled import open_bundled

ROOT = Path(__file__).parents[2]
LANGUAGES = {"en": "English", "zh": "中文"}
DEADLINE_SECONDS = 120.0


def open_page(
    page: str,
    language: str = "en",
    *,
    state: dict[str, Any] | None = None,
    may_fail: bool = False,
    **params: str | list[str],
) -> AppTest:
    """Opens a page from a link; requires it to be well unless it `may_fail`."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    for name, value in ({"lang": LANGUAGES[language]} | params).items():
        app.query_params[name] = value
    for name, value in (state or {}).items():
        app.session_state[name] = value
    app.switch_page(f"pages/{page}/{page}.py").run()
    assert not app.exception
    return app if may_fail else checked(app)


def run_function(
    script: Callable[..., None], *args: Any, state: Mapping[str, Any] = {}, **params
) -> AppTest:
    """Runs a function as a page, for a visitor whose browser speaks English."""
    app = AppTest.from_function(script, args=args, default_timeout=60)
    app.context = {"locale": "en-GB"}
    for name, value in params.items():
        app.query_params[name] = value
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return app


def has(app: AppTest, key: str) -> bool:
    """Whether something on a page has this key."""
    with contextlib.suppress(KeyError):
        return app.get_by_key(key) is not None
    return False


def dense_word(length: int) -> str:
    """A word that compresses to no less than about 1.3 bytes of a link a letter."""
    letters = [chr(i) for i in range(0x430, 0x530) if chr(i).isalpha()]
    return "".join(random.Random(length).choices(letters, k=length))


def choose(app: AppTest, **values: Any) -> AppTest:
    """Gives widgets, by their keys, what a visitor chooses or types; runs the page."""
    for key, value in values.items():
        app.get_by_key(key).set_value(value)
    app.run()
    assert not app.exception
    return app


def enter(app: AppTest, **values: Any) -> AppTest:
    """The same, the page running after each."""
    for key, value in values.items():
        choose(app, **{key: value})
    return app


def click(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception
    return app


def checked(app: AppTest) -> AppTest:
    assert not app.exception
    assert [error.value for error in app.error] == []
    return app


def finished(app: AppTest, *, may_fail: bool = False) -> AppTest:
    """Runs a page until no job is under way."""
    end = time.monotonic() + DEADLINE_SECONDS
    while app.get("progress"):
        assert time.monotonic() < end
        let_jobs_end(app, end)
        app.run()
        assert not app.exception
    return app if may_fail else checked(app)


def let_jobs_end(app: AppTest, end: float) -> None:
    """Waits for the jobs that a page shows, so that it runs once after them.

    To run it again and again beside them would take the time that they need.

    Args:
        app: a page that has run; where it shows no job, this waits a moment only.
        end: on the clock of `time.monotonic`; waits no longer.
    """
    jobs = [
        app.session_state[button.key.removesuffix("_cancel")].status.job_id
        for button in app.button
        if (button.key or "").startswith("job_") and button.key.endswith("_cancel")
    ]
    time.sleep(0.02)
    engine = client()
    while not all(engine.job(job).is_finished for job in jobs):
        if time.monotonic() > end:
            return
        time.sleep(0.02)


def answer(question: Question) -> Any:
    """What the engine says to a job."""
    engine = client()
    job = engine.start(question)
    end = time.monotonic() + DEADLINE_SECONDS
    while not (status := engine.job(job)).is_finished:
        assert time.monotonic() < end
        time.sleep(0.02)
    return status.result


def random_estimate(question: Question) -> np.ndarray:
    """What could be said to one of `estimate_heads`, float64 `[L, N]`."""
    config = client().ask(Explorer.info)(question.subject).config
    shape = config.num_hidden_layers, config.num_attention_heads
    return np.random.default_rng(4).normal(0, 0.1, shape)


def said(app: AppTest, *, escaped: bool = False) -> str:
    """What a page says; without the signs before those of Markdown."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.success, app.error)
    text = "\n".join(one.value for kind in (*kinds, app.subheader) for one in kind)
    return text if escaped else text.replace("\\", "")


def specs(app: AppTest) -> list[dict]:
    """The figures of a page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def table(app: AppTest, below: str = "") -> Any:
    """The last table of a page, or the one below a figure, opened first."""
    if below:
        app.pills(key=f"{below}_tools").set_value("table").run()
    return app.dataframe[-1].value


def link_of(app: AppTest, name: str) -> str:
    """What the address says of a choice; "" where it is left out."""
    value = app.query_params.get(name, "")
    return value if isinstance(value, str) else value[0]


def unfolded(code: str) -> dict[str, str]:
    """A session in which the program below a figure is shown."""
    return {f"{code}_tools": "code"}


def run_program(app: AppTest) -> tuple[dict, str]:
    """Runs the only program on a page: its names, and what it printed."""
    (program,) = [one.value for one in app.code if "import" in one.value]
    return run_text(program)


def run_text(program: str) -> tuple[dict, str]:
    """The same of a program alone; models are opened once for all programs."""
    names: dict = {"__name__": "__main__"}
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(Explorer, "open", open_bundled)
        exec(compile(program, "program", "exec"), names)
    return names, printed.getvalue()


def floats(output: str) -> list[float]:
    found = re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", output)
    return [float(number) for number in found]


def signed(number):
    """A number as it is said, with a minus."""
    return float(number.replace("−", "-"))
