"""The forward pass, compiled part by part: embeddings, each block, heads.

NumPy in, NumPy out, without dropout. `keras.Model.predict` would trace anew for each
shape and eager execution is several times slower; here each part is compiled once,
with all sizes open. In parts, because then a question may start and end at any layer,
ask for any activation of `taps` or replace it, and does not pay for the others.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import require_positions
from bertviz_core.model.bert import Bert
from bertviz_core.model.compile import (
    Body,
    Compiled,
    Tensors,
    compile_function,
    uses_openvino,
)
from bertviz_core.model.sparse import visible_edges
from bertviz_core.model.taps import Taps
from bertviz_core.trace import LOGITS, Arrays

# Name of each input of a whole pass to its dtype and number of axes.
INPUTS: Mapping[str, tuple[str, int]] = {
    "input_ids": ("int32", 2),
    "attention_mask": ("int32", 2),
    "token_type_ids": ("int32", 2),
    "mlm_positions": ("int32", 1),
    "head_mask": ("float32", 3),
    "edge_mask": ("int32", 5),
    "neuron_mask": ("float32", 3),
}
# What a block is asked for unless the caller says otherwise: each further set of
# activations is a function of its own, with weights packed of its own.
BLOCK = ("output", "attention.probs")
# Compiled functions that are kept: three sets for each block.
_FUNCTIONS_A_PART = 3


class CompiledForward:
    """Runs a model without dropout. Safe to call from several threads.

    OpenVINO keeps its weights as they are at the first call, on other backends they are
    read at each call. `on_call` is told of each call. What is returned is float32, also
    when the model computes in half precision.
    """

    def __init__(
        self, model: Bert, on_call: Callable[[], object] = lambda: None
    ) -> None:
        self.model = model
        self._on_call = on_call
        self._functions: dict[Any, Compiled] = {}
        self._lock = threading.Lock()

    def __call__(
        self, inputs: Mapping[str, Any], outputs: Sequence[str] | None = None
    ) -> Arrays:
        """One pass through the whole network.

        Args:
            inputs: arrays by the names of `INPUTS`: `input_ids`, `token_type_ids` and
                `attention_mask` `[B, T]`; `mlm_positions` `[P]`, see `Bert`; and
                `head_mask` `[B or 1, L, N]`, `edge_mask`
                `[B or 1, L or 1, N or 1, Q, K]` and `neuron_mask` `[B or 1, L, I]`, see
                `Interventions`.
            outputs: of "hidden_states" `[B, L + 1, T, H]`, "attention_probs"
                `[B, L, N, Q, K]`, "sequence_output" `[B, T, H]` and the names of
                `Bert.read`. `None` for all that there are.

        Raises:
            TextError: more tokens than positions.
        """
        arrays = {name: _array(name, value) for name, value in inputs.items()}
        input_ids = arrays["input_ids"]
        require_positions(input_ids.shape[1], self.model.config.max_position_embeddings)
        wanted = self._wanted(arrays, outputs)
        self._on_call()
        mask = self._mask(input_ids.shape[1], arrays.get("attention_mask"))
        found = self._encode(arrays, mask, wanted)
        last = found.pop("last")  # [B, T, H]
        return found | self._answers(last, arrays.get("mlm_positions"), wanted)

    def embed(
        self,
        input_ids: np.ndarray,
        token_type_ids: np.ndarray,
        keep: Sequence[str] = ("output",),
    ) -> Arrays:
        """What enters the first block, and what `keep` names, without "embeddings."."""
        self._on_call()
        return self._embed(input_ids, token_type_ids, keep)

    def block(
        self,
        layer: int,
        hidden_states: np.ndarray,
        attention_mask: np.ndarray | None = None,
        keep: Sequence[str] = BLOCK,
        scale: Mapping[str, np.ndarray] | None = None,
        replace: Mapping[str, np.ndarray] | None = None,
    ) -> Arrays:
        """One block on hidden states; names in `keep` are without "layer.0.".

        Args:
            layer: from 0.
            attention_mask: with the pattern of a sparse model in it.
            scale: what to multiply activations by, by name.
            replace: what to put in the place of activations, by name; what leads to
                them alone is not computed.
        """
        self._on_call()
        if attention_mask is None:
            attention_mask = self._mask(hidden_states.shape[1], None)
        into = dict.fromkeys(keep)
        return self._block(layer, hidden_states, attention_mask, into, scale, replace)

    def read(
        self, head: str, vectors: np.ndarray, keep: Sequence[str] = ("output",)
    ) -> Arrays:
        """What a head makes of vectors of the last hidden state: "output" `[R, C]`.

        Args:
            head: "mlm", "pooler", or "nsp" or "classifier", which go through the
                pooler. A pre-norm model's final norm comes first; "final_norm" is that
                alone.
            vectors: float `[R, H]`, at the places to predict words at, or at [CLS].
        """
        self._on_call()
        return self._read(head, vectors, keep)

    def visible(self, num_tokens: int) -> np.ndarray:
        """What each token may look at, bool `[T, T]`; all true without a pattern."""
        return visible_edges(self.model.config, num_tokens)

    def _wanted(self, arrays: Arrays, outputs: Sequence[str] | None) -> set[str]:
        model = self.model
        known = {"hidden_states", "attention_probs", "sequence_output"}
        if model.pooler is not None:
            known |= {"pooled_output"}
            known |= {LOGITS[h] for h in ("nsp", "classifier") if h in model.heads}
        if model.mlm is not None and "mlm_positions" in arrays:
            known.add("mlm_logits")
        wanted = known if outputs is None else set(outputs)
        if not wanted <= known:
            raise ValueError(
                f"`outputs` must be among {sorted(known)}. Received: {outputs}."
            )
        return wanted

    def _encode(self, arrays: Arrays, mask: np.ndarray, wanted: set[str]) -> Arrays:
        """The walk through embeddings and blocks."""
        config, input_ids = self.model.config, arrays["input_ids"]
        token_type_ids = arrays.get("token_type_ids", np.zeros_like(input_ids))
        x = self._embed(input_ids, token_type_ids, ("output",))["output"]
        found = self._room(x.shape, wanted)
        if "hidden_states" in found:
            found["hidden_states"][:, 0] = x
        for layer in range(config.num_hidden_layers):
            into: dict[str, np.ndarray | None] = {"output": None}
            if "attention_probs" in found:
                into["attention.probs"] = found["attention_probs"][:, layer]
            seen = _without_cut(mask, arrays, layer)
            x = self._block(layer, x, seen, into, _strengths(arrays, layer))["output"]
            if "hidden_states" in found:
                found["hidden_states"][:, layer + 1] = x
        return found | {"last": x}

    def _room(self, shape: tuple[int, ...], wanted: set[str]) -> Arrays:
        """Arrays for what every layer adds to, for states of the shape `[B, T, H]`."""
        config, (batch, tokens, size) = self.model.config, shape
        layers, heads = config.num_hidden_layers, config.num_attention_heads
        shapes = {
            "hidden_states": (batch, layers + 1, tokens, size),
            "attention_probs": (batch, layers, heads, tokens, tokens),
        }
        return {k: np.empty(v, "float32") for k, v in shapes.items() if k in wanted}

    def _answers(
        self, last: np.ndarray, mlm_positions: np.ndarray | None, wanted: set[str]
    ) -> Arrays:
        """What the heads say about the last hidden state `[B, T, H]`."""
        found = {}
        if "sequence_output" in wanted:
            found["sequence_output"] = last
            if self.model.final_norm is not None:
                found["sequence_output"] = self._read("final_norm", last)["output"]
        if "pooled_output" in wanted:
            found["pooled_output"] = self._read("pooler", last[:, 0])["output"]
        for head in ("nsp", "classifier"):
            if LOGITS[head] in wanted:
                found[LOGITS[head]] = self._read(head, last[:, 0])["output"]
        if "mlm_logits" in wanted:
            asked = last.reshape(-1, last.shape[-1])[mlm_positions]
            found["mlm_logits"] = self._read("mlm", asked)["output"]
        return found

    def _mask(self, num_tokens: int, attention_mask: np.ndarray | None) -> np.ndarray:
        """Int `[B or 1, 1, T or 1, T]` of `[B, T]` and the pattern of the model."""
        if attention_mask is None:
            attention_mask = np.ones((1, num_tokens), "int32")
        mask = attention_mask[:, None, None, :]
        return mask * self.visible(num_tokens) if self.model.config.is_sparse else mask

    def _embed(
        self, input_ids: np.ndarray, token_type_ids: np.ndarray, keep: Sequence[str]
    ) -> Arrays:
        part = self.model.embeddings

        def body(inputs: Tensors) -> dict[str, Any]:
            taps = Taps(keep)
            output = part(inputs["input_ids"], inputs["token_type_ids"], tap=taps)
            return {"output": output, **taps.kept}

        arrays = {
            "input_ids": np.asarray(input_ids, "int32"),
            "token_type_ids": np.asarray(token_type_ids, "int32"),
        }
        return self._run("embeddings", part, part, body, arrays, dict.fromkeys(keep))

    def _block(
        self,
        layer: int,
        hidden_states: np.ndarray,
        mask: np.ndarray,
        into: Mapping[str, np.ndarray | None],
        scale: Mapping[str, np.ndarray] | None = None,
        replace: Mapping[str, np.ndarray] | None = None,
    ) -> Arrays:
        # Blocks are alike: where a function takes the weights, one serves all of them;
        # on OpenVINO it has them in it.
        index = layer if uses_openvino() else 0
        shown, part = self.model.blocks[index], self.model.blocks[layer]
        scale, replace = scale or {}, replace or {}
        keep = BLOCK if not replace and set(into) <= set(BLOCK) else tuple(into)

        def body(inputs: Tensors) -> dict[str, Any]:
            taps = Taps(
                keep,
                {name: inputs[f"scale {name}"] for name in scale},
                {name: inputs[f"replace {name}"] for name in replace},
            )
            output, _ = shown(
                inputs["hidden_states"], inputs["attention_mask"], tap=taps
            )
            return {"output": output, **taps.kept}

        arrays = {
            "hidden_states": np.asarray(hidden_states, "float32"),
            "attention_mask": np.asarray(mask, "int32"),
            **{f"scale {k}": np.asarray(v, "float32") for k, v in scale.items()},
            **{f"replace {k}": np.asarray(v, "float32") for k, v in replace.items()},
        }
        return self._run(f"block {index}", shown, part, body, arrays, into, keep)

    def _read(
        self, head: str, vectors: np.ndarray, keep: Sequence[str] = ("output",)
    ) -> Arrays:
        model = self.model

        def body(inputs: Tensors) -> dict[str, Any]:
            taps = Taps(keep)
            x = model.after_blocks(inputs["vectors"], taps)
            if head == "final_norm":
                return {"output": x, **taps.kept}
            first, asked = (None, x) if head == "mlm" else (x, None)
            found = model.read(first, asked, (head,), taps)
            return {"output": found[LOGITS.get(head, "pooled_output")], **taps.kept}

        arrays = {"vectors": np.asarray(vectors, "float32")}
        return self._run(head, model, model, body, arrays, dict.fromkeys(keep))

    def _run(
        self,
        place: str,
        shown: Any,
        part: Any,
        body: Body,
        arrays: Arrays,
        into: Mapping[str, np.ndarray | None],
        keep: Sequence[str] = (),
    ) -> Arrays:
        """Runs the function of a part that was compiled before, or compiles it.

        `place` names the part `shown`, through which `body` goes; the weights of `part`
        count. Outputs are by default those of `into`, see `compile_function`.
        """
        keep = tuple(keep or into)
        axes = sorted((name, array.ndim) for name, array in arrays.items())
        key = (place, *sorted(keep), *axes)
        with self._lock:
            function = self._functions.pop(key, None)
            if function is None:
                function = compile_function(
                    {name: (a.dtype.name, a.ndim) for name, a in arrays.items()},
                    lambda inputs: _only(body(inputs), keep),
                    shown.weights,
                    are_own=not place.startswith("block"),
                )
            self._functions[key] = function  # the last to be let go
            if len(self._functions) > _FUNCTIONS_A_PART * (len(self.model.blocks) + 5):
                del self._functions[next(iter(self._functions))]
        # OpenVINO has them in the function; to list them takes a sixth of a short pass.
        return function(arrays, () if uses_openvino() else part.weights, into)


def _only(found: Tensors, keep: Sequence[str]) -> dict[str, Any]:
    return {name: found[name] for name in keep}


def _array(name: str, value: Any) -> np.ndarray:
    if name not in INPUTS:
        raise ValueError(f"`{name}` is not an input. Known: {sorted(INPUTS)}.")
    dtype, rank = INPUTS[name]
    array = np.asarray(value, dtype)
    if array.ndim != rank:
        raise ValueError(
            f"`{name}` must have {rank} axes. Received: shape={array.shape}."
        )
    return array


def _without_cut(mask: np.ndarray, arrays: Arrays, layer: int) -> np.ndarray:
    """The mask of a layer without the edges that inputs of a pass cut."""
    edges = arrays.get("edge_mask")
    if edges is None:
        return mask
    return mask * edges[:, min(layer, edges.shape[1] - 1)]


def _strengths(arrays: Arrays, layer: int) -> dict[str, np.ndarray] | None:
    """What inputs of a pass multiply heads and neurons of a layer by."""
    if not {"head_mask", "neuron_mask"} & arrays.keys():
        return None
    on = np.ones((1, layer + 1, 1), "float32")
    heads, neurons = (arrays.get(name, on) for name in ("head_mask", "neuron_mask"))
    return {
        "attention.head_context": heads[:, layer, :, None, None],
        "mlp.post": neurons[:, layer, None],
    }
