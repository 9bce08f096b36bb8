import numpy as np
import pytest

from bertviz_core.analysis.aggregation import attention_flow
from bertviz_core.errors import CheckpointError
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.after_training import compare_layers
from bertviz_core.experiments.attention_parts import value_zeroing
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.gibbs import run_chain, start_chain
from bertviz_core.experiments.joint_filling import MODES, best_pairs, fill_masks
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.maps import tsne_map
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.next_sentence import run_shuffled_test
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.scoring import score_sentence, score_words
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.experiments.whole_model import remove_tokens
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.tasks import untold
from bertviz_core.training.finetune.row_prediction import predict_rows
from tests.core.cause_models import explorer_named
from tests.core.finetune_samples import random_data

TEXT, OTHER, WORD = "the [MASK] sat [MASK]", "a [MASK] sat [MASK]", Target("mlm", 1, 2)
PAIRS = [("a", "e"), ("on", ".")]
LONG = {
    "ablation": lambda e, p: ablate_heads(e, TEXT, WORD, progress=p),
    "chain": lambda e, p: run_chain(e, start_chain(e, TEXT, GibbsSettings()), 25, p),
    "every position": lambda e, p: predict_every_position(e, TEXT, progress=p),
    "factors": lambda e, p: neuron_factors(e, e.trace(TEXT), 2, 0, progress=p),
    "flow": lambda e, p: attention_flow(e.trace(TEXT).attention, tell=p),
    "filling": lambda e, p: fill_masks(e, TEXT, MODES[0], progress=p),
    "layers": lambda e, p: compare_layers(e, e, random_data(), "cls", progress=p),
    "lens": lambda e, p: read_layers(e, TEXT, progress=p),
    "pairs": lambda e, p: best_pairs(e, TEXT, progress=p),
    "patching": lambda e, p: patch_hidden_states(e, TEXT, OTHER, WORD, progress=p),
    "removed tokens": lambda e, p: remove_tokens(e, e.trace(TEXT), 2, p),
    "residual": lambda e, p: residual_stream(e, e.trace(TEXT), p),
    "rows": lambda e, p: predict_rows(e, ["a", "mat on"], progress=p),
    "score": lambda e, p: score_sentence(e, "the cat", progress=p),
    "sentences": lambda e, p: sentence_states(e, ["a", "mat on"], progress=p),
    "shuffled": lambda e, p: run_shuffled_test(e, PAIRS, progress=p),
    "t-SNE": lambda _, p: tsne_map(np.eye(7), progress=p),
    "value zeroing": lambda e, p: value_zeroing(e, e.trace(TEXT), 0, p),
    "words": lambda e, p: score_words(e, TEXT, ["cat"], progress=p),
    "whole words": lambda e, p: find_whole_words(e, TEXT, 2, "pieces", progress=p),
}
TELL_WHAT_BEGINS = (
    *("ablation", "factors", "flow", "patching", "residual", "value zeroing"),
)
NEED_A_HEAD = (
    *("ablation", "chain", "every position", "filling", "lens", "pairs", "patching"),
    *("removed tokens", "score", "shuffled", "whole words", "words"),
)


@pytest.mark.parametrize("name", LONG)
def test_who_is_told_hears_how_it_goes_on_and_may_cancel(explorer, name):
    told = []
    LONG[name](explorer, lambda done, *_: told.append(done))
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1
    if name not in TELL_WHAT_BEGINS:
        assert told[-1] == pytest.approx(1)

    def cancel(*_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        LONG[name](explorer, cancel)


@pytest.mark.parametrize("name", NEED_A_HEAD)
def test_a_model_without_the_head_is_refused(name):
    with pytest.raises(CheckpointError, match=r"has no trained (MLM|NSP) head"):
        LONG[name](explorer_named("headless"), untold)
