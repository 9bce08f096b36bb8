"""The fakes take what the engine and the tasks take that they stand for."""

import importlib
import inspect
from pathlib import Path

import pytest

from bertviz_core.engine.engine import Engine
from bertviz_core.engine.trainings import Trainings
from tests.app.fake_client import FakeClient, FakeTrainings
from tests.app.fake_fine_tune import FineTuneClient
from tests.app.finished_runs import RunClient

ROOT = Path(__file__).parents[2]
# What pages send is an id, texts, or where a table and its parts lie; see
# `engine.questions`.
SENT = {
    "explorer": "model",
    "self": "model",
    "trace": "texts",
    "table": "source",
    "prepared": "data",
}


def tasks():
    """Every function of the core that pages may ask, by its name."""
    found = {}
    for path in (ROOT / "bertviz_core").rglob("*.py"):
        if "@task(" not in path.read_text("utf-8"):
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for one in vars(importlib.import_module(name)).values():
            for function in (
                one,
                *(vars(one).values() if inspect.isclass(one) else ()),
            ):
                if hasattr(function, "task"):
                    found[function.__name__] = function
    return found


def taken(function, sent):
    """What it is called with: the names, and which of them may be left out."""
    given = inspect.signature(function).parameters.values()
    names = {sent.get(one.name, one.name): one for one in given}
    names.pop("progress", None)
    return {name: one.default is not one.empty for name, one in names.items()}


@pytest.mark.parametrize(
    ("fake", "real"),
    [
        *((fake, Engine) for fake in (FakeClient, FineTuneClient, RunClient)),
        (FakeTrainings, Trainings),
    ],
)
def test_a_fake_is_called_like_what_it_stands_for(fake, real):
    known, compared = tasks(), 0
    for name, function in vars(fake).items():
        is_engine = hasattr(real, name)
        stands_for = getattr(real, name, known.get(name.removeprefix("_")))
        if name.startswith("__") or stands_for is None:
            continue
        answered = taken(function, {})
        answered.pop("self")
        if "_" in answered:  # it looks at its first arguments alone
            continue
        expected = taken(stands_for, {} if is_engine else SENT)
        expected.pop("self", None)
        lacking = expected.keys() - answered.keys()
        assert all(expected[one] for one in lacking), (name, lacking)
        assert list(answered) == [one for one in expected if one in answered], name
        compared += 1
    assert compared > 3
