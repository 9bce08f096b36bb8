"""The programs that pages show run, and give the numbers that the pages show.

Others are run where their panel is tested.
"""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.neurons import words_of_neuron, words_of_neuron_here
from bertviz_core.experiments.token_numbers import norm_input_at, part_numbers
from bertviz_core.figures.labels import label, with_minus
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import embeddings as programs
from bertviz_core.snippets.writing import write_snippet
from bertviz_core.trace import Texts
from pages.layers.norms import SMALL
from pages.shared.engine import client
from tests.app import test_attention as attention
from tests.app.real_pages import (
    choose,
    click,
    finished,
    floats,
    open_page,
    run_program,
    run_text,
    said,
    signed,
    specs,
    table,
    unfolded,
)
from tests.app.test_embeddings import num_states, sent
from tests.app.test_masked_word import TWO_MASKS
from tests.core import checkpoint_copies
from tests.core.sent_figures import numbers

HF = str(checkpoint_copies.HF)
TEXT, PAIR = "She took the book to the library.", "The [MASK] was very old."
MASK = 11  # its index in both


def opened_page(page: str, code: str, **params: str | list[str]) -> AppTest:
    """Opens a panel with its program unfolded, and waits for its jobs."""
    boxes = unfolded(code)
    if page == "attention":
        return attention.ask(params.pop("attention_panel"), boxes, **params)
    return finished(open_page(page, state=boxes, **params))


def printed(page: str, code: str, **params: str) -> tuple[AppTest, str]:
    app = opened_page(page, code, **params)
    return app, run_program(app)[1]


def layers_printed(code: str, **params: str) -> tuple[AppTest, str]:
    return printed("layers", code, text=TEXT, pair=PAIR, **params)


def shown(app: AppTest, code: str, place: str):
    """What a page shows at a place: a metric, a column of a table, part of a figure."""
    kind, _, where = place.partition(" ")
    if kind == "metric":
        return app.metric[int(where)].value
    if kind == "column":
        return list(app.dataframe[-1].value[where])
    if kind == "table":
        return list(table(app, code)[where])
    figure, trace, axis = where.split()
    return numbers(specs(app)[int(figure)]["data"][int(trace)][axis])


FILLING = {
    "column Word": lambda n: [step.token for step in n["filling"].steps],
    "column Probability": lambda n: [
        percent(float(np.exp(step.log_prob))) for step in n["filling"].steps
    ],
}
# Opened by a link: what stands at a place of the page, by the names of the program.
SHOWN = [
    ("masked_filling", {"masked_panel": "fill", "masked_fill_mode": mode,
                        "text": TWO_MASKS}, FILLING)
    for mode in ("most_confident_first", "independent")
] + [
    ("masked_word_scores",
     {"masked_panel": "score", "masked_score_words": "rome, unbelievable"},
     {"table Tokens": lambda n: each_piece(n, "tokens"),
      "table Rank of each token": lambda n: each_piece(n, "ranks"),
      "table Log-probability of each token": lambda n: each_piece(n, "log_probs"),
      "table Word": lambda n: of_each_word(n, "word"),
      "table Log-probability": lambda n: of_each_word(n, "log_prob"),
      "table Probability": lambda n: np.exp(of_each_word(n, "log_prob"))}),
    ("masked_sentence_score",
     {"masked_panel": "score", "masked_score_kind": "sentence",
      "masked_score_variant": "naive",
      "masked_score_text": 'He said: "unbelievable".'},
     {"metric 0": lambda n: with_minus(f"{n['score'].log_prob:.2f}"),
      "figure -1 0 x": lambda n: n["score"].log_probs}),
    ("masked_minimal_pair", {"masked_panel": "score", "masked_score_kind": "pair"},
     {"metric 0": lambda n: with_minus(f"{n['pair'].first.log_prob:.2f}"),
      "metric 1": lambda n: with_minus(f"{n['pair'].second.log_prob:.2f}"),
      "said": lambda n: f"prefers the **{winner(n['pair'])}** sentence"}),
    ("masked_positions_map",
     {"masked_panel": "positions", "masked_positions_how": "seen"},
     {"table Surprisal (bits)": lambda n: n["found"].surprisal_bits}),
    ("masked_whole_words", {"masked_panel": "whole", "masked_whole_size": "3"},
     {"table Word": lambda n: list(n["found"].words[:20])}),
    ("masked_next",
     {"masked_panel": "next", "model": HF, "text": "ab [MASK]",
      "masked_next_first": 'cab "b"', "masked_next_second": "ba\nab"},
     {"metric 0": lambda n: percent(n["found"].probability),
      "metric 1": lambda n: percent(n["found"].probability_swapped)}),
]  # fmt: skip


