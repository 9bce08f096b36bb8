"""Derivatives of an answer, and a quick estimate of what each head does for it.

On TensorFlow, JAX or torch; OpenVINO derives nothing: there it is an `EngineError`.
B texts, T tokens, L layers, N heads, I intermediate size, H hidden size, C answers of a
head.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.targets import Question, ask
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import GRADIENT_RESOURCE, task
from bertviz_core.trace import LOGITS

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert
    from bertviz_core.model.compile import Body, Compiled, Tensors
    from bertviz_core.model.taps import Tensor

# What can be derived, of the logits `[B, C]`.
QUANTITIES = ("probability", "log_probability", "logit")


def _heads(strengths: Tensor, num_layers: int) -> dict[str, Any]:  # [B, L, N]
    each = {
        f"layer.{layer}.attention.head_context": strengths[:, layer, :, None, None]
        for layer in range(num_layers)
    }
    return {"scale": each}


def _neurons(strengths: Tensor, num_layers: int) -> dict[str, Any]:  # [B, L, I]
    each = {
        f"layer.{layer}.mlp.post": strengths[:, layer, None]
        for layer in range(num_layers)
    }
    return {"scale": each}


def _words(vectors: Tensor, _: int) -> dict[str, Any]:  # [B, T, H]
    return {"replace": {"embeddings.word": vectors}}


# With respect to what: what `Taps` scale or replace.
PLACES = {"heads": _heads, "neurons": _neurons, "words": _words}

# Gone with their explorer.
_MADE: WeakKeyDictionary[Explorer, dict[Any, Compiled]] = WeakKeyDictionary()
_LOCK = threading.Lock()


@task(GRADIENT_RESOURCE)
def estimate_heads(
    explorer: Explorer, text: str, target: Target, pair: str | None = None
) -> np.ndarray:
    """How the target would change with each head off, if the line went on straight.

    The derivative with respect to each head's strength, at 1, followed down to 0:
    exact for a tiny change of a head. What happens when the head is switched off
    whole is what `ablation.ablate_heads` measures.

    Returns:
        float32 `[L, N]`, off less on, of `Prediction.value`.

    Source: Michel et al. 2019 (arXiv:1905.10650), section 4.1. They take the mean size
    of the loss's derivative over many texts; this is the derivative itself, with its
    sign, for one text.
    """
    question = ask(explorer, text, target, pair)
    before, _ = question.run()
    quantity = "logit" if before.is_number else "probability"
    config = explorer.config
    on = np.ones((1, config.num_hidden_layers, config.num_attention_heads))
    return -slopes(question, "heads", on, quantity)[0]


def slopes(
    question: Question,
    place: str,
    values: np.ndarray,
    quantity: str,
    contrast: int | None = None,
) -> np.ndarray:
    """The derivative of an answer with respect to what stands inside the network.

    Args:
        place: of `PLACES`.
        values: what stands there, for B copies of the text: the strengths of heads
            float `[B, L, N]` or neurons `[B, L, I]`, which 1 leaves as they are, or
            word embeddings `[B, T, H]`, before positions and segments are added.
        quantity: of `QUANTITIES`, what is derived.
        contrast: an answer of the same head, whose quantity is taken off.

    Returns:
        float32, as `values`; one pass there and back.
    """
    if quantity not in QUANTITIES:
        raise ValueError(
            f"`quantity` must be one of {QUANTITIES}. Received: {quantity}."
        )
    target, explorer = question.target, question.explorer
    arrays = question.inputs | {
        "values": np.asarray(values, "float32"),
        "answers": np.array([target.index], "int32"),
        "signs": np.array([1], "float32"),
    }
    if contrast is not None:
        arrays["answers"] = np.array([target.index, contrast], "int32")
        arrays["signs"] = np.array([1, -1], "float32")
    if target.head == "mlm":
        places = np.arange(len(values)) * question.tokenized.num_tokens
        arrays["mlm_positions"] = (places + target.position).astype("int32")
    run = _compiled(explorer, place, target.head, quantity)
    explorer.count_pass()
    return run(arrays, explorer.loaded.model.weights, {"value": None})["value"]


def _compiled(explorer: Explorer, place: str, head: str, quantity: str) -> Compiled:
    from bertviz_core.model.compile import compile_function
    from bertviz_core.model.compiled import INPUTS

    signature = {name: INPUTS[name] for name in ("input_ids", "token_type_ids")}
    signature |= {"values": ("float32", 3), "answers": ("int32", 1)}
    signature |= {"signs": ("float32", 1)}
    if head == "mlm":
        signature["mlm_positions"] = INPUTS["mlm_positions"]
    model = explorer.loaded.model
    with _LOCK:
        made = _MADE.setdefault(explorer, {})
        if (key := (place, head, quantity)) not in made:
            body = _body(model, place, head, quantity)
            made[key] = compile_function(signature, body, model.weights, "values")
        return made[key]


def _body(model: Bert, place: str, head: str, quantity: str) -> Body:
    """From values to `value`, float `[B]`."""
    from keras import ops

    from bertviz_core.model.taps import Taps

    derived = {"probability": ops.softmax, "log_probability": ops.log_softmax}

    def body(inputs: Tensors) -> dict[str, Tensor]:
        inputs = dict(inputs)
        values, answers, signs = map(inputs.pop, ("values", "answers", "signs"))
        taps = Taps(**PLACES[place](values, model.config.num_hidden_layers))
        logits = ops.cast(model(**inputs, tap=taps)[LOGITS[head]], "float32")
        if quantity in derived:
            logits = derived[quantity](logits)
        chosen = ops.take(logits, answers, axis=1)  # [B, A]
        return {"value": ops.matmul(chosen, signs)}

    return body
