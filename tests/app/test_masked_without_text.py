"""Questions of the masked-word page that need no text, or no masked-word head."""

from __future__ import annotations

from bertviz_core.experiments.next_sentence import predict_next_sentence
from bertviz_core.figures.masked_word import percent
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.real_pages import checked, finished, said, table
from tests.app.test_masked_panels import TWO_MASKS, open_page
from tests.app.test_masked_word import type_text
from tests.core.checkpoint_copies import HF, hf_copy, weights_of_hf, without_part

NEXT = {
    "masked_panel": "next", "masked_next_first": "ab", "masked_next_second": "ba",
    "masked_next_passages": "Ab. Cab.",
}  # fmt: skip


def test_next_sentences_need_no_text_above():
    link = {"model": str(HF), "text": " ", **NEXT}
    app = real_pages.open_page("masked_word", **link)
    found = client().ask(predict_next_sentence)(str(HF), "ab", "ba")
    for text in (" ", "\u200b", "ab " * 30):
        app.text_area(key="text").set_value(text).run()
        assert not app.exception
        assert app.metric[0].value == percent(found.probability)


def test_a_model_of_next_sentences_alone_answers_about_them(tmp_path):
    weights = without_part(weights_of_hf(), "cls.predictions")
    config = {"architectures": ["BertForNextSentencePrediction"]}
    model = str(hf_copy(tmp_path, weights, config, name="nsp"))
    app = finished(open_page(model=model, text="ab [MASK]", **NEXT))
    assert "has no masked-word head" in said(app)
    found = client().ask(predict_next_sentence)(model, "ab", "ba")
    assert app.metric[0].value == percent(found.probability)
    app.get_by_key("masked_panel").set_value("score").run()
    assert "and there are none" in said(checked(app))


def test_an_own_sentence_is_scored_though_there_is_no_text_above():
    app = finished(
        open_page(
            text=" ", masked_panel="score", masked_score_kind="sentence",
            masked_score_text="Snow is white.",
        )
    )  # fmt: skip
    assert len(app.metric) == 1
    app.get_by_key("masked_score_kind").set_value("word").run()
    assert "and there are none" in said(checked(app))


def test_a_question_about_the_predictions_waits_for_a_text():
    app = open_page(text=" ", masked_panel="fill")
    assert "and there are none" in said(app)
    type_text(app, TWO_MASKS)
    assert app.get_by_key("masked_panel").value == "fill"
    assert len(table(app)) == 2
