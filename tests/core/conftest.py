"""Models that several tests read and none may change, and an engine."""

import os

import pytest

from bertviz_core.engine.inline import InlineEngine
from bertviz_core.training.finetune import baselines
from tests.core.brute_force import OracleWords
from tests.core.cause_models import explorer_named, model_named
from tests.core.random_models import CONFIG, explorer_of, random_model


@pytest.fixture(scope="session", autouse=True)
def word_counts_that_try_little():
    """Beside a training: to try all takes as long as to train a tiny model."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ["KERAS_BACKEND"] == "tensorflow":
            patch.setattr(baselines, "_INVERSE_PENALTIES", (10.0,))
        yield


@pytest.fixture(scope="session")
def post_norm_model():
    return model_named("post-norm")


@pytest.fixture(scope="session")
def pre_norm_model():
    return model_named("pre-norm")


@pytest.fixture(scope="session")
def explorer():
    return explorer_named("post-norm")


@pytest.fixture(scope="session", params=["post-norm", "pre-norm"])
def any_norm(request):
    return request.param


@pytest.fixture(scope="session")
def any_norm_model(any_norm):
    return model_named(any_norm)


@pytest.fixture(scope="session")
def any_norm_explorer(any_norm):
    return explorer_named(any_norm)


@pytest.fixture(scope="session")
def other_explorer():
    """Of the same shape as `explorer`, with other weights."""
    return explorer_of(random_model(CONFIG, seed=12)[0])


@pytest.fixture(scope="session")
def words(post_norm_model):
    """What the oracle of the same model says of words."""
    return OracleWords(post_norm_model)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Where the app keeps what it is brought: a folder that is not there yet."""
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    for name in ("BERTVIZ_MODELS", "BERTVIZ_LEASE_MINUTES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def client():
    """The engine in this process."""
    client = InlineEngine()
    yield client
    client.close()
