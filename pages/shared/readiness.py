"""`/ready`: whether this server can answer now, for a load balancer."""

import asyncio
import time

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer
from pages.shared.engine import client

_SECONDS = 5.0  # that a worker has to split a text
_GOOD_FOR = 1.0  # seconds, so that polling does not keep a worker busy


class Readiness:
    """Answers 200 if a worker has split a text in time, else 503."""

    def __init__(self) -> None:
        self._asked: asyncio.Task[bool] | None = None
        self._since = 0.0

    async def answer(self, _: Request) -> Response:
        """Asks a worker, unless another request has just done so or still waits."""
        now = time.monotonic()
        if self._asked is None or (
            self._asked.done() and now - self._since > _GOOD_FOR
        ):
            self._asked = asyncio.create_task(asyncio.to_thread(_has_answered))
            self._since = now
        left = max(0.0, self._since + _SECONDS - now)
        await asyncio.wait({self._asked}, timeout=left)
        is_ready = self._asked.done() and self._asked.result()
        return PlainTextResponse(*(("ready", 200) if is_ready else ("not ready", 503)))


def _has_answered() -> bool:
    try:
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, "ready")
    except BertVizError:
        return False
    return True


ROUTES = [Route("/ready", Readiness().answer)]
