"""What the processes do that play several devices or machines.

To import a backend takes as long as to train on it here. So this imports none, and is
imported by what `started` starts.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from bertviz_core.cli import main

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 300


def started(function, *given, before="", **variables):
    """Calls a function of this file in a new process, after a line of Python."""
    program = f"""{before}
import json, sys
from tests.core import pretrain_processes
print(json.dumps(pretrain_processes.{function}(*json.loads(sys.argv[1]))))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(given)],
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def on_copies(*works):
    """Works at once, each in a copy of this process.

    Args:
        works: of each the variables of its environment, the name of a function, and
            what that is given.
    """
    from bertviz_core.training.pretrain import run  # noqa: F401 - once for all copies

    way = "fork" if sys.platform == "linux" else "spawn"
    with multiprocessing.get_context(way).Pool(len(works)) as pool:
        found = dict(pool.imap_unordered(_on_copy, enumerate(works)))
    return [found[index] for index in range(len(works))]


def _on_copy(numbered):
    index, (variables, name, *given) = numbered
    signal.alarm(LIMIT_SECONDS)  # where another one is gone, it would wait for ever
    os.environ |= variables
    return index, globals()[name](*given)


def said_and_losses(commands, *given):
    return said_by(*commands), losses_on_two(*given)


def said_by(*commands):
    """Runs `pretrain`, in turn.

    Args:
        commands: of each a step to stop at, or `None`, and the words that follow.
    """
    said = []

    def echo_and_stop(text=None, **_):
        said.append(str(text))
        if said[-1].startswith(f"step {stop_at}/"):
            os.kill(os.getpid(), signal.SIGTERM)

    click.echo = echo_and_stop  # the process is there for nothing else
    for stop_at, *words in commands:  # noqa: B007 - `echo_and_stop` reads it
        main(["pretrain", *words], standalone_mode=False)
    return said


def losses_on_two(settings, encoded):
    """Of each of four steps; devices are counted when the first thing is computed."""
    import keras

    from bertviz_core.training.pretrain.batches import Batches
    from bertviz_core.training.pretrain.corpus import open_prepared
    from bertviz_core.training.pretrain.masking import TokenKinds
    from bertviz_core.training.pretrain.settings import PretrainSettings
    from bertviz_core.training.pretrain.trainer import Trainer

    on_jax = keras.backend.backend() == "jax"
    if not on_jax:
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        part = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [part, part])
    settings = PretrainSettings.from_json_file(Path(settings))
    corpus, tokenizer = open_prepared(Path(encoded), settings)
    batches = Batches(corpus, TokenKinds.of(tokenizer.vocabulary), settings)
    trainer = Trainer(settings, tokenizer.vocab_size, num_devices=2)
    sharing = []

    def look():
        sharing.append(keras.distribution.distribution() is not None)
        return False

    losses = [trainer.run(batches, 0, step, 1, look).means for step in range(4)]
    # Keras on JAX cuts a batch up only while a distribution is set.
    assert sharing == [on_jax] * len(losses), sharing
    return losses