def sorted_scores(names: dict):
    return sorted(names["scores"], key=lambda one: -one.log_prob)


def each_piece(names: dict, kind: str) -> list:
    return [value for one in sorted_scores(names) for value in getattr(one, kind)]


def of_each_word(names: dict, kind: str) -> list:
    """A row for each of its pieces."""
    scores = sorted_scores(names)
    return [getattr(one, kind) for one in scores for _ in one.tokens]


def winner(pair) -> str:
    return "first" if pair.difference > 0 else "second"


@pytest.mark.parametrize(("code", "link", "places"), SHOWN)
def test_what_is_shown_comes_out_of_the_program(code, link, places):
    app = opened_page("masked_word", code, **link)
    names, _ = run_program(app)
    for place, of_program in places.items():
        expected = of_program(names)
        if place == "said":
            assert expected in said(app)
        elif place.startswith("metric") or isinstance(expected[0], str):
            assert shown(app, code, place) == expected, place
        else:
            np.testing.assert_allclose(
                shown(app, code, place), expected, atol=5e-3, err_msg=place
            )


# Masked words.


@pytest.mark.parametrize("alone", ["false", "true"])
def test_the_likeliest_words(alone):
    link = {"text": TWO_MASKS, "token": "10", "masked_shown": "17"}
    app, output = printed(
        "masked_word", "masked_candidates", masked_words_alone=alone, **link
    )
    lines = [line.split() for line in output.splitlines()[:-1]]
    bars = specs(app)[0]["data"][0]
    values = numbers(bars["x"])[:-1]  # the last bar is that of all other words
    assert len(lines) == len(values) == 17
    np.testing.assert_allclose([float(line[2]) for line in lines], values, rtol=1e-4)
    for (word, *_), (name, *_) in zip(lines, bars["customdata"], strict=False):
        assert word in name
        assert word.isalnum() or alone == "false"


def test_settings_and_draws():
    app = opened_page(
        "masked_word", "masked_candidates",
        masked_temperature="1.4", masked_top_k="30", masked_top_p="0.9",
        masked_seed="5", masked_draws="77",
    )  # fmt: skip
    names, output = run_program(app)
    bits, choices = (float(word) for word in output.splitlines()[-2].split())
    assert f"Entropy **{bits:.2f} bits** (before" in said(app)
    assert f"Effective choices **{choices:,.1f} words** (before" in said(app)
    assert len(names["draws"]) == 77
    words = names["explorer"].tokenizer.vocabulary
    first = ", ".join(words[i] for i in names["draws"][:10])
    assert any(text.value.endswith(f": {first}.") for text in app.caption)


