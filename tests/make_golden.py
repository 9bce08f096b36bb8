"""Writes the golden files of `tests/data/checkpoints`.

Run `python -m tests.make_golden` where torch and transformers are installed (see
requirements-peers.txt). Every weight of the tiny checkpoints is random, biases and
gains too; no two sizes of one are equal.

- `hf_tiny`: written and evaluated by Hugging Face `transformers`.
- `google_tiny`: TensorFlow 1 names and layout, some values of an optimiser
  left in as a real release of Google's has them, written by TensorFlow's own
  op; evaluated by the NumPy oracle of `tests/core/oracle.py`, in float64.

- `bert-mini-en` and `bert-mini-zh`: the bundled models, evaluated by `transformers`
  in float64.

`*_expected.npz` holds a padded batch and what was computed from it; the
`reference.npz` of a bundled model two sentences, what was computed at a few tokens
and of a few words, and by what and when.
"""

from __future__ import annotations

import json
import string
from datetime import date
from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.config import BertConfig
from tests.core import oracle

FOLDER = Path(__file__).parent / "data" / "checkpoints"
# What the bundled models read. The second token and the hidden one are kept.
SENTENCES = {
    "bert-mini-en": ("Two cats sat on the [MASK].", "Nobody knew why."),
    "bert-mini-zh": ("两只猫坐在[MASK]子上。", "没有人知道为什么。"),
}
EVERY_WORD = 97  # of the vocabulary
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

HF_CONFIG = {
    "vocab_size": 61,
    "hidden_size": 30,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "intermediate_size": 37,
    "max_position_embeddings": 19,
    "type_vocab_size": 7,
    "layer_norm_eps": 1e-4,
}
# As Google's file: no layer_norm_eps, and "gelu" for the tanh approximation.
GOOGLE_CONFIG = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 28,
    "initializer_range": 0.02,
    "intermediate_size": 45,
    "max_position_embeddings": 17,
    "num_attention_heads": 7,
    "num_hidden_layers": 2,
    "type_vocab_size": 5,
    "vocab_size": 53,
}


def write_hf_tiny(folder: Path) -> dict[str, np.ndarray]:
    """Lets `transformers` write a checkpoint and evaluate it."""
    import torch
    from transformers import BertConfig as PeerConfig
    from transformers import BertForPreTraining

    config = PeerConfig(**HF_CONFIG, attn_implementation="eager")
    model = BertForPreTraining(config).eval()
    rng = np.random.default_rng(41)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            draws = rng.normal(mean, 0.3, tuple(weight.shape))
            weight.copy_(torch.tensor(draws, dtype=torch.float32))
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    write_vocabulary(folder, HF_CONFIG["vocab_size"], string.ascii_lowercase)
    inputs = padded_batch(rng, HF_CONFIG, batch=2, tokens=13)
    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    return inputs | evaluated(model, tensors)


def evaluated(model, inputs) -> dict[str, np.ndarray]:
    """What a model of `transformers` makes of tensors, by our names."""
    import torch

    with torch.no_grad():
        output = model(**inputs, output_hidden_states=True, output_attentions=True)
        pooled = model.bert(**inputs)[1]
    return {
        "hidden_states": np.stack([x.numpy() for x in output.hidden_states], axis=1),
        "attention_probs": np.stack([x.numpy() for x in output.attentions], axis=1),
        "pooled_output": pooled.numpy(),
        "mlm_logits": output.prediction_logits.numpy(),
        "nsp_logits": output.seq_relationship_logits.numpy(),
    }


def bundled_expected(name: str) -> dict[str, np.ndarray]:
    """What `transformers` makes of two sentences; R tokens and W words are kept.

    Returns:
        `input_ids`, `token_type_ids` `[1, T]`, `rows` `[R]`, `words` `[W]`,
        `hidden_states` `[1, L + 1, R, H]`, `attention_probs` `[1, L, N, R, T]`,
        `mlm_logits` `[1, R, W]`, `pooled_output` `[1, H]`, `nsp_logits` `[1, 2]`,
        `made`: the program and the day.
    """
    import torch
    import transformers
    from transformers import BertForPreTraining, BertTokenizer

    folder = BUNDLED_FOLDER / name
    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertForPreTraining.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float64
    ).eval()
    inputs = tokenizer(*SENTENCES[name], return_tensors="pt")
    ids = inputs["input_ids"].numpy()
    rows = np.array([1, list(ids[0]).index(tokenizer.mask_token_id)])
    words = np.arange(0, model.config.vocab_size, EVERY_WORD)
    found = evaluated(model, inputs)
    found["hidden_states"] = found["hidden_states"][:, :, rows]
    found["attention_probs"] = found["attention_probs"][:, :, :, rows]
    found["mlm_logits"] = found["mlm_logits"][:, rows][:, :, words]
    return {k: v.astype("float32") for k, v in found.items()} | {
        "input_ids": ids.astype("int32"),
        "token_type_ids": inputs["token_type_ids"].numpy().astype("int32"),
        "rows": rows,
        "words": words,
        "made": np.array(
            [f"transformers {transformers.__version__}", f"{date.today()}"]
        ),
    }


