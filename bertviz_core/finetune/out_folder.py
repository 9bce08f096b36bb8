"""The folder that a command writes to, tried before there is anything to write."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bertviz_core.errors import TrainingError


def require_writable(folder: Path) -> None:
    """Makes the folder and writes a probe into it, which goes at once.

    Args:
        folder: where a result is to go.

    Raises:
        TrainingError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"?")
    except OSError as error:
        raise TrainingError(
            "The folder {folder} cannot be written. Received: {reason}. Choose another "
            "one for --out.",
            folder=str(folder),
            reason=error.strerror or type(error).__name__,
        ) from error
