"""Text in, trace out: one loaded model and what can be asked of it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bertviz_core.analysis.wordlists import name_of_empty
from bertviz_core.environment import precision
from bertviz_core.errors import CheckpointError, TextError, require_characters
from bertviz_core.interventions import Interventions
from bertviz_core.tasks import Progress, task
from bertviz_core.trace import MaskPredictions, ModelInfo, TokenizedText, Trace

# Four times those of BERT-large on 512 tokens; 1.6 GB.
MOST_ATTENTION_PROBS = 400_000_000
# Weights of a model of which another form is kept beside it.
_MOST_TWICE = 2**24

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel
    from bertviz_core.model.compiled import CompiledForward

Form = TypeVar("Form")


class Explorer:
    """Runs one model on texts. Safe to share between threads.

    Example:
        >>> explorer = Explorer.open(DEFAULT_MODEL)
        >>> explorer.predict_masks("Paris is the capital of [MASK].").logits.shape
        (1, 16384)
    """

    def __init__(self, loaded: LoadedModel) -> None:
        from bertviz_core.model.compiled import CompiledForward  # loads Keras

        self.loaded = loaded
        self.model_id = loaded.model_id
        self.tokenizer = loaded.tokenizer
        self.config = loaded.model.config
        self.forward = CompiledForward(loaded.model, self.count_pass)
        self.num_forward_passes = 0
        self._counting = threading.Lock()
        self._form: tuple[object, Any] | None = None

    def count_pass(self) -> None:
        """Notes that the network, or a part of it, has run once more."""
        with self._counting:
            self.num_forward_passes += 1

    def forward_with(self, **changed: Any) -> CompiledForward:
        """The forward pass of the same weights with another configuration."""
        from bertviz_core.model.bert import twin_of

        def make() -> CompiledForward:
            twin = twin_of(self.loaded.model, **changed)
            return type(self.forward)(twin, self.count_pass)

        return self.keep_form(changed, make)

    def keep_form(self, name: object, make: Callable[[], Form]) -> Form:
        """Another form of this model by its name; compiling one takes half a second.

        The last one of a small model is kept on OpenVINO, where `forward` keeps its
        weights, too; elsewhere the weights are those of now.
        """
        from bertviz_core.model.compile import uses_openvino

        form = self._form
        if form is None or form[0] != name:
            form = name, make()
            if uses_openvino() and self.loaded.model.count_params() <= _MOST_TWICE:
                self._form = form
        return form[1]

    @classmethod
    def open(cls, model_id: str, progress: Progress | None = None) -> Explorer:
        """Loads a model.

        Args:
            model_id: a bundled name, a folder, a zip file or a hub name.
            progress: told the fraction done and what is going on.

        Raises:
            CheckpointError: see `checkpoints.library.open_model`.
        """
        from bertviz_core.checkpoints.library import open_model

        return cls(open_model(model_id, progress))

    @functools.cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """A name for each of the V word embeddings, by id.

        Some checkpoints have more rows than word pieces; their logits have as many.
        Such a row is called `[row 57]`.
        """
        words = self.tokenizer.vocabulary
        # A vocabulary file may hold blank lines, too.
        named = (word or name_of_empty(row) for row, word in enumerate(words))
        spare = range(len(words), self.config.vocab_size)
        return (*named, *map(name_of_empty, spare))

    @task()
    def info(self) -> ModelInfo:
        from bertviz_core.model.compile import uses_openvino

        model = self.loaded.model
        return ModelInfo(
            model_id=self.model_id,
            config=self.config,
            heads=model.heads,
            labels=tuple(self.loaded.labels),
            lower_case=self.tokenizer.lower_case,
            num_weights=sum(int(np.prod(w.shape)) for w in model.weights),
            report=self.loaded.report,
            trained_inputs=self.loaded.trained_inputs,
            precision=precision() if uses_openvino() else model.compute_dtype,
        )

    @task()
    def tokenize(
        self, text: str, pair: str | None = None, cut: bool = False
    ) -> TokenizedText:
        """Splits a text as the model reads it.

        Raises:
            TextError: nothing but white space, more tokens than positions
                while `cut` is false, more characters than are taken at all, or a
                pair for a model that knows one segment only.
        """
        require_characters(text, pair)
        if pair and self.config.type_vocab_size < 2:
            raise TextError(
                "The model {model} reads one text at a time and cannot read a pair. "
                "Received: type_vocab_size=1. Remove the second text.",
                model=self.model_id,
            )
        max_tokens = self.config.max_position_embeddings
        tokenized = self.tokenizer.encode(text, pair, max_tokens, cut)
        if tokenized.is_added.all():
            raise TextError("The text is empty. Type a sentence.")
        self._require_room(tokenized.num_tokens)
        return tokenized

    def _require_room(self, num_tokens: int) -> None:
        layers, heads = self.config.num_hidden_layers, self.config.num_attention_heads
        if layers * heads * num_tokens**2 > MOST_ATTENTION_PROBS:
            raise TextError(
                "This model's attention over so many tokens does not fit in memory. "
                "Received: {tokens} tokens, {layers} layers of {heads} heads. Shorten "
                "the text.",
                tokens=num_tokens,
                layers=layers,
                heads=heads,
            )

    def trace(
        self,
        text: str,
        pair: str | None = None,
        cut: bool = False,
        mlm_positions: Sequence[int] | None = None,
        interventions: Interventions | None = None,
    ) -> Trace:
        """Sends a text through the network once and keeps everything.

        Args:
            cut: leaves out what is beyond the last position.
            mlm_positions: token indices to predict words at; `None` for the
                masks. The decoder is a quarter of the work of a long text.

        Raises:
            TextError: see `tokenize`.
        """
        tokenized = self.tokenize(text, pair, cut)
        asked = tokenized.mask_positions if mlm_positions is None else mlm_positions
        positions = np.asarray(asked, "int32")
        inputs = tokenized.inputs
        if "mlm" in self.loaded.model.heads:
            inputs["mlm_positions"] = positions
        if interventions is not None:
            inputs |= interventions.inputs(self.config, tokenized.num_tokens)
        output = self.forward(inputs)
        self._require_finite(output["hidden_states"][0, -1])
        has_words = "mlm_logits" in output
        return Trace(
            model_id=self.model_id,
            tokenized=tokenized,
            hidden_states=output["hidden_states"][0],
            attention_probs=output["attention_probs"][0],
            pooled_output=_first(output.get("pooled_output")),
            nsp_logits=_first(output.get("nsp_logits")),
            class_logits=_first(output.get("class_logits")),
            mlm_positions=positions if has_words else None,
            mlm_logits=output.get("mlm_logits"),
        )

    @task()
    def predict_masks(
        self, text: str, pair: str | None = None, cut: bool = False
    ) -> MaskPredictions:
        """Scores every word of the vocabulary at each `[MASK]`.

        Raises:
            CheckpointError: the checkpoint has no masked-word head.
            TextError: no mask, or see `tokenize`.
        """
        tokenized = self.require_masks(text, pair, cut)
        positions = tokenized.mask_positions
        inputs = tokenized.inputs | {"mlm_positions": positions}
        logits = self.forward(inputs, ("mlm_logits",))["mlm_logits"]
        self._require_finite(logits)
        return MaskPredictions(tokenized, positions, logits)

    @task()
    def warm_up(self) -> None:
        """Compiles and runs what the first question runs."""
        if "mlm" in self.loaded.model.heads:
            self.predict_masks("Ready? [MASK]")
        self.trace("Ready?")

    def require_masks(
        self, text: str, pair: str | None = None, cut: bool = False
    ) -> TokenizedText:
        """Splits a text that must have a mask to guess at.

        Raises:
            CheckpointError: the checkpoint has no masked-word head.
            TextError: no mask, or see `tokenize`.
        """
        self.require_head("mlm")
        tokenized = self.tokenize(text, pair, cut)
        if not len(tokenized.mask_positions):
            raise TextError(
                "There is no [MASK] in the text, so there is nothing to guess. Replace "
                "a word with [MASK]."
            )
        return tokenized

    def require_head(self, head: str) -> None:
        """Refuses a question that the checkpoint has no head for.

        Raises:
            CheckpointError: names the head and what to choose instead.
        """
        if head not in self.loaded.model.heads:
            raise CheckpointError(
                "The model {model} has no trained {head} head, so it cannot answer "
                "this. Choose a model that has one.",
                model=self.model_id,
                head=head.upper(),
            )

    def _require_finite(self, answer: np.ndarray) -> None:
        if not np.isfinite(answer).all():
            raise CheckpointError(
                "The model {model} answers with infinite or undefined values (NaN): "
                "its weights are too large, or its layer_norm_eps is too small. Get "
                "another copy of the checkpoint.",
                model=self.model_id,
            )


def _first(array: np.ndarray | None) -> np.ndarray | None:
    """The only row of a batch of one."""
    return None if array is None else array[0]
