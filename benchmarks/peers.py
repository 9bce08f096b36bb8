"""The same network, ours and in `transformers`, each in a process of its own.

Two frameworks in one process would share an allocator and wake each other's
threads; a peer that is not asked sleeps at its end of a pipe.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.trace import SPECIAL_TOKENS

Arrays = dict[str, np.ndarray]
Forward = Callable[[np.ndarray, np.ndarray | None], Any]

PEER = "transformers"
OURS = "ours"
NAMES = (OURS, PEER)

# What both have to give, ready to read by NumPy; and, when positions are asked for,
# `mlm_logits`.
OUTPUTS = ("hidden_states", "attention_probs", "pooled_output")


class Peer:
    """One implementation in its own process. Use it in a `with` statement.

    The folder is a Hugging Face one with all pre-training weights.
    """

    def __init__(self, name: str, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, folder, theirs))
        self._process.start()
        theirs.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join(timeout=10)
        self._process.kill()

    def seconds(
        self, input_ids: np.ndarray, positions: np.ndarray | None, repeats: int
    ) -> list[float]:
        """Times forward passes; one more before them is not counted.

        `positions` are int `[P]`, tokens to predict words at; `None` for no such head.
        """
        return self._ask("seconds", input_ids, positions, repeats)

    def outputs(self, input_ids: np.ndarray, positions: np.ndarray | None) -> Arrays:
        return self._ask("outputs", input_ids, positions, 1)

    def _ask(self, *request: Any) -> Any:
        self._pipe.send(request)
        return self._pipe.recv()  # EOFError when the peer died; its traceback is above


def write_checkpoint(
    folder: Path, seed: int = 0, words: Sequence[str] = SPECIAL_TOKENS
) -> None:
    """Writes a BERT-base with a random number in every weight, for both to load.

    Its vocabulary begins with the words; the rest are pieces that no text holds.
    """
    import torch
    from transformers import BertConfig, BertForPreTraining

    torch.manual_seed(seed)
    model = BertForPreTraining(BertConfig())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # Zero biases and unit gains would hide one that is forgotten.
            mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            spread = 0.02 if weight.ndim > 1 else 0.1
            weight.copy_(mean + spread * torch.randn(weight.shape))
    model.save_pretrained(folder)
    pieces = list(words)
    pieces += [f"piece{index}" for index in range(len(pieces), model.config.vocab_size)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")


def _serve(name: str, folder: Path, pipe: Connection) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    forward, as_arrays = {OURS: _ours, PEER: _transformers}[name](folder)
    while (request := pipe.recv()) is not None:
        what, input_ids, positions, repeats = request
        result = forward(input_ids, positions)
        if what == "outputs":
            pipe.send(as_arrays(result))
            continue
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            result = forward(input_ids, positions)
            seconds.append(time.perf_counter() - began)
        pipe.send(seconds)


def _ours(folder: Path) -> tuple[Forward, Callable[[Any], Arrays]]:
    from bertviz_core.checkpoints.library import open_model
    from bertviz_core.model.compiled import CompiledForward

    compiled = CompiledForward(open_model(str(folder)).model)

    def forward(input_ids: np.ndarray, positions: np.ndarray | None) -> Arrays:
        if positions is None:
            return compiled({"input_ids": input_ids}, OUTPUTS)
        inputs = {"input_ids": input_ids, "mlm_positions": positions}
        return compiled(inputs, (*OUTPUTS, "mlm_logits"))

    return forward, lambda result: result


def _transformers(folder: Path) -> tuple[Forward, Callable[[Any], Arrays]]:
    import torch
    from transformers import BertForPreTraining

    model = BertForPreTraining.from_pretrained(folder, attn_implementation="eager")
    model.eval()

    @torch.inference_mode()
    def forward(input_ids: np.ndarray, positions: np.ndarray | None) -> dict[str, Any]:
        encoded = model.bert(
            torch.from_numpy(input_ids).long(),
            output_attentions=True,
            output_hidden_states=True,
        )
        result = {
            "hidden_states": [state.numpy() for state in encoded.hidden_states],
            "attention_probs": [probs.numpy() for probs in encoded.attentions],
            "pooled_output": encoded.pooler_output.numpy(),
        }
        if positions is not None:
            asked = encoded.last_hidden_state.flatten(0, 1)[torch.from_numpy(positions)]
            result["mlm_logits"] = model.cls.predictions(asked).numpy()
        return result

    def as_arrays(result: dict[str, Any]) -> Arrays:
        stacked = {name: np.stack(result[name], axis=1) for name in OUTPUTS[:2]}
        return result | stacked

    return forward, as_arrays
