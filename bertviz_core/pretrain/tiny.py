"""A BERT small enough to be pre-trained while somebody watches.

The same pipeline as that of the models that ship, on a page of text: it takes
seconds, and learns nothing but this page.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bertviz_core.analysis.sampling import softmax
from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError, TrainingError
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.pretrain.batches import Batches
from bertviz_core.pretrain.corpus import EncodedCorpus, encode_documents
from bertviz_core.pretrain.masking import TokenKinds
from bertviz_core.pretrain.settings import (
    OptimizerSettings,
    Phase,
    PretrainSettings,
    SequenceSettings,
)
from bertviz_core.pretrain.tiny_results import (
    MAX_TINY_CHARACTERS,
    MAX_TINY_STEPS,
    TinyLook,
    TinyRun,
)
from bertviz_core.pretrain.trainer import Trainer
from bertviz_core.sentence_splitting import split_sentences
from bertviz_core.tokenizer import SPECIAL_TOKENS, BertTokenizer

_MAX_TOKENS = 16
_NUM_ROWS = 32
_STEPS_PER_LOOK = 20
_NUM_GUESSES = 5

Tell = Callable[[TinyRun], None]


def pretrain_tiny(
    text: str,
    sentence: str,
    num_steps: int = 400,
    seed: int = 1,
    tell: Tell = lambda _: None,
) -> TinyRun:
    """Pre-trains two small layers on a page, and asks them one thing over and over.

    Masked words alone: a page has too few sentences to learn from which of them
    follow each other.

    Args:
        text: the page, English or Chinese.
        sentence: with one `[MASK]`; words that the page lacks are `[UNK]` to the
            network.
        num_steps: optimiser steps.
        seed: of the weights and the masks.
        tell: told the run so far after each look; may raise to cancel.

    Raises:
        TextError: the page is too long, or the sentence has not one `[MASK]`.
        TrainingError: fewer than two sentences on the page, or a number of steps
            that is not in 1 to `MAX_TINY_STEPS`.
    """
    _require_sizes(text, num_steps)
    tokenizer, corpus = _read_page(text)
    question = tokenizer.encode(sentence)
    if len(question.mask_positions) != 1:
        raise TextError(
            "The sentence to watch needs one [MASK]. Received: {count}. Put [MASK] in "
            "the place of one word.",
            count=len(question.mask_positions),
        )
    settings = _settings(tokenizer.vocab_size, num_steps, seed)
    trainer = Trainer(settings, tokenizer.vocab_size)
    batches = Batches(corpus, TokenKinds.of(tokenizer.vocabulary), settings)
    ask = CompiledForward(trainer.bert)
    inputs = {
        "input_ids": question.input_ids[None],
        "mlm_positions": question.mask_positions,
    }

    def look(done: int, means: dict[str, float]) -> TinyLook:
        logits = ask(inputs, ("mlm_logits",))["mlm_logits"][0]
        guesses = _best(softmax(logits), tokenizer.vocabulary)
        return TinyLook(done, means.get("mlm_loss"), means.get("mlm_accuracy"), guesses)

    looks = [look(0, {})]

    def so_far() -> TinyRun:
        return TinyRun(
            question.tokens,
            tokenizer.vocab_size,
            trainer.bert.count_params(),
            len(corpus.tokens),
            num_steps,
            _frequency_loss(corpus.tokens),
            tuple(looks),
        )

    tell(so_far())
    while (done := looks[-1].num_steps) < num_steps:
        count = min(_STEPS_PER_LOOK, num_steps - done)
        means = trainer.run(batches, 0, done, count).means
        looks.append(look(done + count, means))
        tell(so_far())
    return so_far()


def _require_sizes(text: str, num_steps: int) -> None:
    if len(text) > MAX_TINY_CHARACTERS:
        raise TextError(
            "The page is too long to learn from while somebody watches. Received: "
            "{count} characters. Keep at most {most}.",
            count=len(text),
            most=MAX_TINY_CHARACTERS,
        )
    if not 1 <= num_steps <= MAX_TINY_STEPS:
        raise TrainingError(
            "The number of steps cannot be used. Received: {count}. Give 1 to {most}.",
            count=num_steps,
            most=MAX_TINY_STEPS,
        )


def _read_page(text: str) -> tuple[BertTokenizer, EncodedCorpus]:
    """The page in tokens. Its vocabulary is its own words, in alphabetical order."""
    paragraphs = split_sentences(text)
    if sum(len(paragraph) for paragraph in paragraphs) < 2:
        raise TrainingError(
            "The page is too short to learn from. Received: {count} characters. Write "
            "at least two sentences; a hundred are better.",
            count=len(text),
        )
    words = BertTokenizer(SPECIAL_TOKENS).split_words(text)
    tokenizer = BertTokenizer((*SPECIAL_TOKENS, *sorted(set(words))))
    documents = ((0, list(paragraph)) for paragraph in paragraphs)
    return tokenizer, encode_documents(documents, tokenizer)


def _settings(vocab_size: int, num_steps: int, seed: int) -> PretrainSettings:
    """Found by trying: half a minute on two cores, and the page is learnt."""
    batch_tokens = _MAX_TOKENS * _NUM_ROWS
    return PretrainSettings(
        model=BertConfig(
            vocab_size=vocab_size,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=512,
            # Narrow layers need wider weights than BERT's 0.02.
            initializer_range=0.1,
        ),
        phases=(Phase(_MAX_TOKENS, num_steps * batch_tokens, batch_tokens),),
        sequences=SequenceSettings(pair_rate=0.0, short_rate=0.9, join_rate=0.0),
        optimizer=OptimizerSettings(learning_rate=5e-3, warmup_rate=0.05),
        precision="float32",
        seed=seed,
    )


def _best(
    probabilities: np.ndarray, vocabulary: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    best = np.argsort(-probabilities, kind="stable")[:_NUM_GUESSES]
    return tuple((vocabulary[i], float(probabilities[i])) for i in best)


def _frequency_loss(tokens: np.ndarray) -> float:
    """Entropy of the words of the page, in nats."""
    counts = np.unique(tokens, return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())
