"""The questions below the predictions of the masked-word page, both languages."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import softmax
from bertviz_core.analysis.two_sentences import compare_predictions
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.gelu_switch import switch_gelu
from bertviz_core.experiments.gibbs import follow_chain
from bertviz_core.experiments.joint_filling import best_pairs, fill_masks
from bertviz_core.experiments.next_sentence import run_shuffled_test
from bertviz_core.experiments.scoring import (
    score_known_words,
    score_minimal_pair,
    score_sentence,
)
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import split_words
from bertviz_core.trace import TokenizedText
from pages.masked_word import chains
from pages.masked_word import scores as word_scores
from pages.masked_word.chain import next_chunk
from pages.masked_word.fill_masks import filled_sentence
from pages.masked_word.panels import PANELS
from pages.masked_word.state import EXAMPLES
from pages.shared.attribution import METHODS
from pages.shared.engine import client
from pages.shared.export import table_csv
from tests.app.waiting import let_jobs_end
from tests.core.checkpoint_copies import hf_copy, weights_of_hf

DEFAULT = EXAMPLES["en"][0]
ROOT = Path(__file__).parents[2]
TWO_MASKS = "He was born in [MASK] 1950 in New [MASK], United States."
TITLES = {"en": "More questions", "zh": "更多问题"}
DEADLINE_SECONDS = 60.0


def open_page(language: str = "en", **params: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = {"en": "English", "zh": "中文"}[language]
    for name, value in params.items():
        app.query_params[name] = value
    app.switch_page("pages/masked_word/masked_word.py").run()
    return checked(app)


def checked(app: AppTest) -> AppTest:
    assert not app.exception
    assert not app.error
    return app


def finished(app: AppTest) -> AppTest:
    """Runs the page until no job is under way."""
    end = time.monotonic() + DEADLINE_SECONDS
    while app.get("progress"):
        assert time.monotonic() < end
        let_jobs_end(app, end)
        checked(app.run())
    return app


def said(app: AppTest) -> str:
    pieces = [*app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(piece.value for piece in pieces).replace("\\", "")


def specs(app: AppTest) -> list[dict]:
    """The figures of the panel: the page above has one."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")][1:]


def table(app: AppTest, below: str = ""):
    """The last table of the page, or the one below a figure, opened first."""
    if below:
        app.session_state[f"{below}_table"] = True
        app.run()
    return app.dataframe[-1].value


def logits(text: str) -> np.ndarray:
    return client().ask(Explorer.predict_masks)(DEFAULT_MODEL, text).logits


def result(task, **arguments):
    engine = client()
    job_id = engine.start(engine.ask(task).about(DEFAULT_MODEL, **arguments))
    end = time.monotonic() + DEADLINE_SECONDS
    while not (status := engine.job(job_id)).is_finished:
        assert time.monotonic() < end
        time.sleep(0.02)
    return status.result


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens_from_a_link(language, panel):
    app = finished(open_page(language, masked_panel=panel, masked_text=TWO_MASKS))
    assert TITLES[language] in [header.value for header in app.header]
    assert app.get_by_key("masked_panel").value == panel
    assert app.query_params["masked_panel"] in (panel, [panel])


@pytest.mark.parametrize("panel", PANELS)
def test_a_text_without_a_mask_leaves_every_panel_standing(panel):
    text = "The dog sleeps well."
    app = finished(open_page(masked_panel=panel, masked_text=text))
    assert "No word is hidden" in said(app)


def test_no_question_is_asked_at_first_and_nothing_is_computed():
    text = "Nobody has asked about [MASK] and [MASK] in this test."
    before = client().ask(forward_count)()
    app = open_page(masked_text=text)
    assert app.get_by_key("masked_panel").value is None
    assert not specs(app)
    assert client().ask(forward_count)() == before + 1


def test_filling_shows_the_sentence_after_each_step():
    app = open_page(masked_panel="fill", masked_text=TWO_MASKS)
    assert "Another order" in said(app)
    filling = client().ask(fill_masks)(DEFAULT_MODEL, TWO_MASKS, "most_confident_first")
    last = filling.steps[-1].token
    assert any(f":green-badge[**{last}**]" in text.value for text in app.markdown)
    app.slider(key="masked_fill_step").set_value(1).run()
    sentence = filled_sentence(filling.tokenized, filling.steps[:1])
    assert sentence in [text.value for text in checked(app).markdown]
    assert f":green-badge[**{filling.steps[0].token}**]" in sentence
    assert r"\[MASK\]" in sentence


