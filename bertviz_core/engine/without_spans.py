"""A preload of Dask: without the extension that never forgets, 6 kB a call.

Schedulers and workers need it both, as the one asks the other's.
"""

from typing import Any


def dask_setup(server: Any) -> None:
    """Dask calls this by name, with the scheduler or worker that starts."""
    del server.extensions["spans"]
