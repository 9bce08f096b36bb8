"""The lines of the core that compute an activation, from the installed source."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping

from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.experiments.layer_steps import TAPPED
from bertviz_core.experiments.step_results import CodePlace
from bertviz_core.model.attention import SelfAttention, masked
from bertviz_core.model.embeddings import Embeddings
from bertviz_core.model.encoder import EncoderBlock, FeedForward
from bertviz_core.model.heads import ClassifierHead, MaskedLanguageModelHead, Pooler
from bertviz_core.model.layers import ACTIVATIONS, LayerNorm

# By where an activation is: the functions with the taps that its name is given to.
_TAPPING: Mapping[str, tuple[Callable[..., object], ...]] = {
    "embeddings": (Embeddings.call,),
    "attention": (SelfAttention.call, EncoderBlock.call),
    "mlp": (FeedForward.call, EncoderBlock.call),
    "pooler": (Pooler.call,),
    "mlm": (MaskedLanguageModelHead.call,),
    "nsp": (ClassifierHead.call,),
    "classifier": (ClassifierHead.call,),
}


@functools.cache
def locate(activation: str, hidden_act: str) -> CodePlace:
    """Finds the lines that compute an activation, in the source as it is installed."""
    formula = _called_for(activation, hidden_act)
    if formula is not None:
        return _quote(formula, _statements(formula))
    place, _, name = activation.rpartition(".")
    for function in _TAPPING[place]:
        if lines := _up_to_tap(function, place, name):
            return _quote(function, lines)
    raise ValueError(f"No line of the core hands `{activation}` to a tap.")


def quote_whole(function: Callable[..., object]) -> CodePlace:
    """A function as it is installed, with its first line."""
    lines, first = inspect.getsourcelines(function)
    code = textwrap.dedent("".join(lines)).rstrip()
    return CodePlace(function.__module__, function.__qualname__, first, code)


def _called_for(activation: str, hidden_act: str) -> Callable[..., object] | None:
    """The function that is the whole formula, where the line with the tap calls one."""
    if not activation:
        return softmax_rows
    if activation.endswith("norm"):
        return LayerNorm.normed
    if activation == "attention.masked_scores":
        return masked
    if activation.endswith(".post"):
        curve = ACTIVATIONS[hidden_act]
        return curve if curve.__module__ == LayerNorm.__module__ else None
    return None


def _up_to_tap(
    function: Callable[..., object], place: str, name: str
) -> list[ast.stmt] | None:
    """The statement with the tap, and what it takes since the step before."""
    lines: list[ast.stmt] = []
    for statement in _statements(function):
        lines.append(statement)
        given = set(_given_to_taps(statement, place))
        if name in given:
            return lines
        if not isinstance(statement, ast.Assign) or any(
            one is None or f"{place}.{one}" in TAPPED for one in given
        ):
            lines = []
    return None


def _given_to_taps(statement: ast.stmt, place: str) -> Iterator[str | None]:
    """Names that a statement gives to taps; `None` where a part has the tap itself."""
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call):
            continue
        if any(keyword.arg == "tap" for keyword in call.keywords):
            yield None
        if isinstance(call.func, ast.Name) and call.func.id in ("tap", f"in_{place}"):
            yield ast.literal_eval(call.args[0])


def _statements(function: Callable[..., object]) -> list[ast.stmt]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return found.body[ast.get_docstring(found) is not None :]


def _quote(function: Callable[..., object], statements: list[ast.stmt]) -> CodePlace:
    lines, first = inspect.getsourcelines(function)
    start, end = statements[0].lineno - 1, statements[-1].end_lineno
    code = textwrap.dedent("".join(lines[start:end])).rstrip()
    return CodePlace(function.__module__, function.__qualname__, first + start, code)
