"""The home page answers at once and survives what is typed into it."""

from urllib.parse import parse_qs

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from pages.masked_word.state import EXAMPLES


def bars(app):
    return [(bar.text.replace("\\", ""), bar.value) for bar in app.progress]


def test_the_example_is_guessed_without_any_input(open_app, client):
    app = open_app()
    assert app.text_input(key="home_text_en").value.count("[MASK]") == 1
    # softmax of (1, 0): 73.1 % and 26.9 %.
    assert bars(app)[:2] == [("**lamp**  73.1%", 73), ("***star***  26.9%", 26)]
    assert r"\*star\*" in app.progress[1].text, "shown as text"
    assert len(bars(app)) == 5
    assert min(value for _, value in bars(app)) == 1  # 0 would be drawn empty
    before = len(client.calls)
    app.run()
    assert len(client.calls) == before > 0, "a rerun asks the engine nothing"
    # Nor does it take away what is being typed.
    assert not app.text_input(key="home_text_en").proto.set_value


def test_gaps_in_any_spelling_get_a_list_each_while_there_is_room(open_app):
    app = open_app()
    said = "first 3 of 5 gaps"
    for text, num_bars in (
        ("A ___ burns.", 5),
        ("A <mask> and a ［mask］.", 10),
        (" ".join(["[MASK]"] * 3), 15),
        (" ".join(["[MASK]"] * 5), 15),
    ):
        app.text_input(key="home_text_en").set_value(text).run()
        assert len(app.progress) == num_bars
        assert not app.error
        told = any(said in caption.value for caption in app.caption)
        assert told == (text.count("[MASK]") == 5)


def test_the_link_takes_its_sentence_along_whatever_was_looked_at_before(open_app):
    """The first example is the default of both boxes, which Streamlit leaves out."""
    home = open_app()
    links = [link.proto for link in home.main.get("page_link")]
    (query,) = [link.query_string for link in links if link.query_string]
    app = open_app("masked_word", masked_text="Something [MASK].")
    for name, values in parse_qs(query).items():
        app.query_params[name] = values
    app.run()
    assert app.text_area(key="masked_text").value == EXAMPLES["en"][0]
    assert home.text_input(key="home_text_en").value == EXAMPLES["en"][0]
    app.text_area(key="masked_text").set_value("Another [MASK].").run()
    assert app.text_area(key="masked_text").value == "Another [MASK]."


def test_a_text_without_a_gap_gets_a_sentence_and_stays(open_app):
    app = open_app()
    app.text_input(key="home_text_en").set_value("No gap.").run()
    assert "nothing to guess" in app.error[0].value
    assert "click" not in app.error[0].value.lower()  # no word here can be clicked
    assert app.text_input(key="home_text_en").value == "No gap."
    assert len(app.page_link) >= 5  # the rest of the page is there
    app.text_input(key="home_text_en").set_value("").run()
    assert "no text" in app.error[0].value


def test_the_button_goes_through_the_examples(open_app):
    app = open_app()
    seen = []
    for _ in range(4):
        seen.append(app.text_input(key="home_text_en").value)
        app.button[0].click().run()
    assert len(set(seen)) == 3
    assert seen[3] == seen[0]


def test_a_chinese_model_gets_a_chinese_example(open_app):
    app = open_app(model="small-zh")
    assert "足球" in app.text_input(key="home_text_zh").value


def test_a_model_without_a_masked_word_head_is_no_noise(open_app, client):
    client.heads = ("pooler",)
    app = open_app()
    assert not app.progress
    assert DEFAULT_MODEL.split("-")[0] in app.info[0].value
