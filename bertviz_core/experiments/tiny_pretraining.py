"""A BERT small enough to be pre-trained while somebody watches.

The same pipeline as that of the models that ship, on a page of text: it takes
seconds, and learns nothing but this page.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import entropy

from bertviz_core.analysis.sampling import softmax
from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError, TrainingError
from bertviz_core.experiments.tiny_results import (
    MAX_TINY_CHARACTERS,
    MAX_TINY_STEPS,
    TinyLook,
    TinyRun,
)
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.sentence_splitting import split_sentences
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS, TokenizedText
from bertviz_core.training.pretrain.batches import Batches
from bertviz_core.training.pretrain.corpus import EncodedCorpus, encode_sentences
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.settings import (
    MaskingSettings,
    Phase,
    PretrainSettings,
    SequenceSettings,
)
from bertviz_core.training.pretrain.trainer import Trainer
from bertviz_core.training.schedule import OptimizerSettings

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

    Masked words alone: a page has too few sentences to learn from which of them follow
    each other. Words of the sentence that the page lacks are `[UNK]` to the network. It
    tells the run so far after each look; that may raise to cancel.

    Raises:
        TextError: the page is too long, or the sentence has not one `[MASK]`.
        TrainingError: fewer than two sentences on the page, or a number of steps
            that is not in 1 to `MAX_TINY_STEPS`.
    """
    _require_sizes(text, num_steps)
    tokenizer, corpus = _read_page(text)
    question = _read_question(sentence, tokenizer)
    settings = _settings(tokenizer.vocab_size, num_steps, seed)
    trainer = Trainer(settings, tokenizer.vocab_size)
    batches = Batches(corpus, TokenKinds.of(tokenizer.vocabulary), settings)
    forward = CompiledForward(trainer.bert)
    guesses = functools.partial(_guesses, forward, question, tokenizer.vocabulary)
    frequencies = np.unique(corpus.tokens, return_counts=True)[1]
    run = TinyRun(
        tokens=question.tokens,
        vocab_size=tokenizer.vocab_size,
        num_weights=trainer.bert.count_params(),
        num_tokens=len(corpus.tokens),
        num_steps=num_steps,
        frequency_loss=float(entropy(frequencies)),
        looks=(TinyLook(0, None, None, guesses()),),
    )
    tell(run)
    for done in range(0, num_steps, _STEPS_PER_LOOK):
        count = min(_STEPS_PER_LOOK, num_steps - done)
        means = trainer.run(batches, 0, done, count).means
        told = means["mlm_loss"], means["mlm_accuracy"]
        look = TinyLook(done + count, *told, guesses())
        run = dataclasses.replace(run, looks=(*run.looks, look))
        tell(run)
    return run


def _guesses(
    forward: CompiledForward, question: TokenizedText, vocabulary: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    inputs = {
        "input_ids": question.input_ids[None],
        "mlm_positions": question.mask_positions,
    }
    probabilities = softmax(forward(inputs, ("mlm_logits",))["mlm_logits"][0])
    best = np.argsort(-probabilities, kind="stable")[:_NUM_GUESSES]
    return tuple((vocabulary[i], float(probabilities[i])) for i in best)


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
    sentences = (
        (sentence, number, 0)
        for number, paragraph in enumerate(paragraphs)
        for sentence in paragraph
    )
    return tokenizer, encode_sentences(sentences, tokenizer)


def _read_question(sentence: str, tokenizer: BertTokenizer) -> TokenizedText:
    question = tokenizer.encode(sentence)
    if len(question.mask_positions) != 1:
        raise TextError(
            "The sentence to watch needs one [MASK]. Received: {count}. Put [MASK] in "
            "the place of one word.",
            count=len(question.mask_positions),
        )
    return question


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
        # Nothing of what is asked for is to be seen: a loss below that of word
        # frequencies then comes from the words around alone.
        masking=MaskingSettings(mask_rate=1.0, random_rate=0.0),
        sequences=SequenceSettings(pair_rate=0.0, short_rate=0.9, join_rate=0.0),
        optimizer=OptimizerSettings(learning_rate=5e-3, warmup_rate=0.05),
        precision="float32",
        seed=seed,
    )
