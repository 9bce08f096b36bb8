"""A sheet of all formulas with their shapes, to print on two pages.

MathML, which browsers draw themselves: the file asks no server for anything.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from bertviz_core.config import BertConfig
from bertviz_core.experiments.step_table import (
    EMBEDDING_OPERATIONS,
    OPERATIONS,
    describe,
    layer_operations,
)

_STYLE = """
@page { size: A4 portrait; margin: 12mm 12mm 10mm; }
html { color-scheme: light; background: #fff; color: #111; }
body { font: 10pt/1.3 "Noto Sans", "Noto Sans CJK SC", "PingFang SC",
  "Microsoft YaHei", sans-serif; max-width: 186mm; margin: 0 auto; padding: 4mm; }
h1 { font-size: 15pt; margin: 0 0 1mm; }
h2 { font-size: 11pt; margin: 3mm 0 1mm; break-after: avoid; }
p { margin: 0 0 2mm; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
tr { break-inside: avoid; }
td { border-top: 1px solid #bbb; padding: 1mm 2mm 1mm 0; vertical-align: middle; }
td:nth-child(1) { width: 27%; } td:nth-child(3) { width: 24%; }
math { font-size: 11pt; math-style: normal; }
mi[mathvariant] { text-transform: none; }
[mathvariant="monospace"] { font-family: monospace; }
.signs { font-size: 8.5pt; margin-top: 3mm; }
@media print { body { padding: 0; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class SheetChapter:
    """Formulas that belong together."""

    name: str  # "embeddings", "layer", "final_norm", "pooled" or "words"
    operations: tuple[str, ...]  # keys of `step_table.OPERATIONS`


def chapter_of(operation: str) -> str:
    """The chapter that an operation belongs to, see `SheetChapter`."""
    if operation in EMBEDDING_OPERATIONS:
        return "embeddings"
    if operation in layer_operations(False):
        return "layer"
    if operation == "final_norm":
        return "final_norm"
    return "words" if operation.startswith("mlm_") else "pooled"


def sheet_chapters(pre_norm: bool, heads: Sequence[str]) -> tuple[SheetChapter, ...]:
    """All formulas of a model with these heads, in the order of the pass."""
    needs = {"nsp": "nsp", "class": "classifier", "pool": "pooler", "mlm": "mlm"}
    shown: dict[str, list[str]] = {}
    for name in OPERATIONS:
        needed = next((h for start, h in needs.items() if name.startswith(start)), None)
        if needed in (None, *heads) and (pre_norm or name != "final_norm"):
            shown.setdefault(chapter_of(name), []).append(name)
    shown["layer"] = list(layer_operations(pre_norm))
    return tuple(SheetChapter(name, tuple(rows)) for name, rows in shown.items())


def formula_sheet(
    config: BertConfig,
    heads: Sequence[str],
    language: str,
    say: Callable[[str], str],
    title: str,
) -> str:
    """Writes the sheet as one HTML file, with the model's sizes beside the letters.

    Args:
        say: the text of a name: "intro", "signs", "chapter_layer" and so on, and
            those of the operations.
        title: of the sheet, with the model's.
    """
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(say('intro'))}</p>"]
    for chapter in sheet_chapters(config.pre_norm, heads):
        parts.append(f"<h2>{escape(say(f'chapter_{chapter.name}'))}</h2><table>")
        parts += [_row(name, config, say(name)) for name in chapter.operations]
        parts.append("</table>")
    parts.append(f'<p class="signs">{escape(say("signs"))}</p>')
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _row(operation: str, config: BertConfig, name: str) -> str:
    found = describe(operation, config.pre_norm, config.hidden_act)
    cells = escape(name), as_mathml(found.formula), shape_of(found.axes, config)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def shape_of(axes: str, config: BertConfig) -> str:
    """Letters of a shape and, where the model fixes some, its numbers."""
    sizes: Mapping[str, int] = {
        "N": config.num_attention_heads,
        "D": config.head_size,
        "H": config.hidden_size,
        "I": config.intermediate_size,
        "V": config.vocab_size,
    }
    letters = " × ".join(axes)
    numbers = " × ".join(f"{sizes[a]:,}" if a in sizes else a for a in axes)
    return letters if numbers == letters else f"{letters} = {numbers}"


@functools.cache
def as_mathml(formula: str) -> str:
    """A formula of `step_table`, LaTeX, as MathML."""
    from latex2mathml.converter import convert  # not for every page

    # Letters of one word, each in a tag of its own, would stand apart.
    return re.sub(
        r'(?:<mi mathvariant="(\w+)">\w</mi>){2,}', _joined_word, convert(formula)
    )


def _joined_word(found: re.Match[str]) -> str:
    letters = "".join(re.findall(r">(\w)<", found[0]))
    return f'<mi mathvariant="{found[1]}">{letters}</mi>'
