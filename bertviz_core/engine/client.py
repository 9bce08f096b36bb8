"""What pages see of the engine: a typed method for each task, plain values.

Importing this module loads no framework: tasks import theirs when they run, which is
in another process.
"""

from __future__ import annotations

from typing import Any

from bertviz_core.engine import (
    attention_picture_tasks,
    attention_tasks,
    cause_tasks,
    embedding_tasks,
    finetuned_tasks,
    layer_tasks,
    model_tasks,
    scoring_tasks,
    sentence_tasks,
    word_tasks,
)
from bertviz_core.engine.asking import Asks
from bertviz_core.engine.engine import Engine
from bertviz_core.engine.finetune_client import FinetuneClient
from bertviz_core.engine.jobs import JobStatus


class Client(FinetuneClient):
    """Asks an engine. Safe to share between threads and sessions.

    Every method raises the `BertVizError` that the task raised, or an
    `EngineError` if the process that ran it is gone.

    Args:
        engine: runs the tasks; belongs to this client, which closes it.
    """

    models = Asks(model_tasks.models)
    earlier_uploads = Asks(model_tasks.earlier_uploads)
    suggested_models = Asks(model_tasks.suggested_models)
    describe_model = Asks(model_tasks.describe_model)
    vocabulary = Asks(model_tasks.vocabulary)
    tokenize = Asks(model_tasks.tokenize)
    predict_masks = Asks(model_tasks.predict_masks)
    trace = Asks(model_tasks.trace)
    add_upload = Asks(model_tasks.add_upload)
    forward_count = Asks(model_tasks.forward_count)

    attention_matrix = Asks(attention_tasks.attention_matrix)
    all_heads = Asks(attention_picture_tasks.all_heads)
    difference_thumbnails = Asks(attention_picture_tasks.difference_thumbnails)
    difference_links = Asks(attention_picture_tasks.difference_links)
    difference_heads = Asks(attention_picture_tasks.difference_heads)
    attention_links = Asks(attention_picture_tasks.attention_links)
    attention_mass = Asks(attention_tasks.attention_mass)
    compare_heads = Asks(attention_tasks.compare_heads)
    pair_arithmetic = Asks(attention_tasks.pair_arithmetic)
    profile_heads = Asks(attention_tasks.profile_heads)

    switch_off = Asks(cause_tasks.switch_off)
    predict_sparsely = Asks(cause_tasks.predict_sparsely)

    take_input_apart = Asks(embedding_tasks.take_input_apart)
    position_geometry = Asks(embedding_tasks.position_geometry)
    nearest_words = Asks(embedding_tasks.nearest_words)
    solve_analogy = Asks(embedding_tasks.solve_analogy)
    project_words = Asks(embedding_tasks.project_words)
    remove_axis = Asks(embedding_tasks.remove_axis)
    word_norms = Asks(embedding_tasks.word_norms)
    exported_vectors = Asks(embedding_tasks.exported_vectors)
    vocabulary_map = Asks(embedding_tasks.vocabulary_map)
    sentence_vectors = Asks(sentence_tasks.sentence_vectors)
    nearest_points = Asks(sentence_tasks.nearest_points)

    layer_steps = Asks(layer_tasks.layer_steps)
    part_numbers = Asks(layer_tasks.part_numbers)
    step_table = Asks(layer_tasks.step_table)
    norm_input = Asks(layer_tasks.norm_input)
    residual_stream = Asks(layer_tasks.residual_stream)
    layer_similarity = Asks(layer_tasks.layer_similarity)
    strongest_neurons = Asks(layer_tasks.strongest_neurons)
    neuron_activations = Asks(layer_tasks.neuron_activations)
    neuron_words = Asks(layer_tasks.neuron_words)

    fill_masks = Asks(word_tasks.fill_masks)
    score_words = Asks(word_tasks.score_words)
    find_whole_words = Asks(word_tasks.find_whole_words)
    start_chain = Asks(word_tasks.start_chain)
    read_layers = Asks(word_tasks.read_layers)
    switch_gelu = Asks(word_tasks.switch_gelu)
    predict_next_sentence = Asks(scoring_tasks.predict_next_sentence)

    read_class = Asks(finetuned_tasks.read_class)
    weight_change = Asks(finetuned_tasks.weight_change)
    head_change = Asks(finetuned_tasks.head_change)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def warm_up(self, model: str) -> None:
        """Has a model loaded and run once, without waiting for it."""
        self._engine.warm_up(model)

    def start(self, task: str, **arguments: Any) -> str:
        """Starts a job and returns its id.

        It is cancelled when nobody asks for it in `jobs.LEASE_SECONDS`.

        Args:
            task: a name in `tasks.JOB_TASKS`; the docstring there says what becomes
                of it.
            arguments: of the task, without its `progress`.

        Raises:
            EngineError: too many jobs wait already.
        """
        return self._engine.start(task, **arguments)

    def job(self, job_id: str) -> JobStatus:
        """Where a job stands; asking renews its lease.

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
