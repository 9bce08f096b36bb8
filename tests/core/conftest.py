"""Models that several tests read and none may change."""

import pytest

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
def explorer(post_norm_model):
    return explorer_of(post_norm_model[0])
