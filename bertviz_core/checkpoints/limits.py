"""Sizes that no BERT has, refused before they cost minutes or all memory.

They are a `CheckpointError`.
"""

from bertviz_core.environment import whole_number
from bertviz_core.errors import CheckpointError

# Word pieces. LaBSE, which has the most, has 501,153; BERT in 104 languages 119,547.
MAX_VOCABULARY = 750_000
# Every layer is compiled by itself. BERT-large has 24; the deepest published ones 48.
MAX_LAYERS = 128
# A class is a name and a bar on a page. Codes of diseases or goods come in thousands.
MAX_CLASSES = 50_000
# Of weights in 32-bit floats: BERT-large has 1340, a vocabulary of half a million more.
MAX_MEGABYTES, DEFAULT_MAX_MEGABYTES = "BERTVIZ_MAX_MODEL_MB", 4000


def max_megabytes() -> int:
    """The largest model that is opened, in megabytes of 32-bit floats.

    Raises:
        EngineError: `BERTVIZ_MAX_MODEL_MB` is no whole number.
    """
    return whole_number(MAX_MEGABYTES, DEFAULT_MAX_MEGABYTES)


def require_usual_sizes(name: str, num_layers: int, vocab_size: int) -> None:
    """Refuses a config, of L and V, far beyond any real one."""
    if num_layers > MAX_LAYERS:
        raise CheckpointError(
            "The model {name} has too many layers. Received: "
            "num_hidden_layers={count}; the limit is {limit}. Choose another model.",
            name=name,
            count=num_layers,
            limit=MAX_LAYERS,
        )
    if vocab_size > MAX_VOCABULARY:
        raise CheckpointError(
            "The vocabulary of the model {name} is too large. Received: "
            "vocab_size={count}; the limit is {limit}. Choose another model.",
            name=name,
            count=vocab_size,
            limit=MAX_VOCABULARY,
        )


def require_few_classes(name: str, num_classes: int) -> None:
    """Refuses more classes, by weights or names in the config, than a page can show."""
    if num_classes > MAX_CLASSES:
        raise CheckpointError(
            "The model {name} has too many classes. Received: {count}; the limit is "
            "{limit}. Choose another model.",
            name=name,
            count=num_classes,
            limit=MAX_CLASSES,
        )
