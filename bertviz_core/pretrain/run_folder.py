"""Which run lies in a folder, whether this is it, and how it went: CSV and SVG."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.corpus import EncodedCorpus
from bertviz_core.pretrain.initial import SETTINGS_FILE, settings_of_run
from bertviz_core.pretrain.settings import MAY_CHANGE, PretrainSettings
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.distribution import has_hosts, writes_files
from bertviz_core.training.precision import chosen_precision
from bertviz_core.training.run_folder import not_written
from bertviz_core.whole_files import write_whole


def with_precision(settings: PretrainSettings, out: Path) -> PretrainSettings:
    """Settles the precision "auto": that of the run in a folder, or this machine's.

    Raises:
        TrainingError: several machines are to begin, which might settle it unlike.
    """
    if settings.precision != "auto":
        return settings
    there = settings_of_run(out)
    if there is not None:
        precision = there.precision
    elif has_hosts():
        raise TrainingError(
            "Several machines need one precision. Received: precision=auto, which each "
            "of them would settle for itself. Set it to float32 or bfloat16 in the "
            "settings file."
        )
    else:
        precision = chosen_precision("auto")
    return dataclasses.replace(settings, precision=precision)


def claim_folder(out: Path, settings: PretrainSettings) -> None:
    """Writes the settings into a folder, or compares them with those of its run.

    Settings that never led to a checkpoint are replaced: they were refused, or text
    was being encoded when the run was ended.

    Args:
        out: an existing folder, which this process holds where it is to write.
        settings: of the run.

    Raises:
        TrainingError: another run lies there, or the folder cannot be written.
    """
    there = settings_of_run(out)
    if there is not None:
        _require_same_settings(out, there, settings)
    elif writes_files():
        text = json.dumps(settings.to_dict(), indent=2, ensure_ascii=False)
        try:
            write_whole(out / SETTINGS_FILE, text + "\n")
        except OSError as error:
            raise not_written(out, error) from error


def _require_same_settings(
    out: Path, there: PretrainSettings, settings: PretrainSettings
) -> None:
    noted, asked = there.to_dict(), settings.to_dict()
    changed = [k for k in asked if asked[k] != noted[k] and k not in MAY_CHANGE]
    if changed:
        raise TrainingError(
            "The folder {folder} holds a run with other settings. Received: other "
            "values of {keys}. Take the settings.json of that folder, or another "
            "folder.",
            folder=out.name,
            keys=", ".join(changed),
        )


def fingerprint_of(
    settings: PretrainSettings,
    folder: Path,
    corpus: EncodedCorpus,
    tokenizer: BertTokenizer,
) -> str:
    """Names all that a resumed run must share.

    Args:
        settings: of the run.
        folder: of the encoded text, named by the text and how it was encoded.
        corpus: what the text became.
        tokenizer: its pieces; those that are learnt again may have other ids.
    """
    words = "\n".join(tokenizer.vocabulary) + f"\n{len(corpus.tokens)}"
    digest = hashlib.sha256(words.encode()).hexdigest()[:16]
    return f"{settings.fingerprint()} {folder.name} {digest}"


@dataclass(frozen=True)
class CurvePoint:
    """Means over the steps since the point before; `None` where not measured.

    Args:
        step: optimiser steps done.
        tokens: token places seen, padding counted.
        max_tokens: length of the rows.
        learning_rate: of the last step.
        loss: of both tasks.
        mlm_loss, mlm_accuracy, nsp_loss, nsp_accuracy: in training.
        tokens_per_second: speed.
        waiting_rate: share of the time that a batch was not ready.
        held_out_loss, held_out_top1, held_out_top5, held_out_nsp: see `evaluate`.
    """

    step: int
    tokens: int
    max_tokens: int
    learning_rate: float
    loss: float
    mlm_loss: float
    mlm_accuracy: float
    nsp_loss: float
    nsp_accuracy: float
    tokens_per_second: float
    waiting_rate: float
    held_out_loss: float | None = None
    held_out_top1: float | None = None
    held_out_top5: float | None = None
    held_out_nsp: float | None = None


_FIELDS = dataclasses.fields(CurvePoint)


def read_curve(path: Path, last_step: int) -> list[CurvePoint]:
    """Reads the table up to a step; what a run did beyond its checkpoint is undone.

    Rows that somebody has spoilt are left out: a curve is no reason to end a run.
    """
    points: list[CurvePoint] = []
    if not path.is_file():
        return points
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # No number where one must be, or none.
            with contextlib.suppress(ValueError, TypeError):
                point = CurvePoint(
                    **{
                        field.name: (int if field.type == "int" else float)(text)
                        for field in _FIELDS
                        if (text := row.get(field.name))
                    }  # type: ignore[arg-type]
                )
                points += [point] if point.step <= last_step else []
    return points


def write_curve(points: Sequence[CurvePoint], folder: Path) -> None:
    """Writes `curve.csv` and `curve.svg`, each at once."""
    file = io.StringIO(newline="")
    table = csv.DictWriter(file, [field.name for field in _FIELDS])
    table.writeheader()
    for point in points:
        table.writerow({k: _short(v) for k, v in asdict(point).items()})
    write_whole(folder / "curve.csv", file.getvalue())
    write_whole(folder / "curve.svg", draw_curve(points))


_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 200, 56, 28
_PANELS: tuple[tuple[str, float, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "Loss of masked words",
        0.0,
        (("mlm_loss", "#0072b2", "training"), ("held_out_loss", "#d55e00", "held out")),
    ),
    (
        "Share that is right",
        1.0,
        (
            ("mlm_accuracy", "#0072b2", "masked words, training"),
            ("held_out_top1", "#d55e00", "masked words, held out"),
            ("nsp_accuracy", "#009e73", "next sentence, training"),
        ),
    ),
)


def draw_curve(points: Sequence[CurvePoint]) -> str:
    """Draws loss and accuracy over tokens, as SVG without scripts or fonts.

    The colours are Okabe and Ito's, told apart by colour-blind people.
    """
    panels = [
        _panel(points, title, top, series, (_HEIGHT + 64) * index)
        for index, (title, top, series) in enumerate(_PANELS)
    ]
    size = (_WIDTH + _LEFT + 24, (_HEIGHT + 64) * len(_PANELS))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{size[0]}" height="{size[1]}" fill="white"/>\n'
        + "".join(panels)
        + "</svg>\n"
    )


def _panel(
    points: Sequence[CurvePoint],
    title: str,
    top: float,
    series: tuple[tuple[str, str, str], ...],
    offset: int,
) -> str:
    most_tokens = max([point.tokens for point in points] or [1])
    named = [name for name, _, _ in series]
    known = [getattr(p, n) for p in points for n in named if getattr(p, n) is not None]
    top = top or max([*known, 1.0])
    parts = [f'<g transform="translate({_LEFT},{offset + _TOP})">\n']
    parts.append(f'<text x="0" y="-10" font-weight="bold">{title}</text>\n')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y, x = _HEIGHT * (1 - share), _WIDTH * share
        parts.append(
            f'<path d="M0 {y:.0f}H{_WIDTH}" stroke="#ddd"/>'
            f'<text x="-8" y="{y + 4:.0f}" text-anchor="end">{top * share:.3g}</text>'
            f'<text x="{x:.0f}" y="{_HEIGHT + 18}" text-anchor="middle">'
            f"{most_tokens * share / 1e6:.3g} M</text>\n"
        )
    for place, (name, colour, label) in enumerate(series):
        dots = [
            f"{_WIDTH * p.tokens / most_tokens:.1f},"
            f"{_HEIGHT * (1 - min(getattr(p, name) / top, 1.0)):.1f}"
            for p in points
            if getattr(p, name) is not None
        ]
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" '
            f'points="{" ".join(dots)}"/>'
            f'<text x="{_WIDTH - 4}" y="{14 + 15 * place + (top == 1.0) * 120}" '
            f'text-anchor="end" fill="{colour}">{label}</text>\n'
        )
    parts.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 32}" text-anchor="end">')
    parts.append("tokens seen</text></g>\n")
    return "".join(parts)


def _short(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6g}"
