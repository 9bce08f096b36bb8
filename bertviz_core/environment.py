"""What a process finds around it: variables that are set, and its processor."""

import os
from contextvars import ContextVar
from pathlib import Path

from bertviz_core.errors import EngineError

# What came with the question that is being answered, where another process asked it.
ASKED_POLICY: ContextVar[str] = ContextVar("asked_policy", default="any")


def whole_number(name: str, default: int, least: int = 0) -> int:
    """Reads a variable; one that is absent or blank is the default.

    Raises:
        EngineError: it is no whole number, or one smaller than the least.
    """
    received = os.environ.get(name, "").strip()
    if not received:
        return default
    # Python refuses to read a number of more than 4,300 digits.
    is_number = received.isdecimal() and len(received) <= 18
    if not is_number or int(received) < least:
        raise EngineError(
            "The environment variable {name} must be a whole number. Received: "
            "{received}. Correct or unset it, and restart.",
            name=name,
            received=received[:60],
        )
    return int(received)


def one_of(name: str, choices: tuple[str, ...]) -> str:
    """Reads a variable; one that is absent or blank is the first choice.

    Raises:
        EngineError: it is none of the choices, which are in lower case.
    """
    received = os.environ.get(name, "").strip()
    if not received:
        return choices[0]
    if received.lower() not in choices:
        raise EngineError(
            "The environment variable {name} must be one of: {choices}. Received: "
            "{received}. Correct or unset it, and restart.",
            name=name,
            choices=", ".join(choices),
            received=received[:60],
        )
    return received.lower()


def precision() -> str:
    """What OpenVINO computes in; what goes in and comes out is float32.

    Raises:
        EngineError: `BERTVIZ_PRECISION` is neither "float32" nor "bfloat16".
    """
    return one_of("BERTVIZ_PRECISION", ("float32", "bfloat16"))


def models_policy() -> str:
    """Which models may be opened: "any", or "listed" ones, by no path and no download.

    The stricter of `BERTVIZ_MODELS` here and of what came with the question.

    Raises:
        EngineError: `BERTVIZ_MODELS` is neither.
    """
    own = one_of("BERTVIZ_MODELS", ("any", "listed"))
    return "listed" if "listed" in (own, ASKED_POLICY.get()) else "any"


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for products of bfloat16 pairs."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    # In tiles on Intel, in AVX-512's vectors on AMD too.
    return not {"amx_bf16", "avx512_bf16"}.isdisjoint(flags.split())
