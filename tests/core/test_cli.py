import functools
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.cli import main
from bertviz_core.command_parts import download_progress
from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain
from bertviz_core.experiments.joint_filling import fill_masks
from bertviz_core.experiments.scoring import score_sentence
from bertviz_core.explorer import Explorer
from tests.core.bundled import open_bundled
from tests.core.checkpoint_copies import spare_rows_copy

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def opened_once():
    """Every command opens its model anew, as it is a process of its own elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Explorer, "open", lambda model_id, progress=None: open_bundled(model_id)
        )
        yield


@pytest.fixture(scope="module")
def explorer():
    return Explorer.open(DEFAULT_MODEL)


def run(*arguments, stdin=None):
    return CliRunner().invoke(main, list(arguments), input=stdin)


def test_models_lists_the_bundled_model():
    entries = json.loads(run("models", "--json").stdout)
    assert (DEFAULT_MODEL, "bundled") in {(e["model_id"], e["origin"]) for e in entries}
    assert DEFAULT_MODEL in run("models").stdout


def test_predict_prints_what_the_explorer_computes(explorer):
    result = run("predict", "Rain [MASK] and wind [MASK].", "--top-k", "3", "--json")
    printed = json.loads(result.stdout)
    expected = explorer.predict_masks("Rain [MASK] and wind [MASK].")
    assert printed["model"] == DEFAULT_MODEL
    assert printed["tokens"] == list(expected.tokenized.tokens)
    positions = [mask["position"] for mask in printed["masks"]]
    assert positions == expected.positions.tolist()
    for mask, logits in zip(printed["masks"], expected.logits, strict=True):
        assert len(mask["candidates"]) == 3
        first = mask["candidates"][0]
        assert first["id"] == logits.argmax()
        assert first["token"] == explorer.tokenizer.vocabulary[first["id"]]
        assert first["logit"] == pytest.approx(logits.max(), abs=1e-4)
        probability = np.exp(logits.max() - np.logaddexp.reduce(logits.astype("f8")))
        assert first["probability"] == pytest.approx(probability, abs=1e-5)


def test_rows_without_a_word_are_predicted_by_their_number(tmp_path):
    model = spare_rows_copy(tmp_path, num_spare=9)
    arguments = ("predict", "[MASK] a", "--model", str(model), "--top-k", "61")
    result = run(*arguments, "--json")
    assert result.exit_code == 0
    (mask,) = json.loads(result.stdout)["masks"]
    tokens = {found["id"]: found["token"] for found in mask["candidates"]}
    words = Explorer.open(str(model)).tokenizer.vocabulary
    spare = [f"[row {index}]" for index in range(52, 61)]
    assert [tokens[index] for index in range(61)] == [*words, *spare]
    assert "[row 60]" in run(*arguments).stdout


def test_temperature_divides_the_logits():
    plain, cold = (
        json.loads(run("predict", "A ___.", "--json", "--temperature", value).stdout)
        for value in ("1", "0")
    )
    assert plain["masks"][0]["candidates"][0]["probability"] < 1
    assert cold["masks"][0]["candidates"][0]["probability"] == 1.0


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["predict", "A ___."], "--temperature"),
        (["sample", "A ___."], "--top-p"),
        (["map-vocabulary"], "--perplexity"),
        (["pretrain"], "--stop-after-minutes"),
    ],
)
def test_a_number_is_one_within_its_range(command, option, value):
    refused = run(*command, option, value)
    assert refused.exit_code == 2
    assert f"Invalid value for '{option}'" in refused.stderr


def test_predict_reads_lines_and_goes_on_after_a_bad_one():
    result = run("predict", "-", stdin="One [MASK] .\nno mask\nTwo [MASK] .\n")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(line) for line in lines] == [
        ["masks", "model", "tokens"],
        ["error"],
        ["masks", "model", "tokens"],
    ]
    assert result.exit_code == 2
    assert "Received: lines=1;" in result.stderr


def test_trace_of_a_text_and_of_its_ids_agree(tmp_path):
    first, second = tmp_path / "text.npz", tmp_path / "ids.npz"
    assert run("trace", "--text", "It rains.", "--out", str(first)).exit_code == 0
    assert run("trace", "--inputs", str(first), "--out", str(second)).exit_code == 0
    with np.load(first) as from_text, np.load(second) as from_ids:
        assert set(from_text) == set(from_ids)
        assert from_text["hidden_states"].shape == (1, 7, 6, 256)
        assert from_text["attention_probs"].shape == (1, 6, 8, 6, 6)
        assert from_text["mlm_logits"].shape == (1, 6, 16384)
        assert from_text["nsp_logits"].shape == (1, 2)
        for name in from_text:
            np.testing.assert_array_equal(from_text[name], from_ids[name])


@pytest.mark.parametrize("model", ["~nobody-has-this-name/x", "a/" * 200 + "m", "\x01"])
def test_a_model_that_is_nowhere_is_a_sentence(model):
    result = run("predict", "The [MASK] barked.", "--model", model)
    assert result.exit_code == 2
    assert result.stderr.startswith("There is no model with this name.")
    assert result.stderr.count("\n") == 1


def saved(**arrays):
    return lambda path: np.savez(path, **arrays)


def damaged(path, place=3000):
    ids = np.random.default_rng(3).integers(0, 9999, (2, 4000))
    np.savez_compressed(path, input_ids=ids)
    content = bytearray(path.read_bytes())
    content[place : place + 40] = bytes(40)
    path.write_bytes(content)


def claims_too_much(path):
    header = io.BytesIO()
    shape = {"descr": "<i8", "fortran_order": False, "shape": (1, 10**15)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("input_ids.npy", header.getvalue())


def no_array(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("input_ids.npy", b"no array at all")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (saved(other=np.zeros((1, 2), int)), "two axes"),
        (saved(input_ids=np.zeros(3, int)), "two axes"),
        (saved(input_ids=np.zeros((1, 2))), "whole numbers"),
        (saved(input_ids=np.array([["a", "b"]])), "whole numbers. Received: <U1"),
        (saved(input_ids=np.zeros((1, 2), [("a", int)])), "whole numbers. Received:"),
        (saved(input_ids=np.full((1, 2), 16384)), "0 to 16383"),
        (saved(input_ids=np.full((1, 2), -1)), "from -1"),
        (
            saved(input_ids=np.ones((1, 2), int), token_type_ids=[[0, 2]]),
            "token_type_ids must hold whole numbers from 0 to 1",
        ),
        (saved(input_ids=np.array([[{}]], object)), "cannot be read"),
        (damaged, "cannot be read"),
        (functools.partial(damaged, place=100), "cannot be read"),
        (claims_too_much, "cannot be read"),
        (no_array, "two axes"),
    ],
)
def test_bad_arrays_end_in_a_sentence(tmp_path, write, said):
    write(tmp_path / "in.npz")
    out = tmp_path / "out.npz"
    result = run("trace", "--inputs", str(tmp_path / "in.npz"), "--out", str(out))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    "out", [".", "/", "no/such/folder/x.npz", "n" * 250, "n" * 300]
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(out, monkeypatch):
    monkeypatch.setattr(Explorer, "open", None)
    result = run("trace", "--text", "It rains.", "--out", out)
    assert result.exit_code == 2
    assert "Cannot write " in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["map-vocabulary", "--tsv"], "file/folder"),
        (["evaluate-mlm", "--cloze"], "nowhere.json"),
        (
            ["pretrain", "--config=my-text", "--out=a", "--prepare-only", "--corpus"],
            "n" * 300,
        ),
    ],
)
def test_what_the_disk_refuses_is_a_sentence(command, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    result = run(*command, name)
    assert result.exit_code == 2
    assert f"Cannot read or write {name}" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has none")
def test_a_full_disk_is_a_sentence_and_a_reader_that_leaves_is_none():
    command = [sys.executable, "-m", "bertviz_core", "models"]
    for place, said in (
        ("> /dev/full", b"Cannot read or write the output"),
        ("|:", b""),
    ):
        shell = ["sh", "-c", f'exec 3>&2; "$@" 2>&3 {place}', "sh", *command]
        told = subprocess.run(shell, check=False, cwd=ROOT, capture_output=True).stderr
        assert told.startswith(said)
        assert told.count(b"\n") == (said != b"")


def test_a_second_text_beside_ids_is_refused():
    result = run("trace", "--inputs", "i.npz", "--pair", "b", "--out", "o.npz")
    assert result.exit_code == 2
    assert "Give --pair with --text" in result.stderr


def test_a_download_says_how_far_it_is_and_nothing_else_does(capsys):
    tell = download_progress()
    for share in (0.0, 0.01, 0.049, 0.05, 0.33, 0.331, 1.0):
        tell(share, "download")
        tell(share, "read")
    told = capsys.readouterr()
    assert told.err.split("\n") == [
        "download: 0%", "download: 5%", "download: 33%", "download: 100%", ""
    ]  # fmt: skip
    assert told.out == ""


def test_a_model_is_opened_with_someone_told_of_the_download(monkeypatch):
    def open_slowly(model_id, progress=None):
        progress(0.5, "download")
        raise CheckpointError("The model is gone.")

    monkeypatch.setattr(Explorer, "open", open_slowly)
    result = run("predict", "The [MASK] barked.", "--model", "some/model")
    assert result.stderr == "download: 50%\nThe model is gone.\n"


def test_a_word_that_the_output_cannot_spell_does_not_end_the_program():
    encoding = "cp1252"  # of a file on Windows
    command = [sys.executable, "-m", "bertviz_core", "predict", "A [MASK]."]
    result = subprocess.run(
        [*command, "--top-k", "16384"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert result.stderr == b""
    assert result.returncode == 0
    lines = result.stdout.decode(encoding).splitlines()
    assert len(lines) == 16385
    assert any("\\u" in line for line in lines)


def test_convert_makes_a_model_that_predicts_the_same(tmp_path):
    folder = tmp_path / "copy"
    assert run("convert", DEFAULT_MODEL, str(folder)).exit_code == 0
    text = ("predict", "The [MASK] barked.", "--json")
    original, copy = (
        json.loads(run(*text, *model).stdout)
        for model in ((), ("--model", str(folder)))
    )
    assert copy["masks"] == original["masks"]


TEXT = "The [MASK] sat on the [MASK]."


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