def test_pairs():
    link = {"masked_panel": "fill", "masked_fill_mode": "pairs", "text": TWO_MASKS}
    app = opened_page("masked_word", "masked_pairs", **link)
    pairs = run_program(app)[0]["pairs"]
    rows = table(app)
    words = zip(rows["First word"], rows["Second word"], strict=True)
    assert list(words) == list(pairs.tokens)
    points = numbers(specs(app)[-1]["data"][-1]["x"])
    np.testing.assert_allclose(points, np.exp(pairs.log_prob_forward), rtol=1e-3)
    assert rows["First mask first"][0] == percent(np.exp(pairs.log_prob_forward[0]))
    assert rows["Second mask first"][0] == percent(np.exp(pairs.log_prob_backward[0]))
    apart = np.abs(pairs.log_prob_forward - pairs.log_prob_backward).max()
    assert f"a factor of up to {np.exp(apart):,.3g}." in said(app)
    assert "exactly two masks" in said(finished(choose(app, text="One [MASK].")))


def test_a_chain():
    app = opened_page(
        "masked_word", "masked_gibbs",
        masked_panel="gibbs", masked_gibbs_start="masks", masked_gibbs_steps="23",
        masked_gibbs_burn_in="4", masked_gibbs_top_k="40", masked_gibbs_length="5",
        masked_gibbs_temperature="0.7", masked_gibbs_order="in_order",
    )  # fmt: skip
    run = run_program(finished(click(app, "masked_gibbs_go")))[0]["run"]
    np.testing.assert_array_equal(
        run.new_ids, app.session_state["masked_chain"].whole().new_ids
    )
    assert app.metric[1].value == percent(run.change_rate)


def test_a_comparison():
    text = "The doctor said that [MASK] was tired."
    app = opened_page(
        "masked_word", "masked_comparison", masked_panel="compare", text=text
    )
    names, output = run_program(app)
    divergence = names["found"].divergence_bits
    assert any(f"{divergence:.3f} of at most" in c.value for c in app.caption)
    words = [word for frame in app.dataframe for word in frame.value["Word"]]
    assert [line.split()[0] for line in output.splitlines()[1:]] == words
    other = app.text_input(key="masked_other").value
    assert other == "The nurse said that [MASK] was tired."


def test_the_lens_and_one_word_or_two_in_it():
    link = {"masked_panel": "lens", "masked_lens_word": "rome"}
    app = opened_page("masked_word", "masked_lens_rank", **link)
    for num_words in (1, 2):
        names, output = run_program(app)
        words = [names["explorer"].vocabulary[one] for one in names["lens"].word_ids]
        assert "rome" in words
        lines = [line.split()[-num_words:] for line in output.splitlines()]
        for index, ranks in enumerate(np.array(lines, int).T):
            np.testing.assert_array_equal(shown(app, "", f"figure -1 {index} y"), ranks)
        choose(app, masked_lens_contrast=True)


def test_a_shuffled_test_also_with_random_weights():
    app = opened_page(
        "masked_word", "masked_shuffled",
        masked_panel="next", model=HF, text="ab [MASK]",
        masked_next_first="ab", masked_next_second="ba",
        masked_next_passages="Ab. Cab. Ba.\nDa. Fo.", masked_next_seed="4",
    )  # fmt: skip
    found = run_program(app)[0]["found"]
    assert found.num_pairs == 3
    assert app.metric[2].value == percent(found.accuracy)
    assert f"{found.num_right} of 6 answers" in app.metric[2].delta
    column = table(app, "masked_shuffled")["Probability of “is next”"]
    assert list(column) == [*found.probabilities, *found.shuffled]
    choose(app, masked_shuffled_tools="code", masked_next_random=True)
    click(app, "job_masked_shuffled_random_start")
    names, _ = run_program(finished(app))
    accuracies = [percent(names[name].accuracy) for name in ("found", "random")]
    assert [metric.value for metric in app.metric[-2:]] == accuracies


def test_a_hostile_text_runs_nothing_but_the_program():
    text = '\'); raise SystemExit #" \\ {model} [MASK]\n"""'
    app = opened_page("masked_word", "masked_candidates", text=text)
    names, output = run_program(app)
    assert len(output.splitlines()) == 11
    assert "SystemExit" not in names


