"""Formulas of BERT as they circulate wrongly, each put into the model and measured."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from bertviz_core.analysis.logit_rows import softmax_rows, top_words
from bertviz_core.config import BertConfig
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.experiments.read_model_results import FormulaEffect, HeldOut
from bertviz_core.experiments.scoring import score_sentences
from bertviz_core.experiments.step_table import describe
from bertviz_core.experiments.word_results import SentenceScore
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import bundled_sentences
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import Trace

NUM_SENTENCES = 100
_NUM_GUESSES = 5  # best words to keep
OTHER_GELU = {"gelu": "gelu_new", "gelu_new": "gelu"}  # with erf, with tanh
_RIGHT_NORM = (
    r"y = \gamma \odot \frac{x - \mu(x)}"
    r"{\sqrt{\frac{1}{H} \sum_{i} (x_{i} - \mu(x))^2 + \varepsilon}} + \beta"
)
# By name, in the order in which they are met in the pass: what stands in its place in
# BERT, where `step_table` does not say it in these letters, and what is said wrongly.
WRONG: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "embedding_norm": ("", "x^{(0)} = e"),
        "norm_root": (
            _RIGHT_NORM,
            r"y = \gamma \odot \frac{x - \mu(x)}"
            r"{\sqrt{\frac{1}{H}} \sum_{i} (x_{i} - \mu(x))^2 + \varepsilon} + \beta",
        ),
        "norm_epsilon": (
            _RIGHT_NORM,
            r"y = \gamma \odot \frac{x - \mu(x)}"
            r"{\sqrt{\frac{1}{H} \sum_{i} (x_{i} - \mu(x))^2} + \varepsilon} + \beta",
        ),
        "score_scale": ("", r"S_n = \frac{Q_n K_n^\top}{\sqrt{H}}"),
        "feed_forward": (
            r"f = \mathrm{act}(y W^{\mathrm{in}} + b^{\mathrm{in}})\, W^{\mathrm{out}}"
            r" + b^{\mathrm{out}}",
            r"f = \mathrm{act}(y)\, W^{\mathrm{out}} + b^{\mathrm{out}}",
        ),
        "gelu_curve": ("", ""),
        "pooler": (
            r"c = \tanh(h_{\mathtt{[CLS]}} W^{\mathrm{pool}} + b^{\mathrm{pool}})",
            r"c = \tanh(h)",
        ),
    }
)
# The operation that each is about.
OPERATION = {
    "norm_root": "output_norm",
    "norm_epsilon": "output_norm",
    "score_scale": "attention_scores",
    "feed_forward": "intermediate",
    "gelu_curve": "neurons",
    "pooler": "pooler_dense",
    "embedding_norm": "embedding_norm",
}


def formulas_of(name: str, config: BertConfig) -> tuple[str, str]:
    """The right and the wrong formula of a name in `WRONG`, LaTeX."""
    right, wrong = WRONG[name]

    def here(activation: str) -> str:
        return describe(OPERATION[name], config.pre_norm, activation).formula

    if name == "gelu_curve":
        return here(config.hidden_act), here(OTHER_GELU[config.hidden_act])
    return right or here(config.hidden_act), wrong


def wrong_in(config: BertConfig, heads: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the wrong formulas that a model can be given."""
    lacks = {
        "gelu_curve": config.hidden_act not in OTHER_GELU,
        "pooler": "pooler" not in heads,
        "feed_forward": config.intermediate_size < config.hidden_size,
    }
    return tuple(name for name in WRONG if not lacks.get(name))


@task()
def effect_of_formula(
    explorer: Explorer, text: str, name: str, token: int, pair: str | None = None
) -> FormulaEffect:
    """Reads one text, cut, with a formula of `wrong_in` in the model, and without.

    The served model is not changed: a copy of it is, see `bert.twin_of`. A text without
    a mask is guessed at a token.
    """
    from bertviz_core.experiments.quoted_lines import quote_whole

    masks = explorer.tokenize(text, pair, cut=True).mask_positions.tolist()
    other, function = explorer_with(explorer, name)
    right, wrong = (
        one.trace(text, pair, cut=True, mlm_positions=masks or [token])
        for one in (explorer, other)
    )
    tokens, probs = _guesses(explorer, right, wrong)
    own = _wide(right.hidden_states)
    return FormulaEffect(
        name=name,
        place=None if function is None else quote_whole(function),
        differences=np.abs(own - _wide(wrong.hidden_states)).max(axis=(1, 2)),
        sizes=np.abs(own).max(axis=(1, 2)),
        pooled_difference=_pooled_difference(right, wrong),
        next_probs=_next_probs(right, wrong) if pair else None,
        top_tokens=tokens,
        top_probs=probs,
    )


