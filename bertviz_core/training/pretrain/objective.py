"""The two tasks of pre-training: guess hidden words, tell the next sentence."""

import functools
from typing import Any

import keras
from keras import ops

from bertviz_core.model.bert import Bert, with_pattern
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.taps import Taps, Tensor
from bertviz_core.training.distribution import has_hosts, num_replicas


class PretrainingModel(keras.Model):
    """A BERT with the losses of both tasks, for `fit`.

    Differs from `Bert.call`: a row holds several sequences that do not see each other,
    words are scored at the places to guess alone, and no attention is kept.

    Args:
        bert: to train, with the heads "pooler", "mlm" and "nsp".
        remat: so many blocks in a row keep what enters the first of them alone, and are
            computed anew for their gradient; 0 keeps all that they compute.

    Call arguments:
        inputs: dict of int32 arrays, see `batches.assemble`, and of `mlm_positions`
            `[B, P]`; and optional `layer_scales` float `[B, L]`, the same in every row,
            0 to leave a block out.

    Returns:
        A dict: `mlm_logits` float32 `[B, P, V]`, `nsp_logits` float32 `[B, S, 2]`.

    Source: Devlin et al. 2019, section 3.1. Decoder at the hidden places only:
    google-research/bert, `run_pretraining.py`, `gather_indexes`. Several sequences in a
    row: Krell et al. 2021 (arXiv:2107.02027), section 3.3. Blocks anew: Chen et al.
    2016 (arXiv:1604.06174), section 4.
    """

    def __init__(self, bert: Bert, remat: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bert = bert
        self.remat = remat
        names = ("mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy")
        self.means = {name: keras.metrics.Mean(name=name) for name in names}
        self.built = True  # a Bert builds itself

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None):  # type: ignore[no-untyped-def]
        """Does nothing: all is built. Keras 3.15 fails here on several hosts."""

    def call(
        self, inputs: dict[str, Tensor], training: bool | None = None
    ) -> dict[str, Tensor]:
        states = self.encode(inputs, training)  # [B, T, H]
        asked = inputs["mlm_positions"]
        hidden = gathered(states, asked)  # [B, P, H]
        found = self.bert.read(
            gathered(states, inputs["cls_positions"]),  # [B, S, H]
            ops.reshape(hidden, (-1, self.bert.config.hidden_size)),  # [B * P, H]
            training=training,
        )
        shape = (*ops.shape(asked), self.bert.config.vocab_size)
        return {
            "mlm_logits": ops.cast(ops.reshape(found["mlm_logits"], shape), "float32"),
            "nsp_logits": ops.cast(found["nsp_logits"], "float32"),
        }

    def encode(self, inputs: dict[str, Tensor], training: bool | None) -> Tensor:
        """The last hidden state, float `[B, T, H]`; `inputs` as in the class."""
        bert, positions = self.bert, inputs["position_ids"]
        owners = inputs["sequence_ids"][:, None]  # [B, 1, K]
        same = ops.equal(ops.swapaxes(owners, 1, 2), owners)
        # 1 where two tokens are of one sequence, not padding.
        same = ops.cast(ops.logical_and(same, owners > 0), "int32")
        mask = with_pattern(bert.config, positions, same)  # [B, Q, K]
        states = bert.embeddings(
            inputs["input_ids"], inputs["token_type_ids"], positions, training=training
        )
        scales = inputs.get("layer_scales") if training else None

        def through(states: Tensor, first: int) -> Tensor:
            for index in range(num_blocks)[first : first + size]:
                scale = None if scales is None else scales[0, index]
                states = self._block(bert.blocks[index], states, mask, scale, training)
            return states

        num_blocks = len(bert.blocks)
        anew = training and self.remat
        size = self.remat if anew else num_blocks
        for first in range(0, num_blocks, size):
            run = functools.partial(through, first=first)
            # Around what `_block` chooses: inside, TensorFlow finds no gradient of it.
            states = (keras.remat(run) if anew else run)(states)
        return bert.after_blocks(states)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        """Mean over the places to guess plus, over the rows, the sum of their pairs.

        So pairs count the more, the more of them fill a row. Divides by the room for
        them, filled or not, so that the parts of a batch, on several devices or one
        after the other, add up to the whole. What is reported is the mean over the
        filled ones.

        Labels `y` are `mlm_labels` int, `mlm_weights` float `[B, P]`, `nsp_labels` int,
        `nsp_weights` float `[B, S]`.
        """
        mlm = self._task("mlm", y, y_pred)
        nsp = self._task("nsp", y, y_pred)
        return total_loss(mlm, nsp) / num_replicas()

    def _task(self, name: str, y: Any, y_pred: Any) -> Tensor:
        """Weighed losses of one task; counts them for the report."""
        logits, labels = y_pred[f"{name}_logits"], y[f"{name}_labels"]
        weights = y[f"{name}_weights"]
        losses = losses_of(logits, labels)
        # `argmax` takes four passes over the scores with Keras on TensorFlow.
        is_right = ops.cast(ops.top_k(logits, 1)[1][..., 0], "int32") == labels
        self.means[f"{name}_loss"].update_state(losses, weights)
        self.means[f"{name}_accuracy"].update_state(
            ops.cast(is_right, "float32"), weights
        )
        return losses * weights

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Tensor]:
        """Means since the last report, by name; `compute_loss` counted them."""
        means = self.get_metrics_result()
        if has_hosts():  # Keras takes the mean over the hosts along an axis
            return {name: value[None] for name, value in means.items()}
        return means

    def _block(
        self,
        block: EncoderBlock,
        states: Tensor,
        mask: Tensor,
        scale: Tensor | None,
        training: bool | None,
    ) -> Tensor:
        taps = Taps()
        if scale is not None:  # what either half adds
            by = ops.cast(scale, self.compute_dtype)
            taps = Taps(scale={"attention.output": by, "mlp.output": by})

        def through(states: Tensor) -> Tensor:
            return block(states, mask, tap=taps, training=training)[0]

        if scale is None:
            return through(states)
        return ops.cond(scale > 0, lambda: through(states), lambda: states)


def losses_of(logits: Tensor, labels: Tensor) -> Tensor:
    """-ln p(label), in nats: float `[..., C]` and int `[...]` to float `[...]`."""
    return ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def total_loss(mlm: Tensor, nsp: Tensor) -> Tensor:
    """The sum of both tasks from the weighted losses `[B, P]` and `[B, S]`."""
    # Each pair counts the same: its room in the row is no part of the mean.
    return ops.mean(mlm) + ops.mean(ops.sum(nsp, axis=-1))


def gathered(states: Tensor, positions: Tensor) -> Tensor:
    """Float `[B, T, H]` at int `[B, P]`: float `[B, P, H]`."""
    batch, tokens, size = ops.shape(states)
    first = ops.arange(batch, dtype="int32")[:, None] * tokens  # [B, 1]
    flat = ops.reshape(states, (-1, size))
    return ops.take(flat, positions + first, axis=0)
