"""What experiments on words should find, by the oracle, one text at a time."""

import numpy as np
from scipy.special import log_softmax

from tests.core import oracle
from tests.core.random_models import VOCABULARY

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ALLOWED = [index for index, token in enumerate(VOCABULARY) if token not in SPECIAL]


class OracleWords:
    """Log-probabilities of words by the float64 oracle."""

    def __init__(self, model_and_weights):
        model, self.weights = model_and_weights
        self.config = model.config

    def log_probs(self, input_ids, token_type_ids, position):
        """float64 `[V]`."""
        inputs = {
            "input_ids": np.asarray(input_ids)[None],
            "token_type_ids": np.asarray(token_type_ids)[None],
            "mlm_positions": np.array([position]),
        }
        logits = oracle.forward(self.weights, self.config, inputs)["mlm_logits"]
        return log_softmax(logits[0])


def written(input_ids, changes):
    """A copy with other ids, by position."""
    changed = np.array(input_ids)
    changed[list(changes)] = list(changes.values())
    return changed


def cosine(one, other):
    one, other = one.astype(float), other.astype(float)
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))