@task()
def held_out_with(
    explorer: Explorer, name: str, language: str, progress: Progress = untold
) -> HeldOut:
    """Hides each token of the bundled sentences in turn, with both formulas.

    Source: Salazar et al. 2020 (arXiv:1910.14659), for the score.
    """
    sentences = bundled_sentences(language)[:NUM_SENTENCES]
    texts = [(sentence.text, sentence.pair) for sentence in sentences]
    other, _ = explorer_with(explorer, name)

    def half(start: float) -> Progress:
        return lambda done, said: progress(start + done / 2, said)

    right = score_sentences(explorer, texts, progress=half(0), cut=True)
    wrong = score_sentences(other, texts, progress=half(0.5), cut=True)
    return HeldOut(
        num_tokens=sum(len(score.positions) for score in right),
        perplexities=(_perplexity(right), _perplexity(wrong)),
        right_firsts=(_share_first(right), _share_first(wrong)),
    )


def explorer_with(
    explorer: Explorer, name: str
) -> tuple[Explorer, Callable[..., object] | None]:
    """A copy of a model with a wrong formula in it, and the function that is wrong.

    `None` for a curve that is right elsewhere.
    """
    if name not in wrong_in(explorer.config, explorer.loaded.model.heads):
        raise ValueError(f"`name` must be of `wrong_in`. Received: {name}.")
    return explorer.keep_form(name, lambda: _with_formula(explorer, name))


def _with_formula(
    explorer: Explorer, name: str
) -> tuple[Explorer, Callable[..., object] | None]:
    from bertviz_core.experiments.wrong_parts import put_in
    from bertviz_core.model.bert import twin_of

    model = explorer.loaded.model
    if name == "gelu_curve":
        other = OTHER_GELU[model.config.hidden_act]
        twin, function = twin_of(model, hidden_act=other), None
    else:
        twin = twin_of(model)
        function = put_in(twin, name)
    return Explorer(dataclasses.replace(explorer.loaded, model=twin)), function


def _guesses(
    explorer: Explorer, right: Trace, wrong: Trace
) -> tuple[tuple[tuple[tuple[str, ...], ...], ...], np.ndarray]:
    if right.mlm_logits is None or wrong.mlm_logits is None:
        return (), np.zeros((2, 0, _NUM_GUESSES))
    both = right.mlm_logits, wrong.mlm_logits
    ids = [top_words(logits, _NUM_GUESSES) for logits in both]
    probs = [softmax_rows(logits) for logits in both]
    return (
        tuple(tuple(piece_names(explorer, row) for row in rows) for rows in ids),
        np.take_along_axis(np.array(probs), np.array(ids), axis=-1),
    )


def _pooled_difference(right: Trace, wrong: Trace) -> float | None:
    if right.pooled_output is None:
        return None
    return float(np.abs(right.pooled_output - _wide(wrong.pooled_output)).max())


def _next_probs(right: Trace, wrong: Trace) -> np.ndarray | None:
    if right.nsp_logits is None:
        return None
    both = np.array([right.nsp_logits, wrong.nsp_logits])
    return softmax_rows(both)[:, 0]


def _perplexity(scores: Sequence[SentenceScore]) -> float:
    return float(np.exp(-np.concatenate([one.log_probs for one in scores]).mean()))


def _share_first(scores: Sequence[SentenceScore]) -> float:
    return float((np.concatenate([one.ranks for one in scores]) == 1).mean())


def _wide(array: np.ndarray | None) -> np.ndarray:
    if array is None:
        raise ValueError("A whole trace has it.")
    return array.astype(np.float64)
