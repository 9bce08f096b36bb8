"""The questions below the predictions of the masked-word page."""

from __future__ import annotations

import csv
import io
import re
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.experiments.gibbs import follow_chain
from bertviz_core.experiments.joint_filling import fill_masks
from bertviz_core.experiments.scoring import (
    score_known_words,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import split_words
from pages.masked_word import chains
from pages.masked_word import scores as word_scores
from pages.masked_word.chains import next_chunk
from pages.masked_word.fill_masks import filled_sentence
from pages.masked_word.panels import PANELS
from pages.shared.attribution import METHODS
from pages.shared.engine import client
from pages.shared.export import table_csv
from pages.shared.own_text import EXAMPLES
from tests.app import real_pages
from tests.app.real_pages import (
    DEADLINE_SECONDS,
    answer,
    checked,
    finished,
    link_of,
    said,
)
from tests.core.checkpoint_copies import HF

DEFAULT = EXAMPLES["en"][0][0]


TWO_MASKS = "He was born in [MASK] 1950 in New [MASK], United States."


def open_page(language: str = "en", **params: str) -> AppTest:
    return real_pages.open_page("masked_word", language, **params)


def specs(app: AppTest) -> list[dict]:
    """The figures of the panel: the page above has one."""
    return real_pages.specs(app)[1:]


def result(task, **arguments):
    return answer(client().ask(task).about(DEFAULT_MODEL, **arguments))


def logits(text: str) -> np.ndarray:
    return client().ask(Explorer.predict_masks)(DEFAULT_MODEL, text).logits


HTML = "<b>bold</b> [link](x) [MASK]"


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens_from_a_link_and_reads_any_text(panel):
    app = finished(open_page(masked_panel=panel, text=HTML))
    assert "More questions" in [header.value for header in app.header]
    assert app.get_by_key("masked_panel").value == panel
    assert link_of(app, "masked_panel") == panel
    markdown = "\n".join(element.value for element in app.markdown)
    assert not re.search(r"(?<!\\)\[link(?<!\\)\]\(", markdown)
    app.text_area(key="text").set_value("The dog sleeps well.").run()
    assert "No word is hidden" in said(finished(app))


def test_no_question_is_asked_at_first_and_nothing_is_computed():
    text = "Nobody has asked about [MASK] and [MASK] in this test."
    before = client().ask(forward_count)()
    app = open_page(text=text)
    assert app.get_by_key("masked_panel").value is None
    assert not specs(app)
    assert client().ask(forward_count)() == before + 1


def test_filling_shows_the_sentence_after_each_step_and_can_be_played():
    app = open_page(masked_panel="fill", text=TWO_MASKS)
    assert "Another order" in said(app)
    filling = client().ask(fill_masks)(DEFAULT_MODEL, TWO_MASKS, "most_confident_first")
    last = filling.steps[-1].token
    assert any(f":green-badge[**{last}**]" in text.value for text in app.markdown)
    app.slider(key="masked_fill_step").set_value(1).run()
    sentence = filled_sentence(filling.tokenized, filling.steps[:1])
    assert sentence in [text.value for text in checked(app).markdown]
    assert f":green-badge[**{filling.steps[0].token}**]" in sentence
    assert r"\[MASK\]" in sentence

    app.slider(key="masked_fill_step").set_value(2).run()
    app.button(key="masked_fill_play").click().run()
    seen = [app.slider(key="masked_fill_step").value]
    end = time.monotonic() + DEADLINE_SECONDS
    while app.session_state["masked_fill_playing"]:
        assert time.monotonic() < end
        time.sleep(0.1)
        seen.append(checked(app.run()).slider(key="masked_fill_step").value)
    assert sorted(seen) == seen
    assert list(dict.fromkeys(seen)) == [0, 1, 2]
    # Filled each on its own there is no other order.
    app.get_by_key("masked_fill_mode").set_value("independent").run()
    assert "All together" in said(finished(app))
    assert "Another order" not in said(app)


def run_chain(app: AppTest) -> AppTest:
    app.button(key="masked_gibbs_go").click().run()
    return finished(checked(app))


def test_a_chain_runs_to_its_end_and_is_that_of_the_engine():
    link = {"masked_panel": "gibbs", "masked_gibbs_burn_in": "5"}
    app = open_page(**link, masked_gibbs_steps="45")
    assert "has not begun" in said(app)
    run_chain(app)
    assert app.metric[3].value == "45"
    shown = app.session_state["masked_chain"].run
    again = result(follow_chain, state=shown.start, num_steps=45)
    np.testing.assert_array_equal(shown.new_ids, again.new_ids)
    assert app.metric[4].value == percent(again.change_rate)
    places = shown.start.open_positions
    same = shown.start.input_ids[0, places] == again.end.input_ids[0, places]
    assert app.metric[6].value == percent(same.mean())
    assert specs(app)[0]["layout"]["shapes"][0]["x1"] == 5.5
    assert app.button(key="masked_gibbs_go").disabled
    # Other settings begin another chain.
    app.number_input(key="masked_gibbs_seed").set_value(8).run()
    assert app.session_state["masked_chain"].run is None
    app.get_by_key("masked_gibbs_start").set_value("masks").run()
    app.number_input(key="masked_gibbs_length").set_value(6).run()
    checked(app)
    assert app.session_state["masked_chain"].state.input_ids.shape == (1, 8)


def test_a_chain_is_stepped_paused_and_gone_on_with_as_if_never_stopped():
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="400")
    app.button(key="masked_gibbs_one_step").click().run()
    finished(checked(app))
    assert app.session_state["masked_chain"].state.step == 1
    app.button(key="masked_gibbs_go").click().run()
    app.button(key="masked_gibbs_pause").click().run()
    checked(app)
    assert app.session_state["masked_chain"].job_id is None
    assert app.session_state["masked_chain"].state.step < 400
    app.number_input(key="masked_gibbs_steps").set_value(60).run()
    if app.session_state["masked_chain"].state.step < 60:
        run_chain(app)
    run = app.session_state["masked_chain"].run
    again = result(follow_chain, state=run.start, num_steps=run.num_steps)
    np.testing.assert_array_equal(run.new_ids, again.new_ids)