@pytest.mark.tensorflow
def test_reasons():
    app = opened_page(
        "masked_word", "masked_why", masked_panel="why", masked_why_word="bo",
        masked_why_contrast="true", masked_why_baseline="pad", model=HF,
        text="ab cab [MASK]",
    )  # fmt: skip
    found = run_program(app)[0]["found"]
    assert signed(app.metric[0].value) == pytest.approx(found.value, abs=0.006)
    row = found.scores[found.methods.index("integrated_gradients")]
    np.testing.assert_allclose(shown(app, "", "figure -1 0 x"), row, atol=1e-3)
    assert found.contrast is not None


@pytest.mark.tensorflow
def test_the_check_with_random_weights():
    link = {"masked_panel": "why", "masked_why_look": "check", "model": HF}
    text = "ab [MASK] cab ba"
    app = opened_page("masked_word", "masked_why_check", text=text, **link)
    click(app, "job_masked_why_check_start")
    agreement = run_program(finished(app))[0]["found"].agreement
    assert any("Near 1 is a warning" in caption.value for caption in app.caption)
    np.testing.assert_allclose(shown(app, "", "figure -1 0 x"), agreement, atol=1e-6)


# Layers.


def test_a_step_of_both_texts():
    _, output = layers_printed("layers_numbers", layers_step="layer_1/query", token="3")
    found = client().ask(part_numbers)(DEFAULT_MODEL, Texts(TEXT, PAIR), "layer_1", 2)
    assert output.startswith("took ")
    expected = found.of("layer_1/query").ravel()
    np.testing.assert_allclose(floats(output)[:3], expected[:3], atol=1e-6)


def test_a_neuron_switched_off():
    app, output = layers_printed("layers_off", layers_panel="neurons")
    before, after, change = floats(output)[:3]
    assert abs(change) > 1e-6, "nothing to see"
    shown = [metric.value for metric in app.metric]
    assert shown[:2] == [percent(before), percent(after)]
    assert signed(shown[2].split()[0]) == pytest.approx(100 * change, abs=6e-4)


@pytest.mark.parametrize("reading", ["head", "embedding"])
def test_the_words_of_a_neuron_as_the_page_reads_them(reading):
    link = {"layers_panel": "neurons", "layers_neuron_layer": "5"}
    app, output = layers_printed("layers_suppressed", **link, layers_reading=reading)
    sides = re.findall(r"(\(\'.+?\)) \[(.+?)\]", output, re.DOTALL)
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    assert int(output.split()[0]) == neuron
    if reading == "head":
        texts = Texts(TEXT, PAIR)
        ask_words = client().ask(words_of_neuron_here)
        found = ask_words(DEFAULT_MODEL, texts, 4, neuron, MASK, 8)
    else:
        found = client().ask(words_of_neuron)(DEFAULT_MODEL, 4, neuron, 8)
    for side, (tokens, values) in zip(("promoted", "suppressed"), sides, strict=True):
        words = getattr(found, f"{side}_tokens")
        assert ast.literal_eval(tokens) == words
        changes = getattr(found, f"{side}_changes")
        np.testing.assert_allclose(floats(values), changes, rtol=1e-4)
        figure = json.loads(app.get_by_key(f"layers_{side}_figure").proto.spec)
        assert figure["data"][0]["customdata"] == [label(word) for word in words]


@pytest.mark.parametrize("source", ["small", "real"])
def test_a_norm_by_hand(source):
    link = {"layers_panel": "by_hand", "layers_by_hand": source}
    change = {"layers_shift": "2.0", "layers_scale": "1.5"}
    app, output = layers_printed("layers_by_hand_figure", **link, **change)
    vector = np.array(SMALL)
    if source == "real":
        norm = app.get_by_key("layers_by_hand_norm").value
        texts = Texts(TEXT, PAIR)
        vector = client().ask(norm_input_at)(DEFAULT_MODEL, texts, norm, MASK).vector
    expected = [vector.mean() + 2, vector.var() * 2.25]
    assert floats(output)[:2] == pytest.approx(expected, rel=1e-6)