def write_google_tiny(folder: Path) -> dict[str, np.ndarray]:
    """Writes a checkpoint under Google's names and evaluates it in NumPy."""
    import tensorflow as tf

    config = BertConfig(**{**GOOGLE_CONFIG, "hidden_act": "gelu_new"})
    weights = oracle.random_weights(config, seed=43)
    arrays = {k: v.astype("float32") for k, v in google_names(weights).items()}
    bias = "bert/encoder/layer_1/output/dense/bias"
    slots = {
        f"{bias}/adam_m": arrays[bias] / 7,
        f"{bias}/adam_v": arrays[bias] ** 2,
        "cls/predictions/output_bias/adam_m": arrays["cls/predictions/output_bias"],
        "global_step": np.array(1234567, "int64"),
    }
    stored = dict(sorted((arrays | slots).items()))
    tf.raw_ops.SaveV2(
        prefix=str(folder / "bert_model.ckpt"),
        tensor_names=list(stored),
        shape_and_slices=[""] * len(stored),
        tensors=[tf.constant(array) for array in stored.values()],
    )
    text = json.dumps(GOOGLE_CONFIG, indent=2)
    (folder / "bert_config.json").write_text(text + "\n", encoding="utf-8")
    write_vocabulary(folder, config.vocab_size, string.ascii_uppercase)
    rng = np.random.default_rng(47)
    inputs = padded_batch(rng, GOOGLE_CONFIG, batch=6, tokens=9)
    places = {"mlm_positions": np.arange(inputs["input_ids"].size)}
    output = oracle.forward(weights, config, inputs | places)
    shape = (*inputs["input_ids"].shape, config.vocab_size)
    output["mlm_logits"] = output["mlm_logits"].reshape(shape)
    del output["sequence_output"], output["class_logits"]
    return inputs | {name: array.astype("float32") for name, array in output.items()}


def google_names(weights: dict) -> dict[str, np.ndarray]:
    """The oracle's weights by Google's names, spelt out without the name table.

    Source: google-research/bert, the variable scopes of `modeling.py` and
    `run_pretraining.py`.
    """
    named = {
        "bert/embeddings/word_embeddings": weights["words"],
        "bert/embeddings/position_embeddings": weights["positions"],
        "bert/embeddings/token_type_embeddings": weights["segments"],
        "cls/predictions/output_bias": weights["decoder_bias"],
        # Google stores this one [2, H] and multiplies with its transpose.
        "cls/seq_relationship/output_weights": weights["nsp"][0].T,
        "cls/seq_relationship/output_bias": weights["nsp"][1],
    }
    dense = {
        "bert/pooler/dense": weights["pooler"],
        "cls/predictions/transform/dense": weights["transform"],
    }
    norm = {
        "bert/embeddings/LayerNorm": weights["embedding_norm"],
        "cls/predictions/transform/LayerNorm": weights["transform_norm"],
    }
    for index, layer in enumerate(weights["layers"]):
        scope = f"bert/encoder/layer_{index}"
        dense[f"{scope}/attention/self/query"] = layer["query"]
        dense[f"{scope}/attention/self/key"] = layer["key"]
        dense[f"{scope}/attention/self/value"] = layer["value"]
        dense[f"{scope}/attention/output/dense"] = layer["attention_output"]
        norm[f"{scope}/attention/output/LayerNorm"] = layer["attention_norm"]
        dense[f"{scope}/intermediate/dense"] = layer["inner"]
        dense[f"{scope}/output/dense"] = layer["outer"]
        norm[f"{scope}/output/LayerNorm"] = layer["output_norm"]
    for scope, (kernel, bias) in dense.items():
        named |= {f"{scope}/kernel": kernel, f"{scope}/bias": bias}
    for scope, (gain, bias) in norm.items():
        named |= {f"{scope}/gamma": gain, f"{scope}/beta": bias}
    return named


def padded_batch(
    rng: np.random.Generator, config: dict, batch: int, tokens: int
) -> dict[str, np.ndarray]:
    """Random ids; the first text is whole, the others are padded at the end."""
    shape = (batch, tokens)
    mask = np.ones(shape, "int32")
    for row in range(1, batch):
        mask[row, tokens - 2 - row :] = 0
    return {
        "input_ids": rng.integers(0, config["vocab_size"], shape, "int32"),
        "attention_mask": mask,
        "token_type_ids": rng.integers(0, config["type_vocab_size"], shape, "int32"),
    }


def write_vocabulary(folder: Path, size: int, letters: str) -> None:
    """Special tokens, letters and continuation pieces, as many as fit."""
    pieces = [*SPECIAL_TOKENS, *letters, *(f"##{letter}" for letter in letters)]
    pieces += [f"{first}{second}" for first in "bcdfg" for second in "aeiou"]
    text = "".join(f"{piece}\n" for piece in pieces[:size])
    (folder / "vocab.txt").write_text(text, encoding="utf-8")


def main(folder: Path = FOLDER, bundled: Path = BUNDLED_FOLDER) -> None:
    """Writes the tiny checkpoints and what is expected of them and the bundled."""
    for name, write in (("hf_tiny", write_hf_tiny), ("google_tiny", write_google_tiny)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / f"{name}_expected.npz", **write(folder / name))
    for name in SENTENCES:
        (bundled / name).mkdir(parents=True, exist_ok=True)
        np.savez_compressed(bundled / name / "reference.npz", **bundled_expected(name))


if __name__ == "__main__":
    main()
