"""What pre-training would ask of one text, and how wrong the answers are.

M pieces are drawn; P is the room for them in a row of this length.
"""

from dataclasses import dataclass

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.trace import FrozenArrays, TokenizedText
from bertviz_core.training.pretrain.masking import TokenKinds, choose_positions, hide
from bertviz_core.training.pretrain.settings import MaskingSettings


@dataclass(frozen=True)
class HiddenRows(FrozenArrays):
    """A text as pre-training hides it, B times."""

    read: TokenizedText  # the text
    input_ids: np.ndarray  # int32 [B, T], what the model reads instead
    positions: np.ndarray  # [B, P], see `choose_positions`
    weights: np.ndarray  # [B, P], see `choose_positions`

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        types = np.tile(self.read.token_type_ids, (len(self.input_ids), 1))
        return {"input_ids": self.input_ids, "token_type_ids": types}


@dataclass(frozen=True)
class Objective(FrozenArrays):
    """Both losses of a text, in nats."""

    tokens: tuple[str, ...]  # T pieces, before any was hidden
    positions: np.ndarray  # int32 [M], those to be guessed
    shown: tuple[str, ...]  # M pieces that stand there instead
    fates: tuple[str, ...]  # M times "mask", "random" or "kept"
    losses: np.ndarray  # float64 [M], -ln p(the true piece)
    mlm_loss: float  # their sum divided by P
    num_places: int  # P
    # -ln p(what the second text is); `None` without one or its head.
    nsp_loss: float | None
    total: float  # what pre-training makes smaller


def hide_text(
    explorer: Explorer, read: TokenizedText, seed: int, rate: float, num_rows: int = 1
) -> HiddenRows:
    """Draws and hides pieces by the code of pre-training, in each row anew."""
    kinds = TokenKinds.of(explorer.tokenizer.vocabulary)
    settings, rng = MaskingSettings(rate=rate), np.random.default_rng(seed)
    ids = np.tile(read.input_ids, (num_rows, 1))
    positions, weights = choose_positions(ids, kinds, settings, rng)
    hidden, _ = hide(ids, positions, weights, kinds, settings, rng)
    return HiddenRows(read, hidden, positions, weights)


@task()
def objective_of(
    explorer: Explorer,
    text: str,
    pair: str | None = None,
    seed: int = 0,
    rate: float = 0.15,
    is_next: bool = True,
) -> Objective:
    """Hides pieces of a text, cut, has the model guess them, and adds up the losses.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1 and appendix A.
    """
    from bertviz_core.training.pretrain.objective import losses_of, total_loss

    explorer.require_head("mlm")
    read = explorer.tokenize(text, pair, cut=True)
    rows = hide_text(explorer, read, seed, rate)
    positions = np.sort(rows.positions[rows.weights > 0])
    has_pair = bool(pair) and "nsp" in explorer.loaded.model.heads
    found = explorer.forward(
        rows.inputs | {"mlm_positions": positions},
        ("mlm_logits", "nsp_logits")[: 1 + has_pair],
    )
    labels, shown = read.input_ids[positions], rows.input_ids[0, positions]
    # Room that nothing was drawn for counts with a loss of 0.
    mlm, nsp = np.zeros_like(rows.weights), np.zeros((1, 1), "float32")
    if len(labels):
        mlm[0, : len(labels)] = losses_of(found["mlm_logits"], labels)
    if has_pair:
        nsp[0] = losses_of(found["nsp_logits"], np.array([1 - is_next], "int32"))
    return Objective(
        tokens=read.tokens,
        positions=positions,
        shown=tuple(explorer.vocabulary[index] for index in shown.tolist()),
        fates=tuple(
            "kept" if new == old else "mask" if new == read.mask_token_id else "random"
            for new, old in zip(shown.tolist(), labels.tolist(), strict=True)
        ),
        losses=mlm[0, : len(labels)].astype("float64"),
        mlm_loss=float(mlm.mean()),
        num_places=mlm.size,
        nsp_loss=float(nsp[0, 0]) if has_pair else None,
        total=float(total_loss(mlm, nsp)),
    )
