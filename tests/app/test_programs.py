"""The programs that pages show run, and give the numbers that the pages show.

In one file, as the models are opened once for all programs.
"""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.activations import activate, differentiate
from bertviz_core.analysis.anisotropy import outlier_dimensions
from bertviz_core.analysis.dying_neurons import train
from bertviz_core.analysis.gelu_approximation import best_constant, sampled_gate
from bertviz_core.analysis.labelled_lines import read_lines
from bertviz_core.analysis.small_networks import (
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.experiments.embedding_tables import (
    measure_positions,
    take_input_apart,
)
from bertviz_core.experiments.neurons import words_of_neuron, words_of_neuron_here
from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.sentence_states import vectors_at, word_senses
from bertviz_core.experiments.token_numbers import norm_input_at, part_numbers
from bertviz_core.experiments.vocabulary_maps import vocabulary_map
from bertviz_core.experiments.word_axis import project_words
from bertviz_core.experiments.word_vectors import nearest_words, solve_analogy
from bertviz_core.figures.labels import label
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import embeddings as programs
from bertviz_core.snippets.writing import write_snippet
from bertviz_core.trace import Texts
from pages.activations.training import FIRST_SEED, NUM_STEPS
from pages.attention.canvas import METHODS
from pages.layers.norms import SMALL
from pages.shared.engine import client
from tests.app import test_attention as attention
from tests.app.real_pages import (
    answer,
    choose,
    click,
    finished,
    open_page,
    run_program,
    run_text,
    said,
    specs,
    table,
)
from tests.app.test_embeddings import listed, num_states, sent
from tests.app.test_masked_word import TWO_MASKS
from tests.core import checkpoint_copies
from tests.core.sent_figures import numbers

HF = str(checkpoint_copies.HF)
TEXT, PAIR = "She took the book to the library.", "The [MASK] was very old."
MASK = 11  # its index in both
SENTENCE = "She sat down on the bank of the river."

pytestmark = pytest.mark.usefixtures("opened")


def opened_page(page: str, code: str, **params: str | list[str]) -> AppTest:
    """Opens a panel with its program unfolded, and waits for its jobs."""
    boxes = {f"{code}_tools": "code"}
    if page == "attention":
        return attention.ask(params.pop("attention_panel"), boxes, **params)
    return finished(open_page(page, state=boxes, **params))


def printed(page: str, code: str, **params: str) -> tuple[AppTest, str]:
    app = opened_page(page, code, **params)
    return app, run_program(app)[1]


def layers_printed(code: str, **params: str) -> tuple[AppTest, str]:
    return printed("layers", code, text=TEXT, pair=PAIR, **params)


def floats(output: str) -> list[float]:
    found = re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", output)
    return [float(number) for number in found]


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
     {"metric 0": lambda n: f"{n['score'].log_prob:.2f}",
      "figure -1 0 x": lambda n: n["score"].log_probs}),
    ("masked_minimal_pair", {"masked_panel": "score", "masked_score_kind": "pair"},
     {"metric 0": lambda n: f"{n['pair'].first.log_prob:.2f}",
      "metric 1": lambda n: f"{n['pair'].second.log_prob:.2f}",
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
        run.new_ids, app.session_state["masked_chain"].run.new_ids
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
    assert float(app.metric[0].value) == pytest.approx(found.value, abs=0.006)
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


def test_the_residual_stream():
    _, output = layers_printed("layers_residual_map")
    found = client().ask(residual_stream)(DEFAULT_MODEL, Texts(TEXT, PAIR))
    values = floats(output)[: len(found.residual_norms)]
    np.testing.assert_allclose(values, found.residual_norms[:, MASK], rtol=1e-5)


def test_similar_layers():
    app, output = layers_printed("layers_similarity", layers_panel="similarity")
    values = np.array(specs(app)[-1]["data"][0]["z"], float)
    np.testing.assert_allclose(floats(output)[: len(values)], values[0], atol=6e-5)
    assert f"{values[0, -1]:.3f}" in said(app)
    # Written not on the diagonal alone, where each is compared with itself.
    written = np.array(specs(app)[-1]["data"][0]["text"])
    assert written[0, -1] == f"{values[0, -1]:.2g}"
    assert (written != "").all()


def test_a_neuron_switched_off():
    app, output = layers_printed("layers_off", layers_panel="neurons")
    before, after, change = floats(output)[:3]
    assert abs(change) > 1e-6, "nothing to see"
    shown = [metric.value for metric in app.metric]
    assert shown[:2] == [percent(before), percent(after)]
    assert float(shown[2].split()[0]) == pytest.approx(100 * change, abs=6e-4)


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


def test_groups_of_neurons():
    app, output = layers_printed("layers_factor_neurons", layers_panel="factors")
    share = float(app.metric[0].value.rstrip("%")) / 100
    assert floats(output)[0] == pytest.approx(share, abs=6e-4)
    assert output.count("[") >= 8


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


@pytest.mark.tensorflow
def test_effects():
    link = {"layers_panel": "neurons", "model": HF, "text": "ab cab [MASK]"}
    app, output = printed("layers", "layers_effects", **link)
    places = re.findall(r"\[ *(\d+) +(\d+)\]", output)
    labels = [f"{int(a) + 1}·{int(b) + 1}" for a, b in places]
    assert app.get_by_key("layers_effect_open").options == labels


# Activations.


def test_curves_at_the_chosen_x():
    _, output = printed("activations", "activations_curves", act_x="0.5")
    lines = [line.split() for line in output.splitlines()]
    assert [line[0] for line in lines] == ["sigmoid", "relu", "gelu"]
    for name, *values in lines:
        expected = [float(f(name, np.array(0.5))) for f in (activate, differentiate)]
        assert list(map(float, values)) == pytest.approx(expected)


def test_weaknesses():
    link = {"act_part": "vanishing", "act_depth": "9", "act_start": "-2"}
    _, output = printed("activations", "activations_gradients", **link)
    left = {line.split()[0]: float(line.split()[-1]) for line in output.splitlines()}
    for name, gradient in left.items():
        path = gradient_through_layers(name, 9, 1.0, start=-2.0)
        assert gradient == pytest.approx(path.gradients[-1])
    assert "elu" in left
    centre = {"act_part": "centre"}
    _, output = printed("activations", "activations_means", **centre)
    assert floats(output.splitlines()[0])[0] == output_signs("sigmoid").mean
    _, output = printed("activations", "activations_path", **centre)
    path = learn_two_weights("sigmoid", num_steps=40)
    first = output.split()
    assert int(first[1]) == path.num_one_sided
    assert float(first[2]) == pytest.approx(path.distances[-1])
    _, output = printed("activations", "activations_neuron", act_part="dead")
    relu = train("relu", learning_rate=0.1, num_steps=NUM_STEPS, seed=FIRST_SEED)
    assert output.startswith(f"relu {relu.died_at()}")
    assert output.splitlines()[1].split() == ["0.0", "0.0"]
    _, output = printed("activations", "activations_collapse", act_part="collapse")
    stack, one, bent = output.splitlines()[-3:]
    assert floats(stack) == pytest.approx(floats(one))
    assert floats(stack) != pytest.approx(floats(bent))


def test_gelu():
    _, output = printed(
        "activations", "activations_normal", act_part="gelu", act_normal_x="1.5"
    )
    gelu = float(activate("gelu", np.array(1.5)))
    gate = sampled_gate(np.array([1.5]), 100, 0)[-1, 0]
    assert floats(output)[-2:] == pytest.approx([gelu, gate])
    _, output = printed("activations", "activations_error", act_part="approximation")
    assert floats(output)[0] == best_constant("gelu")


# Attention.


def test_the_picture():
    heads = {"attention_heads": "1·2,3·1", "attention_panel": attention.LIGHT}
    place = {"attention_layer": "2", "attention_head": "3"}
    app = opened_page("attention", "attention", **place, **heads)
    texts = Texts(attention.TEXT)
    for method in METHODS:
        choose(app, attention_method=method)
        found = run_program(app)[0]["shown"]
        ask_matrix = client().ask(attention_matrix)
        expected = ask_matrix(
            DEFAULT_MODEL, texts, method, 1, 2, heads=((0, 1), (2, 0))
        )
        np.testing.assert_allclose(found, expected, atol=1e-5, err_msg=method)


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
    (told,) = re.findall(r"helps it most: ([-+][\d.]+) points", text)
    assert float(told) == pytest.approx(100 * deltas.min(), abs=0.006)


def test_patching():
    towns = ("Paris is the capital of [MASK].", "Rome is the capital of [MASK].")
    link = dict(zip(("text", "attention_other"), towns, strict=True))
    app = opened_page("attention", "attention_patch", attention_panel="patch", **link)
    found = run_program(attention.finished(app, "patch"))[0]["found"]
    np.testing.assert_allclose(attention.drawn_maps(app)[0], found.recovered, atol=1e-4)


# Embeddings.

TOPICS = "a | one small lamp\nb | two large lamps\na | a bank\nb | the bank"


def embeddings_printed(code: str, panel: str = "", **params: str) -> str:
    link = {"embeddings_panel": panel} if panel else {}
    return printed("embeddings", code, **link, **params)[1]


def test_the_input_sum():
    output = embeddings_printed("embeddings_shares", text=SENTENCE, token="2")
    found = client().ask(take_input_apart)(DEFAULT_MODEL, SENTENCE)
    assert output.startswith("she ")
    assert str(found.normed[1, 0])[:6] in output


def test_positions():
    output = embeddings_printed("embeddings_position_row", "positions")
    apart = client().ask(measure_positions)(DEFAULT_MODEL).standing_apart
    assert len(apart), "nothing to see"
    lines = output.splitlines()[-len(apart) :]
    assert [int(line.split()[0]) for line in lines] == (apart + 1).tolist()


def test_neighbours_analogy_and_axis():
    output = embeddings_printed("embeddings_neighbours", "words")
    left_out = ("piece", "unused", "special")
    found = client().ask(nearest_words)(DEFAULT_MODEL, "river", 10, "cosine", left_out)
    words = [line.split()[0] for line in output.splitlines()]
    assert words == list(found.neighbours.words)
    view = {"embeddings_words_view": "analogy"}
    first, *lines = embeddings_printed(
        "embeddings_analogy_all", "words", **view
    ).splitlines()
    three = ("king", "man", "woman")
    asked = three, "queen", 10, "cosine", left_out
    found = client().ask(solve_analogy)(DEFAULT_MODEL, *asked)
    assert floats(first) == [found.rank, found.rank_without_inputs]
    assert [line.split()[0] for line in lines] == list(found.nearest.words)
    view = {"embeddings_words_view": "axis", "embeddings_axis_words": "summer, fire"}
    view |= {"embeddings_axis_first": "cold", "embeddings_axis_second": "hot"}
    output = embeddings_printed("embeddings_axis", "words", **view)
    words, cosines, _ = zip(
        *(line.split() for line in output.splitlines()), strict=True
    )
    found = client().ask(project_words)(DEFAULT_MODEL, "cold", "hot", words)
    assert set(words) == {"summer", "fire"}
    np.testing.assert_allclose(np.array(cosines, float), found.cosines, atol=1e-6)


def test_the_vocabulary_map():
    output = embeddings_printed("embeddings_map", "map", embeddings_map_method="pca")
    found = client().ask(vocabulary_map)(DEFAULT_MODEL, 2, "pca")
    assert float(output.split()[0]) == pytest.approx(found.explained, abs=1e-6)


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


def test_senses_and_geometry():
    senses = "a | a bank\nb | the bank\na | one bank\nb | his bank"
    output = embeddings_printed(
        "embeddings_sense_cosines", "senses", embeddings_senses=senses
    )
    lines = read_lines(senses)
    asked = (lines.sentences, "bank", lines.labels)
    found = answer(client().ask(word_senses).about(DEFAULT_MODEL, *asked))
    for one, line in zip(found.separations, output.splitlines(), strict=True):
        expected = [one.score, one.within_cosine, one.between_cosine]
        assert floats(line)[1:] == pytest.approx(expected, abs=1e-6)
    topics = {"embeddings_topics": TOPICS}
    output = embeddings_printed("embeddings_dimensions", "geometry", **topics)
    lines = output.splitlines()
    assert len(lines) == 2 * num_states()
    sentences = tuple(line.split(" | ")[1] for line in TOPICS.splitlines())
    for layer, line in enumerate(lines[::2]):
        states = client().ask(vectors_at)(DEFAULT_MODEL, sentences, "token", layer)
        out = outlier_dimensions(states, 3.0)[0] + 1
        assert line.startswith(f"{layer} {out.tolist()} ")


def test_similar_contexts():
    text = "She turned off the light and went to bed."
    link = {"embeddings_panel": "contexts", "text": text, "token": "6"}
    app = opened_page("embeddings", "embeddings_contexts", **link)
    found = run_program(app)[0]["found"]
    shown = [f"{one.before}[{one.token}]{one.after}" for one in found.contexts]
    assert listed(app) == shown
    assert len(shown) == 20
