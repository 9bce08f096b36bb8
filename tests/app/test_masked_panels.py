"""The questions below the predictions of the masked-word page."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.sampling import softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.engine.questions import Question
from bertviz_core.experiments.attribution import METHODS, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.chain_results import GibbsRun, GibbsState
from bertviz_core.experiments.gibbs import follow_chain
from bertviz_core.experiments.joint_filling import fill_masks
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.experiments.next_sentence import predict_next_sentence
from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import split_words
from bertviz_core.trace import TokenizedText
from pages.masked_word import attribution, chains
from pages.masked_word.fill_masks import filled_sentence
from pages.masked_word.panels import PANELS
from pages.shared import answers, player
from pages.shared.engine import client
from tests.app import real_pages
from tests.app.chinese_model import CHARACTERS
from tests.app.real_pages import (
    answer,
    checked,
    choose,
    click,
    finished,
    link_of,
    run_function,
    said,
    signed,
    table,
)
from tests.app.test_masked_word import (
    DEFAULT,
    TWO_MASKS,
    click_word,
    expected_logits,
    text_of,
    type_text,
)
from tests.core.checkpoint_copies import HF, hf_copy, weights_of_hf, without_part


def open_page(language: str = "en", **params: str) -> AppTest:
    return real_pages.open_page("masked_word", language, **params)


def specs(app: AppTest) -> list[dict]:
    """The figures of the panel: the page above has one."""
    return real_pages.specs(app)[1:]


def result(task, **arguments):
    return answer(client().ask(task).about(DEFAULT_MODEL, **arguments))


def steps_of(state: GibbsState, num_steps: int) -> GibbsRun:
    """So many steps; a chunk ends sooner where the machine is busy."""
    run = result(follow_chain, state=state, num_steps=num_steps)
    if run.num_steps == num_steps:
        return run
    return run.then(steps_of(run.end, num_steps - run.num_steps))


def test_every_panel_stands_a_text_in_which_no_word_is_hidden():
    assert {panel for panel, _ in LINKS} == {*PANELS}
    app = open_page(text="The dog sleeps well.")
    for panel in PANELS:
        assert "No word is hidden" in said(finished(choose(app, masked_panel=panel)))


def test_filling_shows_the_sentence_after_each_step_and_can_be_played(monkeypatch):
    app = open_page(masked_panel="fill", text=TWO_MASKS)
    assert "Another order" in said(app)
    filling = client().ask(fill_masks)(DEFAULT_MODEL, TWO_MASKS, "most_confident_first")
    last = filling.steps[-1].token
    assert any(f":green-badge[**{last}**]" in text.value for text in app.markdown)
    choose(app, masked_fill_step=1)
    sentence = filled_sentence(filling.tokenized, filling.steps[:1])
    assert sentence in [text.value for text in checked(app).markdown]
    assert f":green-badge[**{filling.steps[0].token}**]" in sentence
    assert r"\[MASK\]" in sentence

    choose(app, masked_fill_step=2)
    now = [100.0]
    monkeypatch.setattr(player, "monotonic", lambda: now[0])
    click(app, "masked_fill_step_play")
    seen = []
    for _ in range(4):
        seen.append(app.slider(key="masked_fill_step").value)
        now[0] += 0.6
        checked(app.run())
    assert seen == [0, 0, 1, 1]
    assert app.slider(key="masked_fill_step").value == 2
    assert app.button(key="masked_fill_step_play").label == "Play"
    # Filled each on its own there is no other order.
    assert "All together" in said(finished(choose(app, masked_fill_mode="independent")))
    assert "Another order" not in said(app)


def chain_of(app: AppTest) -> GibbsRun:
    return app.session_state["masked_chain"].whole()


def run_chain(app: AppTest) -> AppTest:
    click(app, "masked_gibbs_go")
    return finished(checked(app))


def test_a_chain_runs_to_its_end_and_is_that_of_the_engine():
    link = {"masked_panel": "gibbs", "masked_gibbs_burn_in": "5"}
    app = open_page(**link, masked_gibbs_steps="15")
    assert "has not begun" in said(app)
    finished(checked(click(app, "masked_gibbs_one_step")))
    assert chain_of(app).num_steps == 1
    click(app, "masked_gibbs_go")
    app.number_input(key="masked_gibbs_burn_in").set_value(4).run()  # while it runs
    shown = chain_of(finished(checked(app)))
    assert app.metric[0].value == "15"
    again = steps_of(shown.start, 15)
    np.testing.assert_array_equal(shown.new_ids, again.new_ids)
    assert app.metric[1].value == percent(shown.has_changed[4:].mean())
    # Another burn-in keeps the chain and counts other steps.
    run = chain_of(checked(choose(app, masked_gibbs_burn_in=3)))
    np.testing.assert_array_equal(run.new_ids, shown.new_ids)
    assert app.metric[1].value == percent(run.has_changed[3:].mean())
    places = run.start.open_positions
    same = run.start.input_ids[0, places] == again.end.input_ids[0, places]
    assert app.metric[3].value == percent(same.mean())
    assert specs(app)[0]["layout"]["shapes"][0]["x1"] == 3.5
    assert app.button(key="masked_gibbs_go").disabled
    run = chain_of(run_chain(choose(app, masked_gibbs_steps=20)))
    assert run.num_steps == 20
    assert app.metric[1].value == percent(run.has_changed[3:].mean())
    # Other settings begin another chain.
    choose(app, masked_gibbs_seed=8)
    assert not chain_of(app).num_steps
    choose(app, masked_gibbs_start="masks")
    checked(choose(app, masked_gibbs_length=6))
    assert chain_of(app).end.input_ids.shape == (1, 8)


class ChainUnderWay:
    """An engine whose chunk has taken some steps and is not at its end."""

    def __init__(self, num_steps: int) -> None:
        self.num_steps = num_steps
        self.started: list[tuple[int, int]] = []  # step and number of steps
        self.is_cancelled = False

    def __getattr__(self, name):
        return getattr(client(), name)

    def start(self, question, owner):
        assert owner
        _, state, num_steps = question.args
        self.started.append((state.step, num_steps))
        self.run = steps_of(state, self.num_steps)
        return "a chunk"

    def job(self, job_id):
        return JobStatus(job_id, "running", 0.1, self.run.to_dict())

    def cancel(self, job_id):
        self.is_cancelled = True


def test_a_chain_is_seen_while_a_chunk_is_under_way_and_a_pause_keeps_it(monkeypatch):
    engine = ChainUnderWay(7)
    for module in (chains, answers):
        monkeypatch.setattr(module, "client", lambda: engine)
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="60")
    click(app, "masked_gibbs_go")
    checked(app.run())
    assert app.metric[0].value == "7"
    assert app.progress[0].text == "Step 7 of 60"
    first = engine.run
    click(app, "masked_gibbs_pause")
    assert engine.is_cancelled
    assert chain_of(app).num_steps == 7
    assert not app.get("progress")
    click(app, "masked_gibbs_go")
    checked(app.run())
    assert engine.started == [(0, 60), (7, 53)]
    assert app.metric[0].value == "14"
    again = steps_of(first.start, 14)
    np.testing.assert_array_equal(chain_of(app).new_ids, again.new_ids)
    # The chunk is lost, with the server that knew it: its steps stay.
    monkeypatch.setattr(engine, "job", client().job)
    app.run()
    assert "no longer exists" in app.error[0].value
    assert (app.metric[0].value, app.get("progress")[:]) == ("14", [])


def test_a_chain_of_masks_outlives_another_text_and_one_of_the_text_does_not():
    app = open_page(
        masked_panel="gibbs", masked_gibbs_steps="5", masked_gibbs_start="masks"
    )
    new_ids = chain_of(run_chain(app)).new_ids
    type_text(app, "Quite another [MASK].")
    np.testing.assert_array_equal(chain_of(app).new_ids, new_ids)
    choose(app, masked_gibbs_start="sentence")
    run_chain(app)
    type_text(app, "One more [MASK].")
    assert not chain_of(app).num_steps


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
    choose(app, masked_panel="score")
    row = client().ask(Explorer.predict_masks)(model, text).logits[0]
    known = client().ask(vocabulary)(model)
    likeliest = [known[i] for i in np.argsort(-row) if known[i].isalnum()][:3]
    typed = checked(app).text_input(key="masked_score_words").value
    assert re.split("[,、 ]+", typed) == likeliest


def test_the_top_of_the_lens_is_the_prediction_and_its_candidates_cost_nothing():
    app = open_page(masked_panel="lens")
    lens, rank = specs(app)
    probs = softmax(expected_logits(DEFAULT))
    assert np.array(lens["data"][0]["z"])[0, 6] == pytest.approx(probs.max(), abs=1e-5)
    assert len(lens["data"][0]["z"]) == 7
    assert "caution" in said(app).lower()
    best = client().ask(vocabulary)(DEFAULT_MODEL)[int(probs.argmax())]
    assert best in rank["data"][0]["name"]
    before = client().ask(forward_count)()
    word = app.selectbox(key="masked_lens_word")
    chosen = word.options[3]
    word.set_value(chosen).run()
    assert chosen in specs(checked(app))[1]["data"][0]["name"]
    assert client().ask(forward_count)() == before
    # Two words rise through the layers side by side.
    choose(app, masked_lens_contrast=True)
    names = [trace["name"] for trace in specs(checked(app))[1]["data"]]
    for name, key in zip(names, ("masked_lens_word", "masked_lens_other"), strict=True):
        assert app.selectbox(key=key).value in name


@pytest.fixture
def reasons(monkeypatch):
    """What is asked about a word, oldest first; random numbers answer at once."""
    asked: list[Question[Attribution]] = []

    def answer_at_once(place, label, question, **rest):
        if question.name != attribute.__name__:
            return None
        asked.append(question)
        return random_reasons(question)

    monkeypatch.setattr(attribution, "ask_job", answer_at_once)
    return asked


def random_reasons(question: Question[Attribution]) -> Attribution:
    model, text, target, contrast = question.args
    tokenized = client().ask(Explorer.tokenize)(model, text)
    rng = np.random.default_rng(target.index)
    scores = rng.normal(size=(len(METHODS), tokenized.num_tokens))
    scores[METHODS.index("occlusion_mask"), 0] = np.nan  # that of [CLS]
    words = np.flatnonzero(~tokenized.is_special)
    value, baseline_value = -rng.random(2)
    agreement = np.eye(len(METHODS))
    return Attribution(
        tokenized, contrast, value, METHODS, scores, baseline_value, 16, words,
        agreement,
    )  # fmt: skip


def test_reasons_are_those_of_the_word_or_of_one_against_another(reasons):
    app = open_page(masked_panel="why", masked_why_baseline="pad")
    first, second = map(int, np.argsort(-expected_logits(DEFAULT))[:2])
    position = client().ask(Explorer.predict_masks)(DEFAULT_MODEL, DEFAULT).positions[0]
    about = client().ask(attribute).about
    asked = DEFAULT_MODEL, DEFAULT, Target("mlm", first, int(position))
    assert reasons.pop() == about(*asked, None, baseline="pad")
    app.toggle(key="masked_why_contrast").set_value(True).run()
    assert reasons[-1] == about(*asked, second, baseline="pad")
    found = random_reasons(reasons[-1])
    shown = [signed(metric.value) for metric in app.metric[:2]]
    expected = [found.value, found.baseline_value]
    assert shown == pytest.approx(expected, abs=0.006)
    # What speaks for a word and what against it are told apart.
    for method, scores in zip(METHODS, found.scores, strict=True):
        app.get_by_key("masked_why_method").set_value(method).run()
        bars = np.array(specs(checked(app))[0]["data"][0]["x"], float)
        np.testing.assert_allclose(bars, scores, atol=1e-5)
        most = re.search(r"Most for it: “.+?”, ([+−]\d+\.\d\d)", said(app))
        least = re.search(r"Most against it.*?: “.+?”, ([+−]\d+\.\d\d)", said(app))
        if method == "gradient_norm":  # it has no direction
            assert (most, least) == (None, None)
            assert "reacts most" in said(app)
            continue
        told = signed(most[1]), signed(least[1])
        assert told == pytest.approx((np.nanmax(bars), np.nanmin(bars)), abs=0.005)
    assert len({*reasons}) == 1, "no method is asked for alone"
    link = app.main.get("page_link")[-1]
    word = app.selectbox(key="masked_why_word").value
    wanted = {"attention_panel": "maps", "attention_target": "0"}
    assert dict(parse_qsl(link.proto.query_string)) == {
        **wanted,
        "attention_word": word,
    }


def test_a_model_without_the_next_sentence_head_says_so(hf_without):
    model = hf_without("cls.seq_relationship")
    app = open_page(model=model, text="ab [MASK]", masked_panel="next")
    assert "has no next-sentence head" in said(app)


LINKS = [
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
    ("compare", {"masked_other": "Oslo is in [MASK].", "masked_compare_points": "50",
                 "masked_compare_rest": "true", "masked_compare_search": "rome"}),
    ("lens", {"masked_lens_word": "rome", "masked_lens_from": "2",
              "masked_lens_contrast": "true", "masked_lens_other": "oslo"}),
    ("why", {"masked_why_word": "rome", "masked_why_contrast": "true",
             "masked_why_other": "oslo", "masked_why_baseline": "pad",
             "masked_why_method": "occlusion_mask"}),
    ("why", {"masked_why_look": "check"}),
    ("positions", {"masked_positions_how": "seen"}),
    ("whole", {"masked_whole_size": "3"}),
    ("next", {"masked_next_first": "It rained.", "masked_next_seed": "4"}),
]  # fmt: skip


@pytest.mark.usefixtures("reasons")
@pytest.mark.parametrize(("panel", "choices"), LINKS)
def test_a_link_brings_every_choice_of_a_panel_back(panel, choices):
    text = "He [went](x) to [MASK] and came back from [MASK]."
    app = finished(open_page(masked_panel=panel, text=text, **choices))
    for name, value in choices.items():
        assert link_of(app, name) == value, name
        shown = app.get_by_key(name).value
        assert (str(shown).lower() if shown is True else str(shown)) == value, name
    assert app.get_by_key("masked_panel").value == panel
    markdown = "\n".join(element.value for element in app.markdown)
    assert not re.search(r"(?<!\\)\[went(?<!\\)\]\(", markdown), "no text is Markdown"


def test_nonsense_in_a_link_is_passed_over():
    text = "The [MASK] is in the [MASK]."
    far = {"masked_lens_from": "9" * 4301, "masked_fill_step": "9" * 4301}
    app = open_page(masked_panel="lens", text=text, masked_lens_word="no such", **far)
    assert "“no such”" in said(finished(app))
    assert len(specs(app)) == 2
    assert specs(finished(choose(app, masked_panel="fill")))


def test_what_is_looked_at_in_a_panel_runs_the_network_only_where_it_must():
    other = "Nobody but [MASK] has asked this about [MASK] before."
    app = finished(open_page(masked_panel="score", text=TWO_MASKS, masked_other=other))
    before = client().ask(forward_count)()
    app.get_by_key("masked_panel").set_value("compare").run()
    asked = client().ask(forward_count)()  # about the other sentence and one to offer
    assert asked > before
    app.text_input(key="masked_compare_search").set_value("oslo").run()
    called = [table.proto.alt for table in app.dataframe]
    assert {"Likelier in A", "Likelier in B"} < set(called)
    assert len(set(called)) == len(called) == 3
    app.toggle(key="masked_compare_rest").set_value(True).run()
    app.get_by_key("masked_panel").set_value("score").run()
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
    first, swapped = app.metric[0].value, app.metric[1].value
    assert first != swapped
    click(app, "masked_next_swap")
    assert checked(app).text_area(key="masked_next_first").value == "ba"
    assert (app.metric[0].value, app.metric[1].value) == (swapped, first)
    assert "too few sentences" in said(app)


# What takes long waits for a button; one bad word spoils nothing.

UNREADABLE = "龘"


def test_a_word_without_a_score_leaves_those_of_the_others():
    app = open_page(masked_panel="score", masked_score_words=f"france, {UNREADABLE}")
    assert set(table(app, "masked_word_scores")["Word"]) == {"france"}
    assert [UNREADABLE in warning.value for warning in app.warning] == [True]
    assert len(checked(choose(app, masked_score_words=UNREADABLE)).warning) == 1
    assert not {pills.key for pills in app.pills} & {"masked_word_scores_tools"}


def test_what_takes_long_waits_for_a_button_and_says_the_same(monkeypatch):
    places = {
        "fill": ("masked_fill", ""),
        "whole": ("masked_whole", "masked_whole_words"),
        "score": ("masked_word_scores", "masked_word_scores"),
    }
    link = {"text": TWO_MASKS, "masked_score_words": "rome, oslo"}
    expected = {}
    for is_long in (False, True):
        if is_long:
            monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 0)
        app = open_page(**link, masked_panel="fill")
        for panel, (place, below) in places.items():
            choose(app, masked_panel=panel)
            if is_long:
                assert not app.dataframe
                click(app, f"job_{place}_start")
            found = table(finished(checked(app)), below)
            assert found.equals(expected.setdefault(panel, found)), panel


def test_what_takes_a_little_longer_starts_without_a_button(monkeypatch):
    monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 1)
    app = finished(open_page(masked_panel="fill", text=TWO_MASKS))
    filling = client().ask(fill_masks)(DEFAULT_MODEL, TWO_MASKS, "most_confident_first")
    assert list(table(app)["Word"]) == [step.token for step in filling.steps]


# Questions that need no text, or no masked-word head.

NEXT = {
    "masked_panel": "next", "masked_next_first": "ab", "masked_next_second": "ba",
    "masked_next_passages": "Ab. Cab.",
}  # fmt: skip


def test_next_sentences_need_no_text_above():
    link = {"model": str(HF), "text": " ", **NEXT}
    app = real_pages.open_page("masked_word", **link)
    found = client().ask(predict_next_sentence)(str(HF), "ab", "ba")
    for text in (" ", "\u200b", "ab " * 30):
        choose(app, text=text)
        assert app.metric[0].value == percent(found.probability)


def test_a_model_of_next_sentences_alone_answers_about_them(tmp_path):
    weights = without_part(weights_of_hf(), "cls.predictions")
    config = {"architectures": ["BertForNextSentencePrediction"]}
    model = str(hf_copy(tmp_path, weights, config, name="nsp"))
    app = finished(open_page(model=model, text="ab [MASK]", **NEXT))
    assert "has no masked-word head" in said(app)
    found = client().ask(predict_next_sentence)(model, "ab", "ba")
    assert app.metric[0].value == percent(found.probability)
    assert "and there are none" in said(checked(choose(app, masked_panel="score")))


def test_an_own_sentence_is_scored_though_there_is_no_text_above():
    app = finished(
        open_page(
            text=" ", masked_panel="score", masked_score_kind="sentence",
            masked_score_text="Snow is white.",
        )
    )  # fmt: skip
    assert len(app.metric) == 1
    assert "and there are none" in said(checked(choose(app, masked_score_kind="word")))
    # A question about the predictions waits for a text.
    assert "and there are none" in said(checked(choose(app, masked_panel="fill")))
    type_text(app, TWO_MASKS)
    assert app.get_by_key("masked_panel").value == "fill"
    assert len(table(app)) == 2


def test_a_mask_that_the_other_sentence_lacks_is_said_with_both_numbers():
    app = open_page(
        masked_panel="compare", text=TWO_MASKS, token="10",
        masked_other="Oslo is in [MASK].",
    )  # fmt: skip
    warnings = "\n".join(warning.value for warning in app.warning)
    assert "no mask number 2" in warnings
    assert "Mask 2 of A is compared with mask 1 of B" in warnings
    choose(app, masked_other="[MASK] is in [MASK].")
    assert len(app.warning) == 1  # of stereotypes


def show_error(error):
    from types import SimpleNamespace

    from pages.shared.attribution import show_completeness

    found = SimpleNamespace(completeness_error=error, num_steps=32)
    show_completeness({"masked.why_value": "1"}, found)


@pytest.mark.parametrize(
    ("error", "is_warned"), [(0.02, 0), (0.06, 1), (float("inf"), 1)]
)
def test_gradients_that_miss_more_than_five_percent_are_warned_of(error, is_warned):
    app = run_function(show_error, error)
    assert len(app.metric) == 2
    warned = ["do not add up" in warning.value for warning in app.warning]
    assert warned == [True] * is_warned


def sentence_of(text: str, steps: dict[int, str]) -> str:
    """A text with these masks filled, the last of them marked."""
    from types import SimpleNamespace

    ends = [i + len("[MASK]") for i in range(len(text)) if text.startswith("[MASK]", i)]
    size = len(ends)
    tokenized = TokenizedText(
        text=text, pair=None, tokens=("[MASK]",) * size, input_ids=np.full(size, 9),
        token_type_ids=np.zeros(size, int),
        offsets=np.array([[end - len("[MASK]"), end] for end in ends]),
        word_ids=np.arange(size), unk_token_id=0, mask_token_id=9,
        num_tokens_uncut=size,
    )  # fmt: skip
    return filled_sentence(
        tokenized,
        tuple(SimpleNamespace(mask_index=i, token=word) for i, word in steps.items()),
    )


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        ("I walk [MASK] on", {0: "##ing"}, "I walk:green-badge[**ing**] on"),
        ("[MASK] [MASK]", {0: "walk", 1: "##ing"},
         ":gray-badge[walk]:green-badge[**ing**]"),
        ("*a* [MASK], b", {}, r"\*a\* :blue-badge[\[MASK\]]\, b"),
        ("[MASK] [MASK]", {1: "on"},
         r":blue-badge[\[MASK\]] :green-badge[**on**]"),
        ("吃[MASK][MASK]吗", {0: "苹", 1: "果"},
         "吃:gray-badge[苹]:green-badge[**果**]吗"),
    ],
)  # fmt: skip
def test_a_piece_is_joined_to_what_stands_before_it(text, steps, expected):
    assert sentence_of(text, steps) == expected


def test_a_mask_has_no_rank_under_the_pointer():
    app = finished(open_page(masked_panel="positions"))
    hints = [hint for row in specs(app)[0]["data"][0]["customdata"] for hint in row]
    assert sum("no word to rank" in (hint or "") for hint in hints) == 1
    assert not any("rank 0" in (hint or "") for hint in hints)


# Whole Chinese words.

CHINESE_TEXT = "我喜欢吃苹果，他喝牛奶。"


def open_chinese(model: str, **params: str) -> AppTest:
    link = {"model": model, "text": CHINESE_TEXT, **params}
    return real_pages.open_page("masked_word", "zh", **link)


def whole_words(app: AppTest) -> list[str]:
    return list(table(app, "masked_whole_words")["词"])


# A comma ends the word.
@pytest.mark.parametrize(("size", "masks"), [("1", 1), ("2", 2), ("4", 2)])
def test_one_click_hides_a_whole_word_and_a_second_one_puts_it_back(
    chinese, size, masks
):
    app = click_word(open_chinese(chinese, masked_click_size=size), 4)
    assert (
        text_of(app) == CHINESE_TEXT[:4] + "[MASK]" * masks + CHINESE_TEXT[4 + masks :]
    )
    assert text_of(click_word(app, 4)) == CHINESE_TEXT


def test_a_hidden_word_of_two_characters_is_asked_about_as_one_word(chinese):
    app = click_word(
        open_chinese(chinese, masked_click_size="2", masked_panel="whole"), 4
    )
    assert app.get_by_key("masked_whole_size").value == "2"
    one = CHINESE_TEXT.replace("苹果", "[MASK]")
    found = client().ask(find_whole_words)(chinese, one, 2, "characters", 0)
    assert whole_words(app) == list(found.words[:20])
    (score,) = client().ask(score_known_words)(chinese, one, ("苹果",), 0)
    share = percent(float(np.exp(score.log_prob)))
    assert "你遮住的是 **苹果**" in said(app)
    assert share in said(app)


def test_a_text_longer_than_the_model_reads_has_room_for_a_word_of_many_pieces():
    text = "ab [MASK] cab " * 20
    app = open_page(model=str(HF), text=text, masked_panel="whole")
    for size in (1, 4):
        checked(choose(app, masked_whole_size=str(size)))
        assert len(table(app, "masked_whole_words")) > 0


def test_words_of_every_length_are_made_of_characters_alone(chinese):
    app = open_chinese(chinese, text="他喝[MASK]。", masked_panel="whole")
    for size in (1, 2, 3, 4):
        words = whole_words(choose(app, masked_whole_size=str(size)))
        assert words
        assert {len(word) for word in words} == {size}
        assert set("".join(words)) <= set(CHARACTERS)


def test_a_whole_word_replaces_all_its_masks_and_undo_brings_them_back(chinese):
    app = open_chinese(
        chinese, text="他[MASK]我[MASK][MASK]。", token="6",
        masked_panel="whole",
    )  # fmt: skip
    word = whole_words(app)[0]
    checked(choose(app, masked_whole_insert=0))
    assert text_of(app) == f"他[MASK]我{word}。"
    assert text_of(click(app, "masked_undo")) == "他[MASK]我[MASK][MASK]。"


def test_an_english_text_has_no_choice_of_characters(chinese):
    app = open_chinese(chinese, text="ab [MASK]")
    assert "masked_click_size" not in app.session_state
    choose(app, text="ab 我 [MASK]")
    # Short, as all four stand in one row of a phone.
    assert app.get_by_key("masked_click_size").options == list("1234")