class ChainUnderWay:
    """An engine whose chunk has taken some steps and is not at its end."""

    def __init__(self, num_steps: int) -> None:
        self.num_steps = num_steps
        self.started: list[tuple[int, int]] = []  # step and number of steps
        self.is_cancelled = False

    def ask(self, task):
        return client().ask(task)

    def call(self, question):
        return client().call(question)

    def start(self, question, owner):
        assert owner
        _, state, num_steps = question.args
        self.started.append((state.step, num_steps))
        self.run = result(follow_chain, state=state, num_steps=self.num_steps)
        return "a chunk"

    def job(self, job_id):
        return JobStatus(job_id, "running", 0.1, "gibbs", self.run.to_dict())

    def cancel(self, job_id):
        self.is_cancelled = True


def test_a_chain_is_seen_while_a_chunk_is_under_way_and_a_pause_keeps_it(monkeypatch):
    engine = ChainUnderWay(7)
    monkeypatch.setattr(chains, "client", lambda: engine)
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="60")
    app.button(key="masked_gibbs_go").click().run()
    checked(app.run())
    assert app.metric[3].value == "7"
    assert app.progress[0].text == "Step 7 of 60"
    first = engine.run
    app.button(key="masked_gibbs_pause").click().run()
    assert engine.is_cancelled
    paused = app.session_state["masked_chain"]
    assert (paused.job_id, paused.state.step) == (None, 7)
    assert not app.get("progress")
    app.button(key="masked_gibbs_go").click().run()
    checked(app.run())
    assert engine.started == [(0, 60), (7, 53)]
    assert app.metric[3].value == "14"
    run = app.session_state["masked_chain"].run
    again = result(follow_chain, state=first.start, num_steps=14)
    np.testing.assert_array_equal(run.new_ids, again.new_ids)


