"""How far a download is, for whoever waits at a terminal."""

from __future__ import annotations

import math

import click

from bertviz_core.tasks import Progress

_PERCENT_A_LINE = 5


def download_progress() -> Progress:
    """Makes a listener for `library.open_model` that writes to standard error.

    Only a download is told, a line for every five percent: whatever else opening a
    model takes is over in seconds.
    """
    told = -_PERCENT_A_LINE

    def tell(fraction: float, step: str) -> None:
        nonlocal told
        percent = math.floor(fraction * 100)
        if step == "download" and percent >= told + _PERCENT_A_LINE:
            told = percent - percent % _PERCENT_A_LINE
            click.echo(f"download: {percent}%", err=True)

    return tell
