"""Whether a model in a folder is still the one that was opened. Loads nothing."""

import os
import re
from pathlib import Path

from bertviz_core.environment import models_policy
from bertviz_core.errors import TrainingError
from bertviz_core.visitor_files import MODEL, RUN_PREFIX, run_folder

# What a model is read from.
_FILES = re.compile(
    r"(bert_)?config\.json|recipe\.json|vocab\.txt"
    r"|(tokenizer(_config)?|added_tokens)\.json"
    r"|.+\.safetensors(\.index\.json)?|.+\.index|.+\.data-\d{5}-of-\d{5}"
)


def version_of(model_id: str) -> str:
    """Tells a model from another one in the same place, without reading it.

    Names, times and sizes of the files of a folder, or of a zip file; "" for an id that
    means the same model for ever, and where there is nothing.
    """
    is_run = model_id.startswith(RUN_PREFIX)
    if not model_id or (models_policy() == "listed" and not is_run):
        return ""
    path = Path(os.path.expanduser(model_id))  # raises nothing, unlike the method
    try:
        if is_run:  # a finished model may be given a temperature
            path = run_folder(model_id.removeprefix(RUN_PREFIX)) / MODEL
        paths = [path]
        if path.is_dir():
            paths = [file for file in path.iterdir() if _FILES.fullmatch(file.name)]
        found = [(file.name, file.stat()) for file in sorted(paths)]
    except (OSError, ValueError, TrainingError):
        return ""
    return repr([(name, stat.st_mtime_ns, stat.st_size) for name, stat in found])
