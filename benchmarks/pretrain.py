"""Pre-training beside `transformers`, in one run, and what making its batches takes.

The network of the English model that ships, the same batches, everything learns. The
peer is `BertForPreTraining` under AdamW in a plain loop of torch, with its batches
ready in memory; ours makes them from text as in a real run.
"""

import dataclasses
import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.table import Table
from benchmarks.trainers import (
    Turns,
    in_a_process,
    median_ratio,
    on_tensorflow,
    speeds_in_turns,
)
from bertviz_core.environment import multiplies_bfloat16
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.pretrain import BUNDLED
from bertviz_core.training.pretrain.batches import Batches
from bertviz_core.training.pretrain.corpus import encode_sentences
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.settings import Phase, PretrainSettings

SETTINGS = BUNDLED["bert-mini-en"]
BATCH_TOKENS = 8192
LENGTHS = (128, 512)  # tokens of a row
STEPS = 4  # of a turn
ROUNDS = 3
WAITING_STEPS = 20
MANY_STEPS = 1000
PEER_BATCHES = 4  # that the peer reads in turn

OURS, OURS_ADAMW = "ours, Muon (as shipped)", "ours, AdamW"
PEER, PEER_BF16 = "transformers, AdamW", "transformers, AdamW, bfloat16"
NAMES = (OURS, OURS_ADAMW, PEER, PEER_BF16)


def measure() -> Table:
    """Runs all lengths and peers."""
    title = f"Pre-training the shape of the English model, {BATCH_TOKENS} tokens a step"
    if importlib.util.find_spec("torch") is None:
        return Table(title, ("peer",), (), ("Not measured: torch not installed.",))
    return Table(
        title,
        (
            "tokens a row",
            "peer",
            "tokens/s",
            "ours (AdamW) / peer",
            "making a batch",
            "waiting for one",
            "others",
        ),
        [row for length in LENGTHS for row in _compare(length)],
        (
            f"Median of {ROUNDS} turns of {STEPS} steps; the ratio is the median over "
            "rounds. Ours is in bfloat16 where the processor multiplies it.",
            "'making a batch': the time that it takes alone, as a share of a step; in "
            "training two threads make batches while steps run.",
            f"'waiting for one': share of the time of {WAITING_STEPS} steps, run as "
            "`pretrain` runs them, in which the next batch was not ready.",
            "'others': cores busy with other work, most in any round.",
        ),
    )


def _compare(length: int) -> list[tuple[str, ...]]:
    names = [name for name in NAMES if name != PEER_BF16 or multiplies_bfloat16()]
    tasks = {name: (train, name, length) for name in names}
    speeds, most = speeds_in_turns(tasks, BATCH_TOKENS, STEPS, ROUNDS)
    making = _making_rate(length, statistics.median(speeds[OURS]))
    waiting = f"{in_a_process(waiting_rate, length):.1%}"
    rows: list[tuple[str, ...]] = []
    for name in names:
        ratio = median_ratio(speeds[OURS_ADAMW], speeds[name])
        is_peer = name in (PEER, PEER_BF16)
        rows.append(
            (
                str(length),
                name,
                f"{statistics.median(speeds[name]):.0f}",
                f"{ratio:.2f}" if is_peer else "",
                "" if is_peer else making,
                waiting if name == OURS else "",
                f"{most:.1f}",
            )
        )
    return rows


def train(turns: Turns, name: str, length: int) -> None:
    """Pre-trains; a task for `TrainingPeer`."""
    loops: dict[str, Callable[[Turns, PretrainSettings], None]] = {
        OURS: _ours, OURS_ADAMW: _ours, PEER: _transformers, PEER_BF16: _transformers,
    }  # fmt: skip
    settings = settings_of(length)
    if name == OURS_ADAMW:
        optimizer = dataclasses.replace(settings.optimizer, name="adamw")
        settings = dataclasses.replace(settings, optimizer=optimizer)
    elif name == PEER:
        settings = dataclasses.replace(settings, precision="float32")
    loops[name](turns, settings)


