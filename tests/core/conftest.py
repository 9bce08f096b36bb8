"""Models that several tests read and none may change, and an engine."""

import functools

import pytest

from bertviz_core.engine.inline import InlineEngine
from tests.core.random_models import CONFIG, PRE_NORM, explorer_of, random_model


@pytest.fixture(scope="session")
def post_norm_model():
    return random_model(CONFIG)


@pytest.fixture(scope="session")
def pre_norm_model():
    return random_model(PRE_NORM)


@pytest.fixture(scope="session", params=["post-norm", "pre-norm"])
def any_norm_model(request, post_norm_model, pre_norm_model):
    return post_norm_model if request.param == "post-norm" else pre_norm_model


@pytest.fixture(scope="session")
def explorer_for():
    """Gives the one explorer of a model, whose compiled functions all tests share."""
    return functools.cache(explorer_of)


@pytest.fixture(scope="session")
def explorer(post_norm_model, explorer_for):
    return explorer_for(post_norm_model[0])


@pytest.fixture(scope="session")
def any_norm_explorer(any_norm_model, explorer_for):
    return explorer_for(any_norm_model[0])


@pytest.fixture(scope="module")
def client():
    """The engine in this process."""
    client = InlineEngine()
    yield client
    client.close()
