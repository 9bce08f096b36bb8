"""The part of `Client` that asks what happens inside the layers."""

from __future__ import annotations

from typing import cast

from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.step_results import (
    LayerStep,
    NeuronActivations,
    NeuronWords,
    NormInput,
    PartNumbers,
    ResidualStream,
    StepTable,
    StrongNeurons,
)


class LayerClient:
    """Methods of `Client`; see there for what all of them raise.

    All of them read one trace, which the worker keeps for a while: none but the first
    one after a new text runs the network.
    """

    _engine: Engine

    def layer_steps(
        self, model: str, text: str, cut: bool = False
    ) -> tuple[LayerStep, ...]:
        """Every operation in its order, the masked-word head asked at one token.

        Args:
            model: its id.
            text: the text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call("layer_steps", model=model, text=text, cut=cut)
        return cast("tuple[LayerStep, ...]", answer)

    def part_numbers(
        self, model: str, text: str, part: str, token: int, cut: bool = False
    ) -> PartNumbers:
        """What every step of a part of the network computed for one token.

        Args:
            model: its id.
            text: the text.
            part: "embeddings", "layer_2" (from 0) or "heads", see `LayerStep.part`.
            token: index of the token.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "part_numbers", model=model, text=text, part=part, token=token, cut=cut
        )
        return cast(PartNumbers, answer)

    def step_table(
        self,
        model: str,
        text: str,
        step: str,
        token: int,
        head: int = 0,
        cut: bool = False,
    ) -> StepTable:
        """What a step computed for 64 tokens around one.

        Args:
            model: its id.
            text: the text.
            step: name of a step with an axis of tokens.
            token: index of the token.
            head: from 0; not read for a step without heads.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "step_table",
            model=model,
            text=text,
            step=step,
            token=token,
            head=head,
            cut=cut,
        )
        return cast(StepTable, answer)

    def norm_input(
        self, model: str, text: str, step: str, token: int, cut: bool = False
    ) -> NormInput:
        """What a layer norm got for one token, and its weights.

        Args:
            model: its id.
            text: the text.
            step: name of a step whose operation ends in "_norm".
            token: index of the token.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "norm_input", model=model, text=text, step=step, token=token, cut=cut
        )
        return cast(NormInput, answer)

    def residual_stream(
        self, model: str, text: str, cut: bool = False
    ) -> ResidualStream:
        """Lengths of the residual and of both updates, at every layer and token.

        For large models and long texts there is a job, see `Client.start`.

        Args:
            model: its id.
            text: the text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call("residual_stream", model=model, text=text, cut=cut)
        return cast(ResidualStream, answer)

    def strongest_neurons(
        self,
        model: str,
        text: str,
        layer: int,
        token: int,
        num_neurons: int = 10,
        order: str = "activation",
        cut: bool = False,
    ) -> StrongNeurons:
        """The feed-forward neurons that are strongest at a token.

        Args:
            model: its id.
            text: the text.
            layer: from 0.
            token: index of the token.
            num_neurons: how many.
            order: "activation" or "contribution", see `neurons.strongest_neurons`.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "strongest_neurons",
            model=model,
            text=text,
            layer=layer,
            token=token,
            num_neurons=num_neurons,
            order=order,
            cut=cut,
        )
        return cast(StrongNeurons, answer)

    def neuron_activations(
        self, model: str, text: str, layer: int, neuron: int, cut: bool = False
    ) -> NeuronActivations:
        """One neuron at every token.

        Args:
            model: its id.
            text: the text.
            layer: from 0.
            neuron: from 0.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "neuron_activations",
            model=model,
            text=text,
            layer=layer,
            neuron=neuron,
            cut=cut,
        )
        return cast(NeuronActivations, answer)

    def neuron_words(
        self,
        model: str,
        text: str,
        layer: int,
        neuron: int,
        token: int | None = None,
        top_k: int = 10,
        cut: bool = False,
    ) -> NeuronWords:
        """Words that a neuron speaks for and against.

        Args:
            model: its id.
            text: the text; not read without `token`.
            layer: from 0.
            neuron: from 0.
            token: index of the token for the reading "head"; `None` for "embedding",
                see `NeuronWords`.
            top_k: words on each side.
            cut: leaves out what is beyond the last position.

        Raises:
            CheckpointError: the reading "head" of a model without masked-word head.
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "neuron_words",
            model=model,
            text=text,
            layer=layer,
            neuron=neuron,
            token=token,
            top_k=top_k,
            cut=cut,
        )
        return cast(NeuronWords, answer)
