"""What can be changed in the middle of a forward pass."""

from dataclasses import dataclass

import numpy as np

from bertviz_core.config import BertConfig
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class Interventions(FrozenArrays):
    """Switches inside the network for one text; `None` leaves a part alone.

    Source: Head masks multiply what a head passes on, after its probabilities, as in
    Michel et al. 2019 (arXiv:1905.10650), equation 3.
    """

    # float [L, N]; 1 leaves a head, 0 switches it off.
    head_mask: np.ndarray | None = None
    # int [L or 1, N or 1, T, T]; 0 cuts the edge from the row's token to the column's
    # before the softmax. Each row keeps an edge.
    edge_mask: np.ndarray | None = None
    # float [L, I]; 0 silences a feed-forward neuron.
    neuron_mask: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edge_mask is not None and not self.edge_mask.any(axis=-1).all():
            # Masking adds a constant: a row cut whole would look uncut.
            raise ValueError("Each row of `edge_mask` must keep at least one edge.")

    def inputs(self, config: BertConfig, num_tokens: int) -> dict[str, np.ndarray]:
        """The given parts as inputs of `CompiledForward`, for a batch of one."""
        layers, heads = config.num_hidden_layers, config.num_attention_heads
        allowed: dict[str, list[tuple[int, ...]]] = {
            "head_mask": [(layers, heads)],
            "edge_mask": [
                (some_layers, some_heads, num_tokens, num_tokens)
                for some_layers in (layers, 1)
                for some_heads in (heads, 1)
            ],
            "neuron_mask": [(layers, config.intermediate_size)],
        }
        given = {name: getattr(self, name) for name in allowed}
        for name, array in given.items():
            if array is not None and array.shape not in allowed[name]:
                raise ValueError(
                    f"`{name}` must have one of the shapes {allowed[name]}. "
                    f"Received: shape={array.shape}."
                )
        return {name: a[None] for name, a in given.items() if a is not None}
