"""From a trainer to a model that everybody can open."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from bertviz_core.checkpoints.export import save_model
from bertviz_core.checkpoints.library import LoadedModel
from bertviz_core.model.bert import PRETRAINING_HEADS, Bert
from bertviz_core.pretrain.settings import PretrainSettings
from bertviz_core.pretrain.trainer import Trainer
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import LoadReport
from bertviz_core.weights import as_numpy
from bertviz_core.whole_files import replace_folder


def save_model_of(
    trainer: Trainer,
    settings: PretrainSettings,
    tokenizer: BertTokenizer,
    folder: Path,
) -> None:
    """Writes the model as a Hugging Face folder, weights in float16.

    Args:
        trainer: holds the weights.
        settings: the config keeps their dropout rates, for fine-tuning.
        tokenizer: of the run.
        folder: to make; one that exists is replaced.

    Raises:
        CheckpointError: it cannot be written.
    """
    config = dataclasses.replace(settings.model, vocab_size=tokenizer.vocab_size)
    bert = Bert(config, PRETRAINING_HEADS, kernel_initializer="zeros")
    pairs = zip(bert.trainable_variables, trainer.bert.trainable_variables, strict=True)
    for target, source in pairs:
        target.assign(as_numpy(source))
    report = LoadReport("huggingface", (), (), (), 0, ())
    loaded = LoadedModel(settings.model_name, bert, tokenizer, (), report)
    # Who reads the model that is there finds it, or the new one when that is whole.
    scratch = folder.with_name(f".{folder.name}-new")
    shutil.rmtree(scratch, ignore_errors=True)
    save_model(loaded, scratch, half=True)
    replace_folder(scratch, folder)
