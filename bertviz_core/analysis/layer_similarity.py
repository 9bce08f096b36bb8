"""How alike the layers of a network see the tokens of a text.

L layers, T tokens, H hidden size.
"""

import numpy as np

# Of two layers, X and Y `[T, H]`, the mean of each column taken off; LaTeX.
FORMULA = (
    r"\operatorname{CKA}(X, Y) = \frac{\lVert Y^\top X \rVert_F^2}"
    r"{\lVert X^\top X \rVert_F \, \lVert Y^\top Y \rVert_F}"
)


def layer_similarities(hidden_states: np.ndarray) -> np.ndarray:
    """Linear centred kernel alignment (CKA) of every two layers.

    Each layer is told by how its tokens lie to each other; turning or stretching
    all vectors of a layer alike changes nothing. With fewer tokens than dimensions
    all values lie too high, so those of one text may be compared with each other,
    not with those of another.

    Args:
        hidden_states: float `[L + 1, T, H]`, the embeddings first; T at least 2.

    Returns:
        float64 `[L + 1, L + 1]`, symmetric, in [0, 1], 1 on the diagonal; NaN for a
        layer whose vectors are all equal.

    Source: Kornblith et al. 2019 (arXiv:1905.00414), section 3, "linear kernel", and
    table 1.
    """
    if hidden_states.ndim != 3 or hidden_states.shape[1] < 2:
        raise ValueError(
            "`hidden_states` must be `[L + 1, T, H]` with at least two tokens. "
            f"Received: shape={hidden_states.shape}."
        )
    states = np.asarray(hidden_states, np.float64)
    centred = states - states.mean(axis=1, keepdims=True)
    # Products of tokens, not of dimensions: there are fewer of them in most texts.
    kernels = centred @ centred.swapaxes(1, 2)  # [L + 1, T, T]
    flat = kernels.reshape(len(kernels), -1)
    lengths = np.linalg.norm(flat, axis=1)
    lengths[lengths == 0] = np.nan
    flat = flat / lengths[:, None]
    found: np.ndarray = np.clip(flat @ flat.T, 0.0, 1.0)
    return found
