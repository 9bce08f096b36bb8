"""An answer of the model that experiments watch, with its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bertviz_core.experiments.cause_results import Target


@dataclass(frozen=True)
class Watched:
    """A target with its name.

    Args:
        target: for the experiments.
        name: what it is called on the page, plain text.
        is_number: whether the model says a number there and no probability.
    """

    target: Target
    name: str
    is_number: bool = False

    @property
    def literals(self) -> dict[str, Any]:
        """The target in a program, see `snippets.attention`."""
        target = self.target
        return {
            "kind": target.head,
            "index": target.index,
            "position": target.position,
        }
