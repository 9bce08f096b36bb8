"""How many steps of a Gibbs chain are asked for at once."""

from __future__ import annotations

POLL_SECONDS = 0.5
# Between two chunks a chain rests until the page looks, and the jobs of others get
# their turn. Pictures come more often: a job shows the steps that it has taken.
_CHUNK_SECONDS = 5.0
_FIRST, _SMALLEST = 100, 20
_LARGEST = 500  # all of them are in every report


def next_chunk(left: int, last: int = 0, seconds: float = 0.0) -> int:
    """How many steps to ask for.

    Args:
        left: steps until the goal.
        last: steps of the chunk before; 0 if this is the first.
        seconds: that it took.
    """
    if not last:
        return min(left, _FIRST)
    wanted = int(last / max(seconds, 0.01) * _CHUNK_SECONDS)
    return min(left, max(_SMALLEST, min(wanted, _LARGEST)))
