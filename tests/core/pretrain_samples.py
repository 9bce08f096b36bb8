"""A made-up language, a small corpus in it, and settings for a tiny model."""

import numpy as np

from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.checkpoint import read_latest
from bertviz_core.training.pretrain.batches import Batches
from bertviz_core.training.pretrain.corpus import encode_sentences
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.settings import CorpusSettings, PretrainSettings

# Each noun is always followed by a verb of its own: something to learn.
NOUNS = ("cat", "dog", "bird", "fish", "horse")
VERBS = ("purr", "bark", "sing", "swim", "gallop")
VOCABULARY = (*SPECIAL_TOKENS, *NOUNS, *VERBS, "##s", "the", "a", "old", "red", ".")
LENGTHS = (16, 24)


ONE_LAYER = {"num_hidden_layers": 1}  # where more would only take longer


def settings(sizes=None, **changes):
    raw = {
        "model": {
            "vocab_size": len(VOCABULARY),
            "hidden_size": 12,
            "num_hidden_layers": 2,
            "num_attention_heads": 3,
            "intermediate_size": 20,
            "max_position_embeddings": 32,
        },
        "phases": [
            {"max_tokens": 16, "num_tokens": 16 * 6 * 8, "batch_tokens": 16 * 6},
            {"max_tokens": 24, "num_tokens": 24 * 4 * 5, "batch_tokens": 24 * 4},
        ],
        "optimizer": {"learning_rate": 0.01},
        "precision": "float32",
        "seed": 3,
        "report_steps": 4,
        "checkpoint_steps": 6,
        "evaluation_steps": 100,
        "model_name": "tiny",
    }
    raw["model"] |= sizes or {}
    return PretrainSettings.from_dict(raw | changes)


def sentence(rng):
    which = rng.integers(len(NOUNS))
    words = [rng.choice(["the", "a"])]
    words += list(rng.choice(["old", "red"], rng.integers(0, 3)))
    words += [NOUNS[which], f"{VERBS[which]}s"]
    return " ".join(words) + "."


def documents(count=60, seed=1, most_sentences=9):
    rng = np.random.default_rng(seed)
    return [
        [sentence(rng) for _ in range(rng.integers(1, most_sentences + 1))]
        for _ in range(count)
    ]


def write_text(path, count=60, seed=1):
    """Paragraphs of two sentences, a blank line between documents."""
    texts = []
    for sentences in documents(count, seed):
        pairs = [sentences[i : i + 2] for i in range(0, len(sentences), 2)]
        texts.append("\n".join(" ".join(pair) for pair in pairs))
    path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    return path


def text_and_settings(folder, **changes):
    """A file with text, and settings for a model of one layer with words of a file."""
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY))
    corpus = {"vocabulary_file": str(folder / "vocab.txt"), "held_out_rate": 0.2}
    return write_text(folder / "text.txt"), settings(
        ONE_LAYER, corpus=corpus, **changes
    )


def assert_same_states(first, second, atol=1e-6):
    """Two runs end with the same weights and averages.

    Args:
        first, second: their folders.
    """
    one, other = read_latest(first), read_latest(second)
    assert one.step == other.step
    assert_same_state(other.state, one.state, atol)


def assert_same_state(state, expected, atol):
    assert set(state) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(state[name], values, atol=atol, err_msg=name)


def kept(held_out_rate):
    """Corpus settings with a share of the documents kept for evaluation."""
    return CorpusSettings(held_out_rate=held_out_rate)


def tokenizer():
    return BertTokenizer(VOCABULARY)


def kinds():
    return TokenKinds.of(VOCABULARY)


def corpus(count=60, seed=1, **sizes):
    return encoded(documents(count, seed, **sizes))


def owned(documents):
    """Each sentence with its document and its file, of `(file, sentences)`."""
    return [(s, n, file) for n, (file, d) in enumerate(documents) for s in d]


def encoded(documents):
    """Lists of sentences in memory, as of one file."""
    return encode_sentences(owned((0, d) for d in documents), tokenizer())


def batches(asked=None, **changes):
    asked = asked or settings(**changes)
    return Batches(corpus(), kinds(), asked)
