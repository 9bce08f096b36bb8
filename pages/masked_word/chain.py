"""A Gibbs chain of a session: what it belongs to, where it stands, what it did."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from bertviz_core.errors import BertVizError
from bertviz_core.experiments.chain_results import (
    GibbsRun,
    GibbsSettings,
    GibbsState,
)

POLL_SECONDS = 0.5
# Between two chunks a chain rests until the page looks, and the jobs of others get
# their turn. Pictures come more often: a job shows the steps that it has taken.
_CHUNK_SECONDS = 5.0
_FIRST, _SMALLEST = 100, 20
_LARGEST = 500  # all of them are in every report


@dataclass(frozen=True)
class Chain:
    """A chain of this session.

    It began with `text`, or, where that is "", with `num_masks`; it is to do `goal`
    steps. Of the chunk under way are `job_id`, `chunk`, its number of steps, `began`,
    in seconds, and `origin` and `before`: where the chain stood then, and what it had
    done.
    """

    model: str
    text: str
    num_masks: int
    settings: GibbsSettings
    state: GibbsState
    goal: int
    run: GibbsRun | None = None
    job_id: str | None = None
    chunk: int = 0
    began: float = 0.0
    origin: GibbsState | None = None
    before: GibbsRun | None = None
    error: BertVizError | None = None
    version: str = ""

    def is_of(
        self, model: str, text: str, num_masks: int, settings: GibbsSettings
    ) -> bool:
        """Whether it belongs to this question, whatever steps are counted."""
        own = dataclasses.replace(self.settings, burn_in=settings.burn_in)
        asked = (model, text, num_masks, settings)
        return (self.model, self.text, self.num_masks, own) == asked

    def with_burn_in(self, burn_in: int) -> Chain:
        """The same chain, of which other first steps are not counted."""
        settings = dataclasses.replace(self.settings, burn_in=burn_in)
        run = self.run
        if run is not None:
            run = dataclasses.replace(
                run,
                start=dataclasses.replace(run.start, settings=settings),
                end=dataclasses.replace(run.end, settings=settings),
            )
        state = dataclasses.replace(self.state, settings=settings)
        return dataclasses.replace(self, settings=settings, state=state, run=run)


def next_chunk(left: int, last: int = 0, seconds: float = 0.0) -> int:
    """How many steps to ask for.

    `last` is the size of the chunk before, 0 if there is none.
    """
    if not last:
        return min(left, _FIRST)
    wanted = int(last / max(seconds, 0.01) * _CHUNK_SECONDS)
    return min(left, max(_SMALLEST, min(wanted, _LARGEST)))
