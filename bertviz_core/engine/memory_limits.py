"""How much a process that runs models keeps, as the environment says.

Apart from `memory`, which holds to it: the process that serves pages looks at the
limits before it starts any other, and needs no arrays for that.
"""

from __future__ import annotations

from bertviz_core.environment import whole_number

MAX_MODELS = "BERTVIZ_MAX_MODELS"
DEFAULT_MAX_MODELS = 2
MAX_TRACE_MEGABYTES = "BERTVIZ_MAX_TRACE_MB"
DEFAULT_MAX_TRACE_MEGABYTES = 128


def max_models() -> int:
    """Models in memory: two, so that they can be compared. BERT-base takes 440 MB.

    Raises:
        EngineError: `BERTVIZ_MAX_MODELS` is no whole number.
    """
    return max(1, whole_number(MAX_MODELS, DEFAULT_MAX_MODELS))


def max_answer_bytes() -> int:
    """Answers in memory.

    That of BERT-base on 512 tokens takes 171 MB and is kept alone, that of the bundled
    model on its longest text 4 MB.

    Raises:
        EngineError: `BERTVIZ_MAX_TRACE_MB` is no whole number.
    """
    return whole_number(MAX_TRACE_MEGABYTES, DEFAULT_MAX_TRACE_MEGABYTES) * 2**20
