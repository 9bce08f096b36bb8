"""What pages see of the engine: a typed method for each task, plain values.

Importing this module loads no framework. Names and arguments are those of
`engine/tasks.py`, which runs elsewhere; a test holds the two together.
"""

from __future__ import annotations

from typing import Any, cast

from bertviz_core.engine.attention_client import AttentionClient
from bertviz_core.engine.cause_client import CauseClient
from bertviz_core.engine.embedding_client import EmbeddingClient
from bertviz_core.engine.engine import Engine
from bertviz_core.engine.finetune_client import FinetuneClient
from bertviz_core.engine.finetuned_client import FinetunedClient
from bertviz_core.engine.jobs import JobStatus
from bertviz_core.engine.layer_client import LayerClient
from bertviz_core.engine.word_client import WordClient
from bertviz_core.trace import (
    MaskPredictions,
    ModelEntry,
    ModelInfo,
    TokenizedText,
    Trace,
)


class Client(
    AttentionClient,
    CauseClient,
    EmbeddingClient,
    FinetuneClient,
    FinetunedClient,
    LayerClient,
    WordClient,
):
    """Asks an engine. Safe to share between threads and sessions.

    Every method raises the `BertVizError` that the task raised, or an
    `EngineError` if the process that ran it is gone.

    Args:
        engine: runs the tasks; belongs to this client, which closes it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def models(self) -> tuple[ModelEntry, ...]:
        """The models at hand: bundled ones, then downloaded ones."""
        return cast("tuple[ModelEntry, ...]", self._engine.call("models"))

    def describe_model(self, model: str) -> ModelInfo:
        """Loads a model if need be, and describes it.

        Raises:
            CheckpointError: it cannot be opened.
        """
        return cast(ModelInfo, self._engine.call("describe_model", model=model))

    def vocabulary(self, model: str) -> tuple[str, ...]:
        """The word pieces of a model, by id."""
        pieces = self._engine.call("vocabulary", model=model)
        return cast("tuple[str, ...]", pieces)

    def tokenize(
        self, model: str, text: str, pair: str | None = None, cut: bool = False
    ) -> TokenizedText:
        """Splits a text as the model reads it.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "tokenize", model=model, text=text, pair=pair, cut=cut
        )
        return cast(TokenizedText, answer)

    def predict_masks(
        self, model: str, text: str, pair: str | None = None, cut: bool = False
    ) -> MaskPredictions:
        """Scores every word of the vocabulary at each `[MASK]`.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: no mask, empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "predict_masks", model=model, text=text, pair=pair, cut=cut
        )
        return cast(MaskPredictions, answer)

    def trace(
        self,
        model: str,
        text: str,
        pair: str | None = None,
        cut: bool = False,
        parts: tuple[str, ...] = ("pooled_output", "nsp_logits"),
    ) -> Trace:
        """Sends a text through the network once and fetches some of the arrays.

        The worker keeps the whole trace for a while: other parts of the same
        text cost no second forward pass.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.
            parts: arrays of `Trace` to fetch. All attention of a long text is
                large: 151 MB for BERT-base and 512 tokens.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "trace", model=model, text=text, pair=pair, cut=cut, parts=parts
        )
        return cast(Trace, answer)

    def add_upload(self, path: str, name: str) -> ModelEntry:
        """Takes a zip file with a checkpoint into the cache.

        Args:
            path: of the file, where the worker can read it.
            name: what to call the model.

        Raises:
            CheckpointError: damaged, hostile, or no checkpoint.
        """
        entry = self._engine.call("add_upload", path=path, name=name)
        return cast(ModelEntry, entry)

    def forward_count(self) -> int:
        """How many forward passes the worker has run since it started."""
        return cast(int, self._engine.call("forward_count"))

    def warm_up(self, model: str) -> None:
        """Has a model loaded and run once, without waiting for it."""
        self._engine.warm_up(model)

    def start(self, task: str, **arguments: Any) -> str:
        """Starts a job and returns its id.

        Args:
            task: one of
                `"download_model"` (`name`, `revision=None`), a `ModelEntry`;
                `"convert"` (`source`, `destination`), the folder;
                `"profile_corpus"` (`model`, `language`), a `CorpusProfile`;
                `"ablate_heads"` and `"ablate_parts"` (`model`, `text`, `target`,
                `pair=None`, `cut=False`), an `AblationMap` and a `PartAblation`;
                `"patch_hidden_states"` (`model`, `clean`, `corrupted`, `target`,
                `minus=None`, `clean_pair=None`, `corrupted_pair=None`), a
                `PatchingMap`;
                `"run_chain"` (`model`, `state`, `num_steps`), a `GibbsRun`;
                `"best_pairs"` (`model`, `text`, `top_k=20`, `num_pairs=20`), a
                `PairFilling`;
                `"score_sentence"` (`model`, `text`, `variant="within_word"`), a
                `SentenceScore`;
                `"score_minimal_pair"` (`model`, `first`, `second`,
                `variant="within_word"`), a `MinimalPair`;
                `"predict_every_position"` (`model`, `text`, `masked=True`,
                `top_k=10`), an `EveryPosition`;
                `"attribute"` (`model`, `text`, `target`, `contrast=None`,
                `baseline="mask"`), an `Attribution`;
                `"check_with_random_weights"` (`model`, `text`, `target`,
                `contrast=None`, `baseline="mask"`, `seed=0`), a
                `RandomWeightsCheck`;
                `"run_shuffled_test"` (`model`, `pairs`, `seed=0`,
                `random_weights=False`), a `ShuffledTest`;
                `"attribute_class"` (`model`, `text`, `index`, `pair=None`,
                `baseline="mask"`), an `Attribution`;
                `"nearest_training_rows"` (`run`, `text`, `pair=None`, `count=5`), a
                `NearTrainingRows`;
                `"compare_layers"` (`run`, `reading`), a `LayerComparison`;
                `"predict_table"` (`model`, `source`, `text_column`,
                `pair_column=None`, `max_tokens=0`), a `TablePredictions`;
                `"pretrain_tiny"` (`text`, `sentence`, `num_steps=400`, `seed=1`), a
                `TinyRun`, which it also shows as `so_far` on its way;
                `"estimate_training"` (`model`, `data`, `settings`), a
                `TrainingEstimate`;
                `"measure_residual_stream"` (`model`, `text`, `cut=False`), a
                `ResidualStream`;
                `"neuron_factors"` (`model`, `text`, `num_factors`, `seed`,
                `layers=None`, `cut=False`), a `NeuronFactors`;
                `"draw_vocabulary_map"` (`model`, `num_axes=2`, `seed=0`,
                `perplexity=30.0`), a `VocabularyMap`;
                `"map_sentences"` (`model`, `sentences`, `reading="mean"`,
                `num_axes=2`, `alignment="shared"`, `seed=0`) and
                `"draw_sentences"` (`model`, `sentences`, `reading="mean"`,
                `num_axes=2`, `seed=0`, `perplexity=30.0`), a `SentenceMap`;
                `"follow_word"` (`model`, `sentences`, `word`, `senses`), a
                `WordSenses`;
                `"measure_layers"` (`model`, `sentences`, `num_deviations=3.0`,
                `seed=0`), a `LayerFacts`.
            arguments: of the task.

        Raises:
            EngineError: too many jobs wait already.
        """
        return self._engine.start(task, **arguments)

    def job(self, job_id: str) -> JobStatus:
        """Where a job stands.

        Raises:
            EngineError: no such job, or it ended long ago.
        """
        return self._engine.job(job_id)

    def cancel(self, job_id: str) -> None:
        """Stops a job; one that has ended stays as it is.

        Raises:
            EngineError: no such job, or it ended long ago.
        """
        self._engine.cancel(job_id)

    def close(self) -> None:
        """Ends the engine and its processes."""
        self._engine.close()
