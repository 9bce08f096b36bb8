"""What the masked-word page offers follows the model and the text it stands beside."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import models
from pages.shared.language import current_language
from pages.shared.language import text as said_in
from pages.shared.own_text import EXAMPLES
from tests.app import real_pages
from tests.app.chinese_model import write_mixed_model
from tests.app.real_pages import LANGUAGES
from tests.core.checkpoint_copies import HF


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return str(write_mixed_model(tmp_path_factory.mktemp("model")))


def open_page(language: str, model: str, **params: str) -> AppTest:
    return real_pages.open_page(
        "masked_word", language, may_fail=True, model=model, **params
    )


def text_of(app: AppTest) -> str:
    return app.text_area(key="text").value


def switch_to(app: AppTest, language: str) -> AppTest:
    app.get_by_key("lang").set_value(LANGUAGES[language]).run()
    assert not app.exception
    return app


def intro_of(kind: str) -> str:
    return said_in(f"masked_panels.whole_{kind}_intro", "en")


def test_an_own_model_gets_examples_and_words_of_its_language(chinese):
    app = open_page("en", chinese, masked_panel="whole")
    assert text_of(app) == EXAMPLES["zh"][0][0]
    assert app.get_by_key("masked_click_size").value == "1"
    assert intro_of("characters") in [element.value for element in app.markdown]
    # Characters are hidden together, whatever the interface.
    app.text_area(key="text").set_value("我喜欢吃苹果").run()
    app.get_by_key("masked_click_size").set_value("2").run()
    app.get_by_key("masked_words").select(4).run()
    assert text_of(app) == "我喜欢吃[MASK][MASK]"
    app = open_page("zh", str(HF))
    assert text_of(app) == EXAMPLES["en"][0][0]


OWN = "my ab [MASK] e"


def model_of(app: AppTest) -> str:
    return app.get_by_key("model").value


@pytest.fixture
def defaults(monkeypatch, chinese):
    """The default of each language: small models, of which one reads Chinese."""
    found = {"en": str(HF), "zh": chinese}
    monkeypatch.setattr(models, "default_model", lambda: found[current_language()])
    return found


def open_default(page: str = "masked_word") -> AppTest:
    return real_pages.open_page(page, may_fail=True)


def test_the_default_follows_the_language_beside_an_untouched_text(defaults):
    app = open_default()
    assert model_of(app) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["zh"]
    assert text_of(app) == EXAMPLES["zh"][0][0]
    assert model_of(switch_to(app, "en")) == defaults["en"]


def test_the_default_stays_while_a_text_of_ones_own_stands_in_the_box(defaults):
    app = open_default()
    app.text_area(key="text").set_value(OWN).run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    assert text_of(app) == OWN
    assert model_of(app.run()) == defaults["en"]
    assert model_of(switch_to(app, "en")) == defaults["en"]
    switch_to(app, "zh")
    app.text_area(key="text").set_value("").run()  # to type another one
    assert model_of(app) == defaults["en"]
    app.text_area(key="text").set_value(EXAMPLES["en"][0][0]).run()
    assert model_of(app) == defaults["zh"]
    assert text_of(app) == EXAMPLES["zh"][0][0]


def test_the_default_stays_on_the_other_pages_too(defaults):
    app = open_default()
    app.text_area(key="text").set_value(OWN).run()
    app.switch_page("pages/home/home.py").run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app.switch_page("pages/masked_word/masked_word.py").run()
    assert (model_of(app), text_of(app)) == (defaults["en"], OWN)


def test_a_text_of_ones_own_in_the_new_language_takes_the_default_along(defaults):
    app = open_default()
    app.text_area(key="text").set_value("我喜欢吃苹[MASK]").run()
    assert model_of(app) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["zh"]


def test_a_text_and_its_language_may_change_in_one_go(defaults):
    app = open_default()
    app.text_area(key="text").set_value(OWN)
    assert model_of(switch_to(app, "zh")) == defaults["en"]


def test_the_text_of_the_attention_page_counts_as_well(defaults):
    app = open_default("attention")
    app.text_area(key="pair").set_value("ab e").run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app = open_default("attention")
    app.text_area(key="pair").set_value("ab e").run()
    app.text_area(key="pair").set_value("").run()
    assert model_of(switch_to(app, "zh")) == defaults["zh"]


def test_the_language_leaves_a_text_that_the_model_alone_can_read(chinese):
    app = open_page("en", chinese)
    assert text_of(switch_to(app, "zh")) == EXAMPLES["zh"][0][0]
    app = open_page("zh", str(HF))
    assert text_of(switch_to(app, "en")) == EXAMPLES["en"][0][0]


def test_an_untouched_text_follows_the_language_where_the_model_reads_both(mixed):
    app = open_page("en", mixed)
    assert text_of(app) == EXAMPLES["en"][0][0]
    assert text_of(switch_to(app, "zh")) == EXAMPLES["zh"][0][0]
    assert text_of(switch_to(app, "en")) == EXAMPLES["en"][0][0]


def test_the_text_of_a_link_stays_though_it_is_the_example_of_another_language(mixed):
    app = open_page("zh", mixed, text=EXAMPLES["en"][0][0])
    assert text_of(app.run()) == EXAMPLES["en"][0][0]


def test_a_model_of_both_languages_follows_the_text_or_the_interface(mixed):
    app = open_page("en", mixed, masked_panel="whole")
    for text, kind in (
        ("我[MASK]", "characters"), ("ab [MASK]", "pieces"), ("[MASK]", "pieces"),
    ):  # fmt: skip
        app.text_area(key="text").set_value(text).run()
        assert intro_of(kind) in [element.value for element in app.markdown]
    app = open_page("zh", mixed, text="[MASK]", masked_panel="whole")
    intro = said_in("masked_panels.whole_characters_intro", "zh")
    assert intro in [element.value for element in app.markdown]