# Attention.


def test_the_arithmetic():
    link = {"attention_panel": "arithmetic", "token": "4", "attention_to": "5"}
    app = opened_page("attention", "attention_values", **link)
    found = run_program(app)[0]["found"]
    vectors, values = attention.drawn_maps(app)
    np.testing.assert_allclose(vectors[-1], found.running_sums, rtol=1e-5)
    np.testing.assert_allclose(values[1], found.weighted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("where", ["here", "corpus"])
def test_the_profile(where, monkeypatch):
    shown = []
    monkeypatch.setattr(
        "pages.attention.causes.clickable_map",
        lambda head_map, *_: shown.append(head_map.values),
    )
    link = {"attention_panel": "profile", "attention_profile_where": where}
    app = opened_page(
        "attention", "attention_map_measure", attention_measure="to_next", **link
    )
    if where == "corpus":
        attention.finished(app, "profile")
    profile = run_program(app)[0]["found"].profile
    np.testing.assert_allclose(shown[0], profile.of("to_next"), atol=1e-5)
    assert f"mean over the texts, {profile.num_texts} in all" in said(app)
    assert (profile.num_texts >= 100) == (where == "corpus")


def test_a_switched_off_prediction():
    app = opened_page(
        "attention", "attention_switched_off", attention_panel="switch",
        attention_off_heads=["2·4"], attention_off_feed_forward=["3"],
        attention_cut_edge="true", token="4", attention_to="5",
    )  # fmt: skip
    found = run_program(app)[0]["found"]
    values = [float(metric.value.rstrip("%")) for metric in app.metric[:2]]
    expected = [100 * found.before.value, 100 * found.after.value]
    assert values == pytest.approx(expected, abs=0.06)
    assert found.before.value != found.after.value


def test_a_map_of_causes(monkeypatch):
    monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 1e20)
    link = {"attention_panel": "maps", "attention_map_kind": "parts"}
    app = opened_page("attention", "attention_map_parts", **link)
    deltas = run_program(app)[0]["found"].deltas
    np.testing.assert_allclose(attention.drawn_maps(app)[0], deltas, atol=1e-5)


@pytest.mark.tensorflow
def test_a_map_of_heads(monkeypatch):
    monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 1e20)
    link = {"attention_panel": "maps", "attention_map_kind": "heads"}
    link |= {"model": HF, "text": "ab cab [MASK]"}
    app = opened_page("attention", "attention_map_mass", **link)
    assert len(app.metric) == 2, "how the estimate agrees is told"
    deltas = run_program(app)[0]["found"].deltas
    (text,) = [c.value for c in app.caption if "helps it most" in c.value]
    (told,) = re.findall(r"helps it most: ([−+][\d.]+) points", text)
    assert signed(told) == pytest.approx(100 * deltas.min(), abs=0.006)


# Embeddings.

TOPICS = "a | one small lamp\nb | two large lamps\na | a bank\nb | the bank"


def test_sentences():
    topics = {"embeddings_topics": TOPICS}
    app = opened_page(
        "embeddings", "embeddings_points", embeddings_panel="sentences", **topics
    )
    found = run_program(app)[0]["found"]
    for quality, note in zip(found.qualities, sent(app)["notes"], strict=True):
        assert f"Trustworthiness {quality.trustworthiness:.3f}" in note
    # That of a map that is drawn as a job runs without the map.
    program = write_snippet(
        programs.SENTENCES_NEIGHBOURS, model=DEFAULT_MODEL,
        sentences=("one small lamp", "two large lamps"),
        reading="token", num_axes=2, seed=1, method="tsne", neighbourhood=5.0,
    )  # fmt: skip
    assert run_text(program)[1].count("MapQuality(") == num_states()
