import numpy as np
import pytest

from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain
from bertviz_core.explorer import Explorer
from tests.core.bundled import open_bundled
from tests.core.engine_waiting import ROOT, run_python

GOOGLE = ROOT / "tests" / "data" / "checkpoints" / "google_tiny"


def run(script, *arguments):
    return run_python(f"examples/{script}.py", *arguments).stdout.splitlines()


def test_a_head_of_a_google_checkpoint():
    lines = run("look_at_a_head", GOOGLE, "ab cab", 1, 0)
    trace = Explorer.open(str(GOOGLE)).trace("ab cab")
    tokens, probs = trace.tokenized.tokens, trace.attention[1, 0]
    assert len(lines) == len(tokens)
    for line, token, row in zip(lines, tokens, probs, strict=True):
        best = f"{tokens[row.argmax()]} ({row.max():.0%})"
        assert line.strip() == f"{token} looks most at {best}"


def test_masked_words_are_sampled():
    text = "The [MASK] sat."
    *steps, last = run("sample_masked_words", text, 5)
    explorer = open_bundled("bert-mini-en")
    start = start_chain(explorer, text, GibbsSettings(top_k=20, seed=1))
    ids = run_chain(explorer, start, 5).end.input_ids[0]
    assert len(steps) == 5
    assert last == " ".join(explorer.vocabulary[index] for index in ids)


def test_a_trace_is_read(tmp_path):
    path = tmp_path / "trace.npz"
    rng = np.random.default_rng(0)
    states = rng.normal(size=(1, 3, 4, 5)).astype("float32")
    np.savez(path, hidden_states=states)
    first, last = run("read_a_trace", path)
    assert "(1, 3, 4, 5)" in first
    lengths = np.linalg.norm(states[0].astype(float), axis=-1).mean(-1)
    assert last.endswith(str(lengths.round(2)))


@pytest.mark.tensorflow
def test_a_table_trains_a_classifier(tmp_path):
    table = tmp_path / "table.csv"
    lines = (ROOT / "assets/datasets/library_en.csv").read_text("utf-8").splitlines()
    table.write_text("\n".join(lines[:81]) + "\n", "utf-8")
    found = run("fine_tune_on_a_table", table, tmp_path / "out", "Water the fern.")
    shares = [line.split("%")[0] for line in found if "%  " in line][-3:]
    assert (tmp_path / "out" / "model.zip").is_file()
    assert shares
    assert all(0 <= float(share) <= 100 for share in shares)
