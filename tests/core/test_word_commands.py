import json

import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain
from bertviz_core.experiments.joint_filling import fill_masks
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.explorer import Explorer
from tests.core.test_cli import opened_once, run

__all__ = ["opened_once"]  # a fixture of every test of a file that has it
TEXT = "The [MASK] sat on the [MASK]."


@pytest.fixture(scope="module")
def explorer():
    return Explorer.open(DEFAULT_MODEL)


def answered(*arguments, **more):
    result = run(*arguments, "--json", **more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_sample_draws_the_chains_of_its_settings(explorer):
    options = ("--steps", "4", "--order", "in_order", "--temperature", "1.5")
    more = ("--top-k", "20", "--top-p", "0.9", "--seed", "3", "--chains", "2")
    found = answered("sample", TEXT, *options, *more)
    settings = GibbsSettings(1.5, 20, 0.9, "in_order", 3, 2)
    expected = run_chain(explorer, start_chain(explorer, TEXT, settings), 4)
    for chain, told in enumerate(found["chains"]):
        ids = expected.end.input_ids[chain]
        assert told["tokens"] == [explorer.vocabulary[i] for i in ids]
        assert [step["position"] for step in told["steps"]] == [1, 2, 3, 4]
        for step, one in enumerate(told["steps"]):
            assert one["new"] == explorer.vocabulary[expected.new_ids[step, chain]]
            assert one["log_prob"] == expected.log_probs[step, chain]
    lines = run("sample", TEXT, *options, *more).stdout.splitlines()
    assert lines == [" ".join(chain["tokens"]) for chain in found["chains"]]


def test_sample_leaves_words_alone_if_told_so(explorer):
    (chain,) = answered("sample", TEXT, "--only-masks", "--steps", "6")["chains"]
    assert {step["position"] for step in chain["steps"]} == {2, 6}
    kept = [t for i, t in enumerate(chain["tokens"]) if i not in (2, 6)]
    tokens = explorer.tokenize(TEXT).tokens
    assert kept == [t for i, t in enumerate(tokens) if i not in (2, 6)]
    refused = run("sample", "No mask.", "--only-masks")
    assert refused.exit_code == 2
    assert "There is no [MASK]" in refused.stderr


@pytest.mark.parametrize(
    "mode", ["most_confident_first", "left_to_right", "independent"]
)
def test_fill_fills_all_masks_together(explorer, mode):
    found = answered("fill", TEXT.replace("[MASK]", "___"), "--mode", mode)
    expected = fill_masks(explorer, TEXT, mode)
    assert found["log_prob"] == expected.log_prob
    assert [step["token"] for step in found["steps"]] == [
        step.token for step in expected.steps
    ]
    assert "[MASK]" not in found["tokens"]
    printed = run("fill", TEXT, "--mode", mode).stdout
    assert printed.startswith(" ".join(found["tokens"]))


@pytest.mark.parametrize("variant", ["naive", "within_word"])
def test_score_is_the_pseudo_likelihood(explorer, variant):
    text = "Unbelievable kettles boil."
    option = ("--within-word",) if variant == "within_word" else ()
    found = answered("score", text, *option)
    expected = score_sentence(explorer, text, variant=variant)
    assert found["log_prob"] == expected.log_prob
    assert found["perplexity"] == expected.perplexity
    assert [one["rank"] for one in found["tokens"]] == expected.ranks.tolist()
    printed = run("score", text, *option).stdout.splitlines()
    assert len(printed) == len(expected.positions) + 1
    assert f"{expected.perplexity:.2f}" in printed[-1]


@pytest.mark.parametrize("command", ["sample", "fill", "score"])
def test_lines_of_standard_input_are_answered_one_by_one(command):
    result = run(command, "-", stdin="A [MASK] here.\n\nThe [MASK] again.\n")
    first, bad, last = map(json.loads, result.stdout.splitlines())
    assert first["model"] == last["model"] == DEFAULT_MODEL
    assert list(bad) == ["error"]
    assert result.exit_code == 2
