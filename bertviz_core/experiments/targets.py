"""The answer that an experiment watches: found in a text, read from logits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.logit_rows import ranks_of
from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.analysis.two_sentences import ranks
from bertviz_core.errors import TextError, require_index
from bertviz_core.experiments.cause_results import Answers, Prediction, Target
from bertviz_core.explorer import Explorer
from bertviz_core.interventions import Interventions
from bertviz_core.tasks import Progress, untold
from bertviz_core.trace import LOGITS, Arrays, TokenizedText

NUM_TOP = 5
# Tokens of all copies that go through a block at once; bounds the memory.
MOST_TOKENS = 2048

# (level, rows) to float `[len(rows), T, H]`, see `Question.run_upwards`.
Enter = Callable[[int, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Question:
    """A text, ready for the model, and what is asked of it."""

    explorer: Explorer  # whose model is asked
    target: Target  # what is watched
    tokenized: TokenizedText  # the text
    inputs: Arrays  # of `CompiledForward`, a batch of one

    def run(
        self, interventions: Interventions | None = None, also: tuple[str, ...] = ()
    ) -> tuple[Prediction, Arrays]:
        """One forward pass, perhaps with heads, edges and neurons switched off.

        Returns:
            What the model says about the target; and, each without its batch
            axis, the head's logits and the outputs of `Bert` in `also`.
        """
        inputs = self.inputs
        if interventions is not None:
            config, num_tokens = self.explorer.config, self.tokenized.num_tokens
            inputs = inputs | interventions.inputs(config, num_tokens)
        name = LOGITS[self.target.head]
        outputs = self.explorer.forward(inputs, (name, *also))
        found = {key: array[0] for key, array in outputs.items()}
        return read_prediction(found[name], self.target), found

    def run_upwards(
        self, levels: np.ndarray, enter: Enter, progress: Progress = untold
    ) -> np.ndarray:
        """Brings changed copies of the text from where each begins to the answer.

        A change in layer l leaves the layers below as they were. So a copy begins
        where it differs, from hidden states that are known, and all copies that have
        reached a layer go through it as one batch. In the last block only the position
        that is read looks at the others.

        Args:
            levels: int `[R]`, not falling: the hidden state, 0 to L, that copy r
                begins with; 0 is the embedding output.
            enter: called with a level and the rows that begin there; gives their
                hidden states `[M, T, H]`.

        Returns:
            float32 `[R, C]`: the logits of the target's head.
        """
        config, forward = self.explorer.config, self.explorer.forward
        top, num_tokens = config.num_hidden_layers, self.tokenized.num_tokens
        most_rows = max(1, MOST_TOKENS // num_tokens)
        chunks = np.array_split(np.arange(len(levels)), -(-len(levels) // most_rows))
        answers = []
        for index, rows in enumerate(chunks):
            states = np.empty((0, num_tokens, config.hidden_size), "float32")
            first = int(levels[rows[0]])
            for level in range(first, top + 1):
                within = (level - first) / (top - first + 1)
                progress((index + within) / len(chunks), "layers")
                if len(states):
                    states = self._carry(level - 1, states)
                if len(new := rows[levels[rows] == level]):
                    entering = enter(level, new)
                    if level == top:
                        entering = entering[:, self._place]
                    states = (
                        np.concatenate([states, entering]) if len(states) else entering
                    )
            answers.append(forward.read(self.target.head, states[:, 0])["output"])
        return np.concatenate(answers)

    @property
    def _place(self) -> slice:
        return slice(self.target.position, self.target.position + 1)

    def _carry(self, layer: int, states: np.ndarray) -> np.ndarray:
        """One block: float `[B, T, H]` in and out, `[B, 1, H]` from the last."""
        forward, place = self.explorer.forward, self._place
        if layer < self.explorer.config.num_hidden_layers - 1:
            return forward.block(layer, states, keep=("output",))["output"]
        looked_at = forward.block(
            layer, states, keep=("attention.key", "attention.value")
        )
        looks = forward.visible(states.shape[1])[None, None, place]
        return forward.block(
            layer, states[:, place], looks, ("output",), replace=looked_at
        )["output"]


def ask(
    explorer: Explorer, text: str, target: Target, pair: str | None = None
) -> Question:
    """Checks that a text has the target, and makes it ready.

    What is beyond the model's last position is left out.

    Raises:
        TextError: no such token in the text, or see `Explorer.tokenize`.
    """
    explorer.require_head(target.head)
    model = explorer.loaded.model
    sizes = {
        "mlm": explorer.config.vocab_size,
        "nsp": 2,
        "classifier": model.num_labels,
    }
    require_index("index", target.index, sizes[target.head])
    tokenized = explorer.tokenize(text, pair, cut=True)
    require_token(target.position, tokenized.num_tokens)
    inputs = tokenized.inputs
    if target.head == "mlm":
        inputs["mlm_positions"] = np.array([target.position], "int32")
    return Question(explorer, target, tokenized, inputs)


def require_token(index: int, num_tokens: int) -> None:
    """Refuses the index of a token that a text does not have.

    Raises:
        TextError: names its number, from 1, and how many there are.
    """
    if not 0 <= index < num_tokens:
        raise TextError(
            "The text has no token number {position}. Received: {num_tokens} tokens. "
            "Choose a token of this text.",
            position=index + 1,
            num_tokens=num_tokens,
        )


def read_prediction(logits: np.ndarray, target: Target) -> Prediction:
    """What all outputs of a head `[C]` say about a target."""
    return Prediction(
        logit=float(logits[target.index]),
        probability=float(softmax(logits)[target.index]),
        rank=int(ranks_of(logits[None], np.array([target.index]))[0]),
        is_number=len(logits) == 1,
    )


def compare_answers(before: Arrays, after: Arrays, target: Target) -> Answers:
    """The likeliest answers of two passes, whichever of them they come from.

    Both are of `Question.run`. The target's is among them.
    """
    both = [found[LOGITS[target.head]] for found in (before, after)]
    orders = [rank_order(logits) for logits in both]
    best = {target.index, *(int(i) for order in orders for i in order[:NUM_TOP])}
    ids = orders[0][np.isin(orders[0], list(best))]
    is_number = len(both[0]) == 1
    values = [logits if is_number else softmax(logits) for logits in both]
    return Answers(
        ids=ids,
        values=np.stack([side[ids] for side in values]).astype(np.float64),
        ranks=np.stack([ranks(logits)[ids] for logits in both]),
    )
