"""What the masked-word page offers follows the model and the text it stands beside."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.masked_word.state import EXAMPLES
from pages.shared import models
from pages.shared.language import current_language
from pages.shared.language import text as said_in
from tests.app.chinese_model import write_chinese_model, write_mixed_model
from tests.core.checkpoint_copies import HF

ROOT = Path(__file__).parents[2]
LANGUAGES = {"en": "English", "zh": "中文"}


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    return str(write_chinese_model(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return str(write_mixed_model(tmp_path_factory.mktemp("model")))


def open_page(language: str, model: str, **params: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = LANGUAGES[language]
    app.query_params["model"] = model
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page("pages/masked_word/masked_word.py").run()
    assert not app.exception
    return app


def text_of(app: AppTest) -> str:
    return app.text_area(key="masked_text").value


def switch_to(app: AppTest, language: str) -> AppTest:
    app.get_by_key("lang").set_value(LANGUAGES[language]).run()
    assert not app.exception
    return app


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_own_chinese_model_gets_chinese_examples_and_words(language, chinese):
    app = open_page(language, chinese, masked_panel="whole")
    assert text_of(app) == EXAMPLES["zh"][0]
    assert app.get_by_key("masked_click_size").value == "1"
    intro = said_in("masked_panels.whole_characters_intro", language)
    assert intro in [element.value for element in app.markdown]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_own_english_model_gets_english_examples_and_words(language):
    app = open_page(language, str(HF))
    assert text_of(app) == EXAMPLES["en"][0]
    app = open_page(language, str(HF), masked_text="ab [MASK]", masked_panel="whole")
    intro = said_in("masked_panels.whole_pieces_intro", language)
    assert intro in [element.value for element in app.markdown]


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
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = LANGUAGES["en"]
    app.switch_page(f"pages/{page}/{page}.py").run()
    assert not app.exception
    return app


def test_the_default_follows_the_language_beside_an_untouched_text(defaults):
    app = open_default()
    assert model_of(app) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["zh"]
    assert text_of(app) == EXAMPLES["zh"][0]
    assert model_of(switch_to(app, "en")) == defaults["en"]


def test_the_default_stays_while_a_text_of_ones_own_stands_in_the_box(defaults):
    app = open_default()
    app.text_area(key="masked_text").set_value(OWN).run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    assert text_of(app) == OWN
    assert model_of(app.run()) == defaults["en"]
    assert model_of(switch_to(app, "en")) == defaults["en"]
    switch_to(app, "zh")
    app.text_area(key="masked_text").set_value("").run()  # to type another one
    assert model_of(app) == defaults["en"]
    app.text_area(key="masked_text").set_value(EXAMPLES["en"][0]).run()
    assert model_of(app) == defaults["zh"]
    assert text_of(app) == EXAMPLES["zh"][0]


def test_the_default_stays_on_the_other_pages_too(defaults):
    app = open_default()
    app.text_area(key="masked_text").set_value(OWN).run()
    app.switch_page("pages/home/home.py").run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app.switch_page("pages/masked_word/masked_word.py").run()
    assert (model_of(app), text_of(app)) == (defaults["en"], OWN)


def test_a_text_of_ones_own_in_the_new_language_takes_the_default_along(defaults):
    app = open_default()
    app.text_area(key="masked_text").set_value("我喜欢吃苹[MASK]").run()
    assert model_of(app) == defaults["en"]
    assert model_of(switch_to(app, "zh")) == defaults["zh"]


def test_a_text_and_its_language_may_change_in_one_go(defaults):
    app = open_default()
    app.text_area(key="masked_text").set_value(OWN)
    assert model_of(switch_to(app, "zh")) == defaults["en"]


def test_the_text_of_the_attention_page_counts_as_well(defaults):
    app = open_default("attention")
    app.text_area(key="attention_pair").set_value("ab e").run()
    assert model_of(switch_to(app, "zh")) == defaults["en"]
    app = open_default("attention")
    app.text_area(key="attention_pair").set_value("ab e").run()
    app.text_area(key="attention_pair").set_value("").run()
    assert model_of(switch_to(app, "zh")) == defaults["zh"]


def test_the_language_leaves_a_text_that_the_model_alone_can_read(chinese):
    app = open_page("en", chinese)
    assert text_of(switch_to(app, "zh")) == EXAMPLES["zh"][0]
    app = open_page("zh", str(HF))
    assert text_of(switch_to(app, "en")) == EXAMPLES["en"][0]


def test_an_untouched_text_follows_the_language_where_the_model_reads_both(mixed):
    app = open_page("en", mixed)
    assert text_of(app) == EXAMPLES["en"][0]
    assert text_of(switch_to(app, "zh")) == EXAMPLES["zh"][0]
    assert text_of(switch_to(app, "en")) == EXAMPLES["en"][0]


def test_the_text_of_a_link_stays_though_it_is_the_example_of_another_language(mixed):
    app = open_page("zh", mixed, masked_text=EXAMPLES["en"][0])
    assert text_of(app.run()) == EXAMPLES["en"][0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("text", "kind"), [("我[MASK]", "characters"), ("ab [MASK]", "pieces")]
)
def test_a_model_of_both_languages_follows_the_text(mixed, language, text, kind):
    app = open_page(language, mixed, masked_text=text, masked_panel="whole")
    intro = said_in(f"masked_panels.whole_{kind}_intro", language)
    assert intro in [element.value for element in app.markdown]


@pytest.mark.parametrize(("language", "kind"), [("en", "pieces"), ("zh", "characters")])
def test_a_text_of_masks_leaves_it_to_the_interface(mixed, language, kind):
    app = open_page(language, mixed, masked_text="[MASK]", masked_panel="whole")
    intro = said_in(f"masked_panels.whole_{kind}_intro", language)
    assert intro in [element.value for element in app.markdown]


def test_chinese_characters_are_hidden_together_whatever_the_interface(chinese):
    app = open_page("en", chinese, masked_text="我喜欢吃苹果", masked_click_size="2")
    app.get_by_key("masked_words").select(4).run()
    assert text_of(app) == "我喜欢吃[MASK][MASK]"