def test_playing_goes_through_all_steps_and_stops():
    app = open_page(masked_panel="fill", masked_text=TWO_MASKS)
    app.button(key="masked_fill_play").click().run()
    seen = [app.slider(key="masked_fill_step").value]
    end = time.monotonic() + DEADLINE_SECONDS
    while app.session_state["masked_fill_playing"]:
        assert time.monotonic() < end
        time.sleep(0.1)
        seen.append(checked(app.run()).slider(key="masked_fill_step").value)
    assert sorted(seen) == seen
    assert list(dict.fromkeys(seen)) == [0, 1, 2]


def test_exact_pairs_show_both_orders():
    app = open_page(
        masked_panel="fill", masked_fill_mode="pairs", masked_text=TWO_MASKS
    )
    finished(app)
    pairs = result(best_pairs, text=TWO_MASKS)
    shown = table(app)
    assert list(shown["First word"]) == [first for first, _ in pairs.tokens]
    assert shown["First mask first"][0] == percent(np.exp(pairs.log_prob_forward[0]))
    assert shown["Second mask first"][0] == percent(np.exp(pairs.log_prob_backward[0]))


def test_pairs_of_one_mask_are_refused_with_a_sentence():
    app = open_page(masked_panel="fill", masked_fill_mode="pairs")
    assert "exactly two masks" in said(app)


def test_a_sentence_is_filled_where_its_masks_stand():
    text = TokenizedText(
        text="*a* [MASK], b",
        pair=None,
        tokens=("a", "[MASK]", ",", "b"),
        input_ids=np.array([1, 9, 2, 3]),
        token_type_ids=np.zeros(4, int),
        offsets=np.array([[0, 3], [4, 10], [10, 11], [12, 13]]),
        word_ids=np.arange(4),
        unk_token_id=0,
        mask_token_id=9,
        num_tokens_uncut=4,
    )
    shown = filled_sentence(text, ())
    assert shown == r"\*a\* :blue-badge[\[MASK\]]\, b"


def run_chain(app: AppTest) -> AppTest:
    app.button(key="masked_gibbs_go").click().run()
    return finished(checked(app))


def test_a_chain_runs_to_its_end_and_is_that_of_the_engine():
    app = open_page(
        masked_panel="gibbs", masked_gibbs_steps="45", masked_gibbs_burn_in="5"
    )
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

    def start(self, question):
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


def test_other_settings_begin_another_chain():
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="21")
    run_chain(app)
    app.number_input(key="masked_gibbs_seed").set_value(8).run()
    assert app.session_state["masked_chain"].run is None
    app.get_by_key("masked_gibbs_start").set_value("masks").run()
    app.number_input(key="masked_gibbs_length").set_value(6).run()
    checked(app)
    assert app.session_state["masked_chain"].state.input_ids.shape == (1, 8)


def test_a_named_word_is_scored_with_its_pieces():
    text = "Paris is the capital of [MASK]."
    words = ("france", "unbelievable")
    app = open_page(
        masked_text=text, masked_panel="score", masked_score_words=", ".join(words)
    )
    scores = client().ask(score_known_words)(DEFAULT_MODEL, text, words)
    shown = table(app)
    found = dict(zip(shown["Word"], shown["Log-probability"], strict=True))
    for score in scores:
        assert found[score.word] == pytest.approx(score.log_prob, abs=1e-5)
    pieces = dict(zip(shown["Word"], shown["Pieces"], strict=True))
    assert pieces["unbelievable"] == " ".join(scores[1].tokens)


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
        assert (row["Word"], row["Pieces"]) == (score.word, score.tokens[index])
        assert int(row["Rank of each piece"]) == score.ranks[index]
        assert float(row["Log-probability of each piece"]) == score.log_probs[index]
        assert float(row["Log-probability"]) == pytest.approx(score.log_prob)
        assert float(row["Probability"]) == pytest.approx(np.exp(score.log_prob))