def test_a_chain_rests_seldom_and_reports_stay_small():
    for seconds_a_step in (0.001, 0.007, 0.06):
        left, chunks = 1000, [next_chunk(1000)]
        while left := left - chunks[-1]:
            chunks.append(next_chunk(left, chunks[-1], chunks[-1] * seconds_a_step))
        assert max(chunks) <= 500
        assert sum(chunks) == 1000
        assert len(chunks) <= 3 + 1000 * seconds_a_step / 5
    assert next_chunk(3) == next_chunk(3, 100, 0.1) == 3
    assert next_chunk(1000, 20, 60.0) == 20


def test_the_file_of_word_scores_has_a_row_of_numbers_for_each_piece(monkeypatch):
    taken: dict[str, list[object]] = {}
    monkeypatch.setattr(
        word_scores, "show_figure", lambda _, **told: taken.update(told["columns"])
    )
    words = ("unbelievable", "france")
    open_page(masked_panel="score", masked_score_words=", ".join(words))
    text = DEFAULT
    scores = client().ask(score_known_words)(DEFAULT_MODEL, text, words)
    scores = sorted(scores, key=lambda score: -score.log_prob)
    pieces = [(score, index) for score in scores for index in range(len(score.tokens))]
    assert len(pieces) > 2
    rows = csv.DictReader(io.StringIO(table_csv(taken).decode("utf-8-sig")))
    for row, (score, index) in zip(rows, pieces, strict=True):
        word, piece, rank, piece_log_prob, log_prob, probability = (
            row[f"masked_panels.{name}"]
            for name in (
                "word", "pieces", "piece_ranks", "piece_log_probs", "log_prob",
                "probability",
            )
        )  # fmt: skip
        assert (word, piece) == (score.word, score.tokens[index])
        assert int(rank) == score.ranks[index]
        assert float(piece_log_prob) == score.log_probs[index]
        assert float(log_prob) == pytest.approx(score.log_prob)
        assert float(probability) == pytest.approx(np.exp(score.log_prob))


@pytest.mark.parametrize(
    ("model", "text"),
    [("bert-mini-en", "The cat sat on the [MASK]."),
     ("bert-mini-zh", "我昨天在学校看[MASK]一本书。")],
)  # fmt: skip
def test_what_is_offered_is_made_from_the_text(model, text):
    app = open_page(model=model, text=text, masked_panel="compare")
    words, others = (
        [word.text for word in split_words(sentence)]
        for sentence in (text, app.text_input(key="masked_other").value)
    )
    assert sum(a != b for a, b in zip(words, others, strict=True)) == 1
    app.get_by_key("masked_panel").set_value("score").run()
    row = client().ask(Explorer.predict_masks)(model, text).logits[0]
    known = client().ask(vocabulary)(model)
    likeliest = [known[i] for i in np.argsort(-row) if known[i].isalnum()][:3]
    typed = checked(app).text_input(key="masked_score_words").value
    assert re.split("[,、 ]+", typed) == likeliest


def test_the_top_of_the_lens_is_the_prediction_and_its_candidates_cost_nothing():
    app = open_page(masked_panel="lens")
    lens, rank = specs(app)
    probs = softmax(logits(DEFAULT)[0])
    assert np.array(lens["data"][0]["z"])[0, 6] == pytest.approx(probs.max(), abs=1e-5)
    assert len(lens["data"][0]["z"]) == 7
    assert "caution" in said(app).lower()
    best = client().ask(vocabulary)(DEFAULT_MODEL)[int(probs.argmax())]
    assert best in rank["data"][0]["name"]
    before = client().ask(forward_count)()
    options = app.selectbox(key="masked_lens_word").options
    app.selectbox(key="masked_lens_word").set_value(options[3]).run()
    assert options[3] in specs(checked(app))[1]["data"][0]["name"]
    assert client().ask(forward_count)() == before