def settings_of(length: int) -> PretrainSettings:
    """Those of the English model, in one phase of one length."""
    settings = PretrainSettings.from_json_file(SETTINGS)
    corpus = dataclasses.replace(settings.corpus, weights={})
    phase = Phase(length, BATCH_TOKENS * MANY_STEPS, BATCH_TOKENS)
    return dataclasses.replace(
        settings, corpus=corpus, phases=(phase,), precision="auto"
    )


def batches_of(settings: PretrainSettings) -> Batches:
    """Batches of a made-up language with as many word pieces as the real one."""
    size = settings.model.vocab_size - len(SPECIAL_TOKENS)
    words = [f"w{index}" for index in range(size)]
    vocabulary = (*SPECIAL_TOKENS, *words)
    rng = np.random.default_rng(0)
    sentences = [
        (" ".join(rng.choice(words, 20)), index // 30, 0) for index in range(30_000)
    ]
    corpus = encode_sentences(sentences, BertTokenizer(vocabulary))
    return Batches(corpus, TokenKinds.of(vocabulary), settings)


def _making_rate(length: int, tokens_per_second: float) -> str:
    """The time that making a batch takes, as a share of a step."""
    batches = batches_of(settings_of(length))
    batches.batch(0, 0)  # plans the epoch
    began = time.perf_counter()
    for step in range(1, 1 + STEPS):
        batches.batch(0, step)
    seconds = (time.perf_counter() - began) / STEPS
    return f"{seconds / (BATCH_TOKENS / tokens_per_second):.1%}"


def waiting_rate(length: int) -> float:
    """Share of the time of a stretch of training that it waits for batches."""
    on_tensorflow()
    from bertviz_core.training.pretrain.trainer import Trainer

    settings = settings_of(length)
    trainer = Trainer(settings, settings.model.vocab_size)
    batches = batches_of(settings)
    trainer.run(batches, 0, 0, 1)  # compiles
    report = trainer.run(batches, 0, 1, WAITING_STEPS)
    return report.waiting_seconds / report.seconds


def _ours(turns: Turns, settings: PretrainSettings) -> None:
    on_tensorflow()
    from bertviz_core.training.pretrain.trainer import Trainer

    trainer = Trainer(settings, settings.model.vocab_size)
    batches = batches_of(settings)

    def stepped() -> bool:
        turns.step()
        return False

    turns.begin()
    trainer.run(batches, 0, 0, MANY_STEPS, stepped)


def _transformers(turns: Turns, settings: PretrainSettings) -> None:
    import torch
    from transformers import BertConfig, BertForPreTraining, logging

    logging.set_verbosity_error()
    torch.manual_seed(0)
    sizes = {
        name: getattr(settings.model, name)
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
        )
    }
    model = BertForPreTraining(
        BertConfig(**sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    ).train()
    asked = settings.optimizer
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=asked.learning_rate, weight_decay=asked.weight_decay
    )
    made = batches_of(settings)
    batches = [_torch_batch(*made.batch(0, step)) for step in range(PEER_BATCHES)]
    is_bf16 = settings.precision != "float32"
    turns.begin()
    for batch in itertools.cycle(batches):
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        turns.step()


def _torch_batch(
    inputs: dict[str, np.ndarray], labels: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Our batch as `BertForPreTraining` takes it; of several pairs a row, the first."""
    import torch

    input_ids = inputs["input_ids"]
    targets = np.full(input_ids.shape, -100)
    rows, places = np.nonzero(labels["mlm_weights"])
    targets[rows, inputs["mlm_positions"][rows, places]] = labels["mlm_labels"][
        rows, places
    ]
    is_next = np.where(labels["nsp_weights"] > 0, labels["nsp_labels"], -100)
    given = {
        "input_ids": input_ids,
        "token_type_ids": inputs["token_type_ids"],
        "labels": targets,
        "next_sentence_label": is_next.reshape(len(input_ids), -1)[:, 0],
    }
    return {name: torch.tensor(values).long() for name, values in given.items()}