def test_a_sentence_and_a_minimal_pair_have_the_scores_of_the_engine():
    text = "The keys to the cabinet are here."
    app = open_page(masked_panel="score", masked_score_kind="sentence")
    finished(app)
    score = result(score_sentence, text=text, variant="within_word")
    assert app.metric[3].value == f"{score.log_prob:.2f}"
    app.get_by_key("masked_score_kind").set_value("pair").run()
    finished(checked(app))
    other = text.replace("are", "is")
    pair = result(score_minimal_pair, first=text, second=other, variant="within_word")
    assert app.metric[4].value == f"{pair.second.log_prob:.2f}"
    winner = "first" if pair.difference > 0 else "second"
    assert f"prefers the **{winner}** sentence" in said(app)


def test_two_sentences_are_compared_over_the_whole_vocabulary():
    first = "The doctor said that [MASK] was tired."
    second = "The nurse said that [MASK] was tired."
    app = open_page(masked_panel="compare", masked_text=first)
    assert app.text_input(key="masked_other").value == second
    assert "stereotypes" in said(app)
    expected = compare_predictions(logits(first)[0], logits(second)[0])
    assert f"{expected.divergence_bits:.3f} of at most 1 bit" in said(app)
    app.text_input(key="masked_compare_search").set_value("she").run()
    shown = table(checked(app))
    she = client().ask(vocabulary)(DEFAULT_MODEL).index("she")
    assert shown["Word"][0] == "she"
    assert shown["In B"][0] == percent(float(np.exp(expected.log_probs_b[she])))


@pytest.mark.parametrize(
    ("model", "text"),
    [("bert-mini-en", "The cat sat on the [MASK]."),
     ("bert-mini-zh", "我昨天在学校看[MASK]一本书。")],
)  # fmt: skip
def test_what_is_offered_is_made_from_the_text(model, text):
    app = open_page(model=model, masked_text=text, masked_panel="compare")
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


def test_words_that_are_filled_each_on_its_own_have_no_other_order():
    app = open_page(
        masked_panel="fill", masked_text=TWO_MASKS, masked_fill_mode="independent"
    )
    assert "All together" in said(app)
    assert "Another order" not in said(app)


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


def test_every_position_has_its_surprisal_and_rank():
    app = finished(open_page(masked_panel="positions"))
    found = result(predict_every_position, text=DEFAULT)
    assert not app.dataframe
    shown = table(app, "masked_positions_map")
    np.testing.assert_allclose(
        shown["Surprisal (bits)"].dropna(),
        found.surprisal_bits[~np.isnan(found.surprisal_bits)],
        atol=1e-4,
    )
    assert list(shown["Token"])[6] == "[MASK]"
    assert np.isnan(shown["Rank"][6])