def test_reasons_add_up_and_a_contrast_asks_another_question():
    app = finished(open_page(masked_panel="why"))
    value = float(app.metric[3].value)
    probs = softmax(logits(DEFAULT)[0])
    assert value == pytest.approx(np.log(probs.max()), abs=0.01)
    bars = [bar for bar in specs(app)[0]["data"][0]["x"] if bar is not None]
    change = value - float(app.metric[4].value)
    assert sum(bars) == pytest.approx(change, abs=0.06 * abs(change) + 0.02)
    app.toggle(key="masked_why_contrast").set_value(True).run()
    finished(app)
    first, second = np.sort(probs)[::-1][:2]
    assert float(app.metric[3].value) == pytest.approx(np.log(first / second), abs=0.01)
    # What speaks for a word and what against it are told apart.
    for method in METHODS:
        app.get_by_key("masked_why_method").set_value(method).run()
        bars = [bar or 0.0 for bar in specs(finished(app))[0]["data"][0]["x"]]
        most = re.search(r"Most for it: “.+?”, ([+-]\d+\.\d\d)", said(app))
        least = re.search(r"Most against it.*?: “.+?”, ([+-]\d+\.\d\d)", said(app))
        if method == "gradient_norm":  # it has no direction
            assert (most, least) == (None, None)
            assert "reacts most" in said(app)
            continue
        assert max(bars) > 0 > min(bars), method
        assert float(most[1]) == pytest.approx(max(bars), abs=0.005)
        assert float(least[1]) == pytest.approx(min(bars), abs=0.005)
    # The words rise through the layers side by side.
    app.get_by_key("masked_why_look").set_value("layers").run()
    (ranks,) = specs(finished(app))
    names = [trace["name"] for trace in ranks["data"]]
    for name, key in zip(names, ("masked_why_word", "masked_why_other"), strict=True):
        assert app.selectbox(key=key).value in name
    assert "caution" in said(app).lower()


def test_a_model_without_the_next_sentence_head_says_so(hf_without):
    model = hf_without("cls.seq_relationship")
    app = open_page(model=model, text="ab [MASK]", masked_panel="next")
    assert "has no next-sentence head" in said(app)


@pytest.mark.parametrize(
    ("panel", "choices"),
    [
        ("fill", {"masked_fill_mode": "left_to_right", "masked_fill_step": "1"}),
        ("gibbs", {"masked_gibbs_start": "masks", "masked_gibbs_length": "6",
                   "masked_gibbs_temperature": "0.5", "masked_gibbs_top_k": "9",
                   "masked_gibbs_top_p": "0.75", "masked_gibbs_order": "in_order",
                   "masked_gibbs_steps": "33", "masked_gibbs_burn_in": "7",
                   "masked_gibbs_seed": "5"}),
        ("score", {"masked_score_words": "rome, oslo"}),
        ("score", {"masked_score_kind": "sentence", "masked_score_variant": "naive",
                   "masked_score_text": "Snow is white."}),
        ("score", {"masked_score_kind": "pair", "masked_score_first": "Snow is.",
                   "masked_score_second": "Snow are."}),
        ("compare", {"masked_other": "Oslo is in [MASK].",
                     "masked_compare_points": "50", "masked_compare_rest": "true",
                     "masked_compare_search": "rome"}),
        ("lens", {"masked_lens_word": "rome", "masked_lens_from": "2"}),
        ("why", {"masked_why_word": "rome", "masked_why_contrast": "true",
                 "masked_why_other": "oslo", "masked_why_baseline": "pad",
                 "masked_why_method": "occlusion_mask"}),
        ("why", {"masked_why_look": "heads"}),
        ("positions", {"masked_positions_how": "seen"}),
        ("whole", {"masked_whole_size": "3"}),
    ],
)  # fmt: skip
def test_a_link_brings_every_choice_of_a_panel_back(panel, choices):
    text = "The old man went to the sea and [MASK] came back from [MASK] once more."
    app = finished(open_page(masked_panel=panel, text=text, **choices))
    for name, value in choices.items():
        assert link_of(app, name) == value, name
        shown = app.get_by_key(name).value
        assert (str(shown).lower() if shown is True else str(shown)) == value, name
    assert app.get_by_key("masked_panel").value == panel


