"""The programs that the masked-word page shows give the numbers that it shows."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.masked_word import percent
from tests.app import real_pages
from tests.app.real_pages import finished, said, specs, table
from tests.app.real_pages import run_program as run_code
from tests.core import checkpoint_copies
from tests.core.sent_figures import numbers

HF = str(checkpoint_copies.HF)


TWO_MASKS = "He was born in [MASK] 1950 in New [MASK], United States."


def open_page(code: str, **params: str) -> AppTest:
    """Opens a panel with its program unfolded, and waits for its jobs."""
    return finished(
        real_pages.open_page("masked_word", state={f"{code}_code": True}, **params)
    )


def figure(app: AppTest) -> dict:
    return specs(app)[-1]


pytestmark = pytest.mark.usefixtures("opened")


@pytest.mark.parametrize("alone", ["false", "true"])
def test_the_likeliest_words_come_out_of_the_program(alone):
    app = open_page(
        "masked_candidates",
        text=TWO_MASKS,
        token="10",
        masked_shown="17",
        masked_words_alone=alone,
    )
    _, printed = run_code(app)
    lines = [line.split() for line in printed.splitlines()[:-1]]
    bars = specs(app)[0]["data"][0]
    shown = numbers(bars["x"])[:-1]  # the last bar is that of all other words
    assert len(lines) == len(shown) == 17
    np.testing.assert_allclose([float(line[2]) for line in lines], shown, rtol=1e-4)
    assert all(word in shown[0] for (word, *_), shown in
               zip(lines, bars["customdata"], strict=False))  # fmt: skip
    if alone == "true":
        assert all(line[0].isalnum() for line in lines)


def test_settings_and_draws_come_out_of_the_program():
    app = open_page(
        "masked_candidates",
        masked_temperature="1.4",
        masked_top_k="30",
        masked_top_p="0.9",
        masked_seed="5",
        masked_draws="77",
    )
    names, printed = run_code(app)
    bits, choices = (float(word) for word in printed.splitlines()[-2].split())
    assert app.metric[0].value == f"{bits:.2f} bits"
    assert app.metric[1].value == f"{choices:,.1f} words"
    assert len(names["draws"]) == 77
    words = names["explorer"].tokenizer.vocabulary
    first = ", ".join(words[i] for i in names["draws"][:10])
    assert any(text.value.endswith(f": {first}.") for text in app.caption)


@pytest.mark.parametrize("mode", ["most_confident_first", "independent"])
def test_a_filling_comes_out_of_the_program(mode):
    app = open_page(
        "masked_filling",
        masked_panel="fill",
        masked_fill_mode=mode,
        text=TWO_MASKS,
    )
    names, _ = run_code(app)
    steps = names["filling"].steps
    assert list(table(app)["Word"]) == [step.token for step in steps]
    assert list(table(app)["Probability"]) == [
        percent(float(np.exp(step.log_prob))) for step in steps
    ]


def test_pairs_come_out_of_the_program():
    app = open_page(
        "masked_pairs",
        masked_panel="fill",
        masked_fill_mode="pairs",
        text=TWO_MASKS,
    )
    names, _ = run_code(app)
    pairs = names["pairs"]
    assert list(zip(*(table(app)[c] for c in ("First word", "Second word")),
                    strict=True)) == list(pairs.tokens)  # fmt: skip
    points = figure(app)["data"][-1]
    np.testing.assert_allclose(
        numbers(points["x"]), np.exp(pairs.log_prob_forward), rtol=1e-3
    )
    shown = table(app)
    assert shown["First mask first"][0] == percent(np.exp(pairs.log_prob_forward[0]))
    assert shown["Second mask first"][0] == percent(np.exp(pairs.log_prob_backward[0]))
    apart = np.abs(pairs.log_prob_forward - pairs.log_prob_backward).max()
    assert f"a factor of up to {np.exp(apart):,.3g}." in said(app)
    app.text_area(key="text").set_value("One [MASK].").run()
    assert "exactly two masks" in said(finished(app))


def test_a_chain_comes_out_of_the_program():
    app = open_page(
        "masked_gibbs",
        masked_panel="gibbs",
        masked_gibbs_start="masks",
        masked_gibbs_steps="23",
        masked_gibbs_burn_in="4",
        masked_gibbs_top_k="40",
        masked_gibbs_temperature="0.7",
        masked_gibbs_order="in_order",
        masked_gibbs_length="5",
    )
    app.button(key="masked_gibbs_go").click().run()
    names, _ = run_code(finished(app))
    shown = app.session_state["masked_chain"].run
    np.testing.assert_array_equal(names["run"].new_ids, shown.new_ids)
    assert app.metric[4].value == percent(names["run"].change_rate)


def test_scores_of_words_come_out_of_the_program():
    app = open_page(
        "masked_word_scores",
        masked_panel="score",
        masked_score_words="rome, unbelievable",
    )
    names, _ = run_code(app)
    found = dict(zip(table(app)["Word"], table(app)["Log-probability"], strict=True))
    assert found == {
        score.word: pytest.approx(score.log_prob, abs=1e-3) for score in names["scores"]
    }
    pieces = dict(zip(table(app)["Word"], table(app)["Pieces"], strict=True))
    assert pieces["unbelievable"] == " ".join(names["scores"][1].tokens)


def test_the_score_of_a_sentence_comes_out_of_the_program():
    app = open_page(
        "masked_sentence_score",
        masked_panel="score",
        masked_score_kind="sentence",
        masked_score_variant="naive",
        masked_score_text='He said: "unbelievable".',
    )
    names, _ = run_code(app)
    assert app.metric[3].value == f"{names['score'].log_prob:.2f}"
    np.testing.assert_allclose(
        numbers(figure(app)["data"][0]["x"]), names["score"].log_probs, atol=1e-3
    )


def test_a_minimal_pair_comes_out_of_the_program():
    app = open_page(
        "masked_minimal_pair", masked_panel="score", masked_score_kind="pair"
    )
    names, _ = run_code(app)
    pair = names["pair"]
    assert app.metric[3].value == f"{pair.first.log_prob:.2f}"
    assert app.metric[4].value == f"{pair.second.log_prob:.2f}"
    winner = "first" if pair.difference > 0 else "second"
    assert f"prefers the **{winner}** sentence" in said(app)


def test_a_comparison_comes_out_of_the_program():
    app = open_page(
        "masked_comparison",
        masked_panel="compare",
        text="The doctor said that [MASK] was tired.",
    )
    names, printed = run_code(app)
    divergence = names["found"].divergence_bits
    assert any(f"{divergence:.3f} of at most" in c.value for c in app.caption)
    shown = [word for frame in app.dataframe for word in frame.value["Word"]]
    assert [line.split()[0] for line in printed.splitlines()[1:]] == shown
    nurse = "The nurse said that [MASK] was tired."
    assert app.text_input(key="masked_other").value == nurse
    assert "stereotypes" in said(app)


def test_the_lens_comes_out_of_the_program():
    app = open_page("masked_lens_rank", masked_panel="lens", masked_lens_word="rome")
    names, printed = run_code(app)
    ranks = [int(line.split()[-1]) for line in printed.splitlines()]
    np.testing.assert_array_equal(numbers(figure(app)["data"][0]["y"]), ranks)
    assert names["lens"].word_tokens == ("rome",)


def test_the_layers_of_one_word_and_of_two_come_out_of_the_program():
    app = open_page("masked_why_layers", masked_panel="why", masked_why_look="layers")
    for num_words in (1, 2):
        _, printed = run_code(app)
        rows = [
            list(map(int, line.split()[-num_words:])) for line in printed.splitlines()
        ]
        curves = figure(app)["data"][:num_words]
        for column, curve in zip(np.array(rows).T, curves, strict=True):
            np.testing.assert_array_equal(numbers(curve["y"]), column)
        app.toggle(key="masked_why_contrast").set_value(True).run()
        finished(app)


def test_important_heads_come_out_of_the_program():
    app = open_page("masked_why_heads", masked_panel="why", masked_why_look="heads")
    names, _ = run_code(app)
    np.testing.assert_allclose(
        np.array(figure(app)["data"][0]["z"], float),
        100 * names["found"].delta_probabilities,
        atol=0.01,
    )
    # The head that helps most is named with what its loss costs.
    changes = names["found"].delta_probabilities
    layer, head = np.argwhere(changes == changes.min())[0]
    worst = f"layer {layer + 1}, head {head + 1} ({100 * changes.min():+.1f})"
    assert worst in said(app)


def test_every_position_comes_out_of_the_program():
    app = open_page(
        "masked_positions_map", masked_panel="positions", masked_positions_how="seen"
    )
    names, _ = run_code(app)
    assert names["found"].masked is False
    assert not app.dataframe
    np.testing.assert_allclose(
        table(app, "masked_positions_map")["Surprisal (bits)"],
        names["found"].surprisal_bits,
        atol=1e-3,
    )


def test_whole_words_come_out_of_the_program():
    app = open_page("masked_whole_words", masked_panel="whole", masked_whole_size="3")
    names, _ = run_code(app)
    assert names["found"].ids.shape[1] == 3
    shown = table(app, "masked_whole_words")["Word"]
    assert list(shown) == list(names["found"].words[:20])


def test_both_gelus_come_out_of_the_program():
    app = open_page("masked_gelu", masked_panel="gelu")
    names, _ = run_code(app)
    assert app.metric[4].value == f"{names['found'].largest_differences[0]:.2g}"


def test_the_next_sentence_comes_out_of_the_program():
    app = open_page(
        "masked_next",
        masked_panel="next",
        model=HF,
        text="ab [MASK]",
        masked_next_first='cab "b"',
        masked_next_second="ba\nab",
    )
    names, _ = run_code(app)
    assert app.metric[3].value == percent(names["found"].probability)
    assert app.metric[4].value == percent(names["found"].probability_swapped)


def test_a_shuffled_test_comes_out_of_the_program_also_with_random_weights():
    app = open_page(
        "masked_shuffled",
        masked_panel="next",
        model=HF,
        text="ab [MASK]",
        masked_next_first="ab",
        masked_next_second="ba",
        masked_next_passages="Ab. Cab. Ba.\nDa. Fo.",
        masked_next_seed="4",
    )
    found = run_code(app)[0]["found"]
    assert found.num_pairs == 3
    assert app.metric[5].value == percent(found.accuracy)
    assert f"{found.num_right} of 6 answers" in app.metric[5].delta
    shown = table(app, "masked_shuffled")["Probability of “is next”"]
    assert list(shown) == [*found.probabilities, *found.shuffled]
    app.toggle(key="masked_next_random").set_value(True).run()
    app.button(key="job_masked_shuffled_random_start").click().run()
    names, _ = run_code(finished(app))
    accuracies = [names[name].accuracy for name in ("found", "random")]
    shown = [metric.value for metric in app.metric[-2:]]
    assert shown == [percent(value) for value in accuracies]


def test_a_hostile_text_runs_nothing_but_the_program():
    text = '\'); raise SystemExit #" \\ {model} [MASK]\n"""'
    app = open_page("masked_candidates", text=text)
    names, printed = run_code(app)
    assert len(printed.splitlines()) == 11
    assert "SystemExit" not in names