def test_reasons_add_up_and_a_contrast_asks_another_question():
    app = finished(open_page(masked_panel="why"))
    value = float(app.metric[3].value)
    probs = softmax(logits(DEFAULT)[0])
    assert value == pytest.approx(np.log(probs.max()), abs=0.01)
    bars = [bar for bar in specs(app)[0]["data"][0]["x"] if bar is not None]
    change = value - float(app.metric[4].value)
    assert sum(bars) == pytest.approx(change, abs=0.06 * abs(change) + 0.02)
    app.toggle(key="masked_why_contrast").set_value(True).run()
    finished(checked(app))
    first, second = np.sort(probs)[::-1][:2]
    assert float(app.metric[3].value) == pytest.approx(np.log(first / second), abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_what_speaks_for_a_word_and_what_against_it_are_told_apart(method):
    asked = {"masked_why_contrast": "true", "masked_why_method": method}
    app = finished(open_page(masked_panel="why", **asked))
    bars = [bar or 0.0 for bar in specs(app)[0]["data"][0]["x"]]
    most = re.search(r"Most for it: “.+?”, ([+-]\d+\.\d\d)", said(app))
    least = re.search(r"Most against it.*?: “.+?”, ([+-]\d+\.\d\d)", said(app))
    if method == "gradient_norm":  # it has no direction
        assert (most, least) == (None, None)
        assert "reacts most" in said(app)
        return
    assert max(bars) > 0 > min(bars)
    assert float(most[1]) == pytest.approx(max(bars), abs=0.005)
    assert float(least[1]) == pytest.approx(min(bars), abs=0.005)


def test_a_model_without_the_next_sentence_head_says_so(tmp_path):
    weights = {k: v for k, v in weights_of_hf().items() if "seq_relationship" not in k}
    model = str(hf_copy(tmp_path, weights))
    app = open_page(model=model, masked_text="ab [MASK]", masked_panel="next")
    assert "has no next-sentence head" in said(app)


def test_both_gelus_are_told_apart_in_numbers():
    app = open_page(masked_panel="gelu")
    found = client().ask(switch_gelu)(DEFAULT_MODEL, DEFAULT)
    assert app.metric[4].value == f"{found.largest_differences[0]:.2g}"
    assert found.largest_differences[0] > 0


def test_whole_words_are_those_of_the_engine():
    app = open_page(masked_panel="whole")
    text = DEFAULT
    found = client().ask(find_whole_words)(DEFAULT_MODEL, text, 2, "pieces", 0)
    shown = table(app, "masked_whole_words")["Word"]
    assert list(shown) == list(found.words[:20])


def test_html_in_the_text_stays_text_in_every_panel():
    text = "<b>bold</b> [link](x) [MASK]"
    for panel in ("fill", "gibbs", "compare"):
        app = finished(open_page(masked_panel=panel, masked_text=text))
        assert all(not element.allow_html for element in app.markdown)
        assert not re.search(r"(?<!\\)\[link(?<!\\)\]\(", "\n".join(
            element.value for element in app.markdown
        ))  # fmt: skip


def test_the_activations_page_leads_to_the_two_gelus():
    app = open_page()
    assert app.get_by_key("masked_panel").value is None
    app.switch_page("pages/activations/activations.py").run()
    app.button(key="act_to_masked").click().run()
    checked(app)
    assert app.get_by_key("masked_panel").value == "gelu"
    assert app.query_params["masked_panel"] in ("gelu", ["gelu"])


def link_of(app: AppTest) -> dict[str, str | list[str]]:
    return {name: app.query_params[name] for name in app.query_params}


@pytest.mark.parametrize("key", ["masked_lens_from", "masked_fill_step"])
def test_a_number_of_thousands_of_digits_in_a_link_is_passed_over(key):
    panel = {"masked_lens_from": "lens", "masked_fill_step": "fill"}[key]
    text = "The [MASK] is in the [MASK]."
    link = {key: "9" * 4301}
    app = finished(open_page(masked_panel=panel, masked_text=text, **link))
    assert not app.error


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
    app = finished(open_page(masked_panel=panel, masked_text=text, **choices))
    again = finished(
        open_page("zh", **{
            name: value if isinstance(value, str) else value[0]
            for name, value in link_of(app).items() if name != "lang"
        })
    )  # fmt: skip
    for opened in (app, again):
        link = link_of(opened)
        for name, value in choices.items():
            assert link[name] in (value, [value]), name
            shown = opened.get_by_key(name).value
            shown = str(shown).lower() if isinstance(shown, bool) else str(shown)
            assert shown == value, name
        assert opened.get_by_key("masked_panel").value == panel


def test_an_untouched_choice_follows_the_text_and_a_chosen_one_stays():
    app = open_page(masked_panel="lens")
    first = app.selectbox(key="masked_lens_word").value
    app.text_area(key="masked_text").set_value("She drank a cup of [MASK].").run()
    assert app.selectbox(key="masked_lens_word").value != first
    assert "masked_lens_word" not in app.query_params
    chosen = app.selectbox(key="masked_lens_word").options[3]
    app.selectbox(key="masked_lens_word").set_value(chosen).run()
    assert app.query_params["masked_lens_word"] in (chosen, [chosen])
    app.text_area(key="masked_text").set_value("He was the king of [MASK].").run()
    assert checked(app).selectbox(key="masked_lens_word").value == chosen


def test_a_word_that_the_vocabulary_lacks_is_said_and_another_one_shown():
    app = open_page(masked_panel="lens", masked_lens_word="no such word")
    assert "“no such word”" in said(app)
    assert len(specs(app)) == 2


def test_a_text_that_is_too_long_for_a_link_stays_out_of_it():
    app = open_page(masked_panel="compare")
    app.text_input(key="masked_other").set_value("word " * 400 + "[MASK]").run()
    assert "masked_other" not in app.query_params
    app.text_input(key="masked_other").set_value("Oslo is in [MASK].").run()
    assert "masked_other" in app.query_params


@pytest.mark.parametrize("panel", [name for name in PANELS if name != "next"])
def test_the_language_never_runs_the_network(panel):
    app = finished(open_page(masked_panel=panel, masked_text=TWO_MASKS))
    before = client().ask(forward_count)()
    app.get_by_key("lang").set_value("中文").run()
    finished(checked(app))
    assert client().ask(forward_count)() == before


def test_candidates_words_alone_and_the_program_never_run_the_network():
    app = open_page(masked_text=TWO_MASKS)
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
    app = finished(
        open_page(masked_panel="why", masked_text=TWO_MASKS, masked_other=other)
    )
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


def test_a_text_with_one_mask_offers_an_example_with_two():
    app = open_page(masked_panel="fill")
    assert "only one step" in said(app)
    assert "Another order" not in said(app)
    app.button(key="masked_two_masks").click().run()
    checked(app)
    assert app.text_area(key="masked_text").value.count("[MASK]") == 2
    assert "only one step" not in said(app)


def test_the_words_of_a_reason_rise_through_the_layers_side_by_side():
    app = finished(
        open_page(
            masked_panel="why", masked_why_look="layers", masked_why_contrast="true"
        )
    )
    (ranks,) = specs(app)
    names = [trace["name"] for trace in ranks["data"]]
    for name, key in zip(names, ("masked_why_word", "masked_why_other"), strict=True):
        assert app.selectbox(key=key).value in name
    assert "caution" in said(app).lower()


def test_the_head_that_helps_most_is_named_with_what_its_loss_costs():
    app = finished(open_page(masked_panel="why", masked_why_look="heads"))
    text = DEFAULT
    position = int(
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, text).mask_positions[0]
    )
    target = Target("mlm", int(logits(text)[0].argmax()), position)
    found = result(ablate_heads, text=text, target=target)
    worst = found.delta_probabilities.min()
    layer, head = np.argwhere(found.delta_probabilities == worst)[0]
    expected = f"layer {layer + 1}, head {head + 1} ({100 * worst:+.1f})"
    assert expected in said(app)


