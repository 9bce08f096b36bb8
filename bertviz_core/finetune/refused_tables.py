"""Tables that could not be read: kept for minutes, not for a whole lease."""

from __future__ import annotations

import contextlib

from bertviz_core.errors import DatasetError
from bertviz_core.finetune import workplace
from bertviz_core.finetune.table_limits import lease_seconds

# Time to try another encoding, and twice as long as a page takes to say it is open.
BRIEF_SECONDS = 600.0


def keep_briefly(table: str) -> None:
    """Lets a visitor's table go soon; reading it begins a whole lease again.

    Args:
        table: what `keep_table` returned; nothing happens where it is gone, or where
            it is a sample or belongs to a run.
    """
    if not table.startswith("file:"):
        return
    with contextlib.suppress(DatasetError):
        folder = workplace.table_path(table).parent
        workplace.renew(folder, min(BRIEF_SECONDS, lease_seconds()))