@pytest.mark.parametrize(("key", "panel"), [
    ("masked_lens_from", "lens"), ("masked_fill_step", "fill"),
])  # fmt: skip
def test_nonsense_in_a_link_is_passed_over(key, panel):
    text = "The [MASK] is in the [MASK]."
    link = {key: "9" * 4301, "masked_lens_word": "no such word"}
    app = finished(open_page(masked_panel=panel, text=text, **link))
    if panel == "lens":
        assert "“no such word”" in said(app)
        assert len(specs(app)) == 2


def test_an_untouched_choice_follows_the_text_and_a_chosen_one_stays():
    app = open_page(masked_panel="lens")
    first = app.selectbox(key="masked_lens_word").value
    app.text_area(key="text").set_value("She drank a cup of [MASK].").run()
    assert app.selectbox(key="masked_lens_word").value != first
    assert "masked_lens_word" not in app.query_params
    chosen = app.selectbox(key="masked_lens_word").options[3]
    app.selectbox(key="masked_lens_word").set_value(chosen).run()
    assert app.query_params["masked_lens_word"] in (chosen, [chosen])
    app.text_area(key="text").set_value("He was the king of [MASK].").run()
    assert checked(app).selectbox(key="masked_lens_word").value == chosen


def test_candidates_words_alone_and_the_program_never_run_the_network():
    app = open_page(text=TWO_MASKS)
    before = client().ask(forward_count)()
    app.toggle(key="masked_words_alone").set_value(True).run()
    app.slider(key="masked_shown").set_value(60).run()
    app.session_state["masked_candidates_code"] = True
    app.slider(key="masked_temperature").set_value(2.0).run()
    app.get_by_key("masked_mask").set_value("2").run()
    assert len(checked(app).code) == 1
    assert client().ask(forward_count)() == before


def test_what_is_looked_at_in_a_panel_runs_the_network_only_where_it_must():
    other = "Nobody but [MASK] has asked this about [MASK] before."
    app = finished(open_page(masked_panel="why", text=TWO_MASKS, masked_other=other))
    before = client().ask(forward_count)()
    for method in ("occlusion_mask", "gradient_norm", "integrated_gradients"):
        app.get_by_key("masked_why_method").set_value(method).run()
    app.get_by_key("masked_panel").set_value("compare").run()
    asked = client().ask(forward_count)()  # about the other sentence and one to offer
    assert asked > before
    app.text_input(key="masked_compare_search").set_value("oslo").run()
    app.toggle(key="masked_compare_rest").set_value(True).run()
    app.get_by_key("masked_panel").set_value("why").run()
    finished(checked(app))
    assert client().ask(forward_count)() == asked


def test_swapped_texts_change_places_with_their_numbers():
    asked = {
        "masked_panel": "next",
        "masked_next_first": "ab",
        "masked_next_second": "ba",
        "masked_next_passages": "Only one.",
    }
    app = finished(open_page(model=str(HF), text="ab [MASK]", **asked))
    first, swapped = app.metric[3].value, app.metric[4].value
    assert first != swapped
    app.button(key="masked_next_swap").click().run()
    assert checked(app).text_area(key="masked_next_first").value == "ba"
    assert (app.metric[3].value, app.metric[4].value) == (swapped, first)
    assert "too few sentences" in said(app)