def test_earlier_texts_are_listed_and_undo_leads_back():
    app = open_page()
    first = app.text_area(key="masked_text").value
    for text in ("One [MASK].", "Two [MASK].", "One [MASK]."):
        app.text_area(key="masked_text").set_value(text).run()
    earlier = app.selectbox(key="masked_earlier")
    assert earlier.options == ["Two [MASK].", first]
    earlier.set_value(1).run()
    assert checked(app).text_area(key="masked_text").value == first
    app.button(key="masked_undo").click().run()
    assert app.text_area(key="masked_text").value == "One [MASK]."


HF = str(ROOT / "tests" / "data" / "checkpoints" / "hf_tiny")
PASSAGES = "Ab. Cab. Ba.\nDa. Fo. Ab."


def open_next_sentence(**params: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    asked = {
        "lang": "English",
        "model": HF,
        "masked_text": "ab [MASK]",
        "masked_panel": "next",
        "masked_next_first": "ab",
        "masked_next_second": "ba",
        "masked_next_passages": PASSAGES,
    }
    for name, value in (asked | params).items():
        app.query_params[name] = value
    app.switch_page("pages/masked_word/masked_word.py").run()
    return finished(checked(app))


def test_swapped_texts_change_places_with_their_numbers():
    app = open_next_sentence()
    first, swapped = app.metric[3].value, app.metric[4].value
    assert first != swapped
    app.button(key="masked_next_swap").click().run()
    assert checked(app).text_area(key="masked_next_first").value == "ba"
    assert (app.metric[3].value, app.metric[4].value) == (swapped, first)


def test_shuffled_pairs_are_asked_of_the_model_and_of_random_weights():
    app = open_next_sentence(masked_next_random="true")
    pairs = (("Ab.", "Cab."), ("Cab.", "Ba."), ("Da.", "Fo."), ("Fo.", "Ab."))
    engine = client()

    def ask(**more):
        question = engine.ask(run_shuffled_test).about(HF, pairs, 1, **more)
        job_id = engine.start(question)
        end = time.monotonic() + DEADLINE_SECONDS
        while not (status := engine.job(job_id)).is_finished:
            assert time.monotonic() < end
            time.sleep(0.02)
        return status.result

    own = ask()
    assert app.metric[5].value == percent(own.accuracy)
    assert f"{own.num_right} of 8 answers" in app.metric[5].delta
    assert len(table(app, "masked_shuffled")) == 8
    app.button(key="job_masked_shuffled_random_start").click().run()
    finished(checked(app))
    random = ask(random_weights=True)
    assert app.metric[6].value == percent(random.accuracy)


def test_too_few_sentences_are_said():
    app = open_next_sentence(masked_next_passages="Only one.")
    assert "too few sentences" in said(app)
