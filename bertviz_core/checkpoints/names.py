"""ONE table of names: ours, Google's TensorFlow 1 and Hugging Face's.

It serves loading and saving. Shapes are ours, in letters: V vocabulary, P positions, S
segment types, H hidden size, I intermediate size, C classes, and 2. A `kind` is
"google" or "huggingface".

Sources: google-research/bert, `modeling.py`, `run_pretraining.py` and
`run_classifier.py`; Hugging Face `transformers`, `modeling_bert.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bertviz_core.config import BertConfig

Shape = tuple[int, ...]

GOOGLE, HUGGINGFACE = "google", "huggingface"

# Values of an optimiser in a Google checkpoint: Adam's and LAMB's moments (two
# spellings), step counters, powers of beta.
OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v", "/Adam", "/Adam_1", "/lamb_m", "/lamb_v")
OPTIMIZER_NAMES = ("global_step", "beta1_power", "beta2_power", "good_steps")


@dataclass(frozen=True)
class Row:
    """One weight, or one in every layer, by its three names."""

    part: str  # "encoder", or the head it belongs to
    ours: str  # path of the Keras variable; `{i}` stands for the layer
    google: str  # name in a TensorFlow 1 checkpoint; "" where there is none
    huggingface: str  # name in a `model.safetensors`; "" where there is none
    axes: str  # letters of our shape

    def stored_name(self, kind: str) -> str:
        return self.google if kind == GOOGLE else self.huggingface


def _rows(
    part: str, ours: str, google: str, huggingface: str, *ends: tuple[str, str, str]
) -> list[Row]:
    """One for each end: ours and Google's, Hugging Face's, and the axes."""
    return [
        Row(
            part,
            f"bert/{ours}/{end}",
            f"{google}/{end}" if google else "",
            f"{huggingface}.{theirs}",
            axes,
        )
        for end, theirs, axes in ends
    ]


def _dense(part: str, ours: str, google: str, huggingface: str, axes: str) -> list[Row]:
    ends = (("kernel", "weight", axes), ("bias", "bias", axes[1]))
    return _rows(part, ours, google, huggingface, *ends)


def _norm(part: str, ours: str, google: str, huggingface: str) -> list[Row]:
    ends = (("gamma", "weight", "H"), ("beta", "bias", "H"))
    return _rows(part, ours, google, huggingface, *ends)


_G, _H = "bert/encoder/layer_{i}", "bert.encoder.layer.{i}"

# fmt: off
TABLE: tuple[Row, ...] = (
    *_rows("encoder", "embeddings", "bert/embeddings", "bert.embeddings",
           ("word_embeddings", "word_embeddings.weight", "VH"),
           ("position_embeddings", "position_embeddings.weight", "PH"),
           ("token_type_embeddings", "token_type_embeddings.weight", "SH")),
    *_norm("encoder", "embeddings/layer_norm",
           "bert/embeddings/LayerNorm", "bert.embeddings.LayerNorm"),
    *_dense("encoder", "layer_{i}/attention/query",
            f"{_G}/attention/self/query", f"{_H}.attention.self.query", "HH"),
    *_dense("encoder", "layer_{i}/attention/key",
            f"{_G}/attention/self/key", f"{_H}.attention.self.key", "HH"),
    *_dense("encoder", "layer_{i}/attention/value",
            f"{_G}/attention/self/value", f"{_H}.attention.self.value", "HH"),
    *_dense("encoder", "layer_{i}/attention_output",
            f"{_G}/attention/output/dense", f"{_H}.attention.output.dense", "HH"),
    *_norm("encoder", "layer_{i}/attention_norm",
           f"{_G}/attention/output/LayerNorm", f"{_H}.attention.output.LayerNorm"),
    *_dense("encoder", "layer_{i}/feed_forward/intermediate",
            f"{_G}/intermediate/dense", f"{_H}.intermediate.dense", "HI"),
    *_dense("encoder", "layer_{i}/feed_forward/output",
            f"{_G}/output/dense", f"{_H}.output.dense", "IH"),
    *_norm("encoder", "layer_{i}/output_norm",
           f"{_G}/output/LayerNorm", f"{_H}.output.LayerNorm"),
    # Ours alone: neither Google nor Hugging Face has pre-norm BERT.
    *_norm("final_norm", "final_norm", "", "bert.final_norm"),
    *_dense("pooler", "pooler/dense",
            "bert/pooler/dense", "bert.pooler.dense", "HH"),
    *_dense("mlm", "mlm/transform",
            "cls/predictions/transform/dense", "cls.predictions.transform.dense", "HH"),
    *_norm("mlm", "mlm/transform_norm", "cls/predictions/transform/LayerNorm",
           "cls.predictions.transform.LayerNorm"),
    Row("mlm", "bert/mlm/bias",
        "cls/predictions/output_bias", "cls.predictions.bias", "V"),
    Row("nsp", "bert/nsp/dense/kernel",
        "cls/seq_relationship/output_weights", "cls.seq_relationship.weight", "H2"),
    Row("nsp", "bert/nsp/dense/bias",
        "cls/seq_relationship/output_bias", "cls.seq_relationship.bias", "2"),
    Row("classifier", "bert/classifier/dense/kernel",
        "output_weights", "classifier.weight", "HC"),
    Row("classifier", "bert/classifier/dense/bias",
        "output_bias", "classifier.bias", "C"),
)
# fmt: on

# Copies that `transformers` keeps tied to other weights, by their names there.
COPIES: Mapping[str, str] = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


@dataclass(frozen=True)
class Weight:
    """One weight of one model, and where a checkpoint keeps it."""

    ours: str  # path of the Keras variable
    stored: str  # name in the checkpoint
    shape: Shape  # of the Keras variable
    transposed: bool  # whether the checkpoint stores the transpose

    @property
    def stored_shape(self) -> Shape:
        return self.shape[::-1] if self.transposed else self.shape


def weights_of(
    config: BertConfig, parts: Iterable[str], kind: str, num_labels: int = 2
) -> Iterator[Weight]:
    """Every weight of a model, from its configuration alone.

    Nothing is built, so a config can be held against a file's header first. The encoder
    is always in, whatever the heads in `parts`, and the final norm where the config is
    pre-norm.
    """
    sizes = {
        "V": config.vocab_size,
        "P": config.max_position_embeddings,
        "S": config.type_vocab_size,
        "H": config.hidden_size,
        "I": config.intermediate_size,
        "C": num_labels,
        "2": 2,
    }
    # Whose kernels are `[out, in]`: of all at Hugging Face, of Google's where it
    # multiplies with `transpose_b=True`, in the two heads on the pooled output.
    turned = (
        {row.part for row in TABLE} if kind == HUGGINGFACE else {"nsp", "classifier"}
    )
    wanted = {"encoder", *parts} | ({"final_norm"} if config.pre_norm else set())
    for row in TABLE:
        if row.part not in wanted:
            continue
        shape = tuple(sizes[letter] for letter in row.axes)
        transposed = row.part in turned and row.ours.endswith("/kernel")
        names = row.ours, row.stored_name(kind)
        for i in range(config.num_hidden_layers if "{i}" in row.ours else 1):
            ours, stored = (name.format(i=i) for name in names)
            yield Weight(ours, stored, shape, transposed)


def names_of_part(part: str, kind: str) -> frozenset[str]:
    """Names in a checkpoint that belong to a head."""
    return frozenset(row.stored_name(kind) for row in TABLE if row.part == part)


def is_optimizer_state(name: str) -> bool:
    """Whether a name in a Google checkpoint is an optimiser's value."""
    return name in OPTIMIZER_NAMES or name.endswith(OPTIMIZER_SUFFIXES)


def num_layers_in(names: Iterable[str], kind: str) -> int:
    """How many layers the names speak of, at least: highest index plus one."""
    opening, closing = {
        GOOGLE: ("bert/encoder/layer_", "/"),
        HUGGINGFACE: ("bert.encoder.layer.", "."),
    }[kind]
    indices = (
        name.removeprefix(opening).split(closing, 1)[0]
        for name in names
        if name.startswith(opening)
    )
    # Nine digits: a longer number is no layer, and `int` of it would be slow.
    return max(
        (int(i) + 1 for i in indices if i.isascii() and i.isdigit() and len(i) < 10),
        default=0,
    )
