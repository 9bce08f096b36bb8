"""How far a model is from what Hugging Face's `transformers` computes of it."""

from dataclasses import dataclass

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.trace import Arrays


@dataclass(frozen=True)
class ReferenceCheck:
    """Our numbers beside the reference's."""

    # Name and version of the program that computed the reference, in float64, from the
    # same checkpoint.
    source: str
    made: str  # the day on which it did, as YYYY-MM-DD
    tokens: tuple[str, ...]  # what both read
    # The largest absolute difference, by the name of an output.
    differences: dict[str, float]
    # The largest absolute number of the reference, likewise.
    magnitudes: dict[str, float]


@task()
def check_against_reference(explorer: Explorer) -> ReferenceCheck | None:
    """Computes on this machine what the reference computed.

    `None` for a model that brings no `reference.npz`, as only the bundled ones do
    (`tests/make_golden.py` writes them).
    """
    from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER  # loads safetensors

    bundled = {path.parent.name for path in BUNDLED_FOLDER.glob("*/reference.npz")}
    if explorer.model_id not in bundled:
        return None
    ours, reference = outputs_beside_reference(explorer)
    tokens = tuple(explorer.vocabulary[i] for i in reference["input_ids"][0])
    source, made = reference["made"].tolist()
    return ReferenceCheck(
        source,
        made,
        tokens,
        {k: float(np.abs(ours[k] - reference[k]).max()) for k in ours},
        {k: float(np.abs(reference[k]).max()) for k in ours},
    )


def outputs_beside_reference(explorer: Explorer) -> tuple[Arrays, Arrays]:
    """What we compute, and what the reference computed, of the same tokens.

    The reference keeps R of the T tokens and W words of the vocabulary.

    Returns:
        Ours and theirs, by name: `hidden_states` `[1, L + 1, R, H]`,
        `attention_probs` `[1, L, N, R, T]`, `mlm_logits` `[1, R, W]`,
        `pooled_output` `[1, H]`, `nsp_logits` `[1, 2]`. Theirs has the inputs too.
    """
    from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER  # loads safetensors

    path = BUNDLED_FOLDER / explorer.model_id / "reference.npz"
    reference = dict(np.load(path, allow_pickle=False))
    rows, words = reference["rows"], reference["words"]
    inputs = {name: reference[name] for name in ("input_ids", "token_type_ids")}
    output = explorer.forward(inputs | {"mlm_positions": rows})
    ours = {
        "hidden_states": output["hidden_states"][:, :, rows],
        "attention_probs": output["attention_probs"][:, :, :, rows],
        "mlm_logits": output["mlm_logits"][None, :, words],
        "pooled_output": output["pooled_output"],
        "nsp_logits": output["nsp_logits"],
    }
    return ours, reference
