"""A model with a random number in every weight, and made-up words."""

from collections.abc import Collection

import numpy as np

from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.config import BertConfig
from bertviz_core.model.bert import Bert
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS, LoadReport


def random_model(
    config: BertConfig, heads: Collection[str] = ("mlm",), seed: int = 0
) -> LoadedModel:
    """Makes a model whose heads all matter: what changes nothing proves nothing.

    Its words, after the special tokens, are w0, w1 and so on.
    """
    model = Bert(config, heads)
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        drawn = rng.standard_normal(weight.shape, dtype="float32")
        mean = 1.0 if weight.path.endswith("gamma") else 0.0
        weight.assign(mean + drawn * (0.05 if len(weight.shape) > 1 else 0.1))
    num_words = config.vocab_size - len(SPECIAL_TOKENS)
    words = [f"w{index}" for index in range(num_words)]
    return LoadedModel(
        "random",
        model,
        BertTokenizer([*SPECIAL_TOKENS, *words]),
        (),
        LoadReport("huggingface", (), (), (), 0, ()),
    )
