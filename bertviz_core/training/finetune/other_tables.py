"""Tables that are no text: spreadsheets, Parquet, JSON Lines; each as rows of text.

They come from strangers and are packed: a small file may claim a billion cells. So a
process of its own reads them, with a limit of memory and of time. Run as a program,
this module is that process; it writes the rows as lines of JSON.
"""

import contextlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

SPREADSHEET, PARQUET, JSON = "spreadsheet", "parquet", "json"
# How such files begin. The first is that of every zip file, the second of Office's
# files before 2007.
_BEGINNINGS = (
    (b"PK\x03\x04", SPREADSHEET),
    (b"\xd0\xcf\x11\xe0", SPREADSHEET),
    (b"PAR1", PARQUET),
)
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair
_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*(\"[^\"\n]*\"\s*:|\})")
MAX_SECONDS = 60.0
# Addresses, not memory in use: what libraries reserve counts, too.
_MAX_ADDRESSES = 6 * 2**30
# In place of a row's number.
_SHEET, _BROKEN = -1, -2
_SHOWN = 20  # characters, on either side of where JSON breaks


def kind_of(start: bytes) -> str:
    """What a file is, by its first bytes; "" for text in lines, or none of these."""
    for beginning, kind in _BEGINNINGS:
        if start.startswith(beginning):
            return kind
    return JSON if _JSON.match(start) else ""


def read_rows(
    path: Path, kind: str, sheets: list[tuple[str, int]]
) -> Generator[tuple[int, list[str]], None, None]:
    """Row number and cells of each row of a `kind_of` file, the names first.

    Rows are numbered as a spreadsheet program or an editor does, from 1; names that are
    not in a row of their own are row 0. Of a spreadsheet `sheets` gets the name of the
    one that is read, and how many hold something. `DatasetError` says where JSON is
    broken, `ValueError` that the file cannot be read. Whoever may leave before the end
    closes it: the process may have more to say.
    """
    with subprocess.Popen(
        [sys.executable, "-I", __file__, str(path), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        timer = threading.Timer(MAX_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            for line in process.stdout or ():
                number, cells = json.loads(line)
                if number == _SHEET:
                    sheets.append(tuple(cells))
                elif number == _BROKEN:
                    raise _broken(*cells)
                else:
                    yield number, cells
            if process.wait():
                raise ValueError(f"Exit status {process.returncode}.")
        finally:
            timer.cancel()
            process.kill()


def _broken(kind: str, places: dict[str, Any]) -> Exception:
    # The process that reads has the standard library alone.
    from bertviz_core.errors import DatasetError

    if kind == "end":
        return DatasetError(
            "The JSON breaks off. Received: line {line} as the last one, which ends "
            "before the value does. Save or copy the file once more.",
            **places,
        )
    if kind == "row":
        return DatasetError(
            "Row {row} of the JSON names no columns. Received: “{text}”. Write each "
            "row as an object, a name before each value and curly brackets around "
            "all.",
            **places,
        )
    return DatasetError(
        "The JSON cannot be read in line {line}, at character {column}. Received: "
        "“{text}”. Look for a comma, a quotation mark or a bracket that is missing "
        "there or is too many.",
        **places,
    )


def _spreadsheet(path: str) -> Iterator[tuple[int, list[Any]]]:
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    # By what it holds, not by the end of its name.
    with open(path, "rb") as file, CalamineWorkbook.from_filelike(file) as book:
        sheets = [
            book.get_sheet_by_name(sheet.name)
            for sheet in book.sheets_metadata
            if sheet.visible == SheetVisibleEnum.Visible
        ]
        full = [sheet for sheet in sheets if sheet.height]
        if full:
            # The first that can hold texts and labels: a page of notes may be before.
            read = next((sheet for sheet in full if sheet.width > 1), full[0])
            yield _SHEET, [read.name, len(full)]
            rows = read.to_python(skip_empty_area=False)
            yield from enumerate((list(map(_shown, row)) for row in rows), start=1)


def _shown(cell: Any) -> Any:
    """As spreadsheet programs show it: TRUE, and 0.3 where 0.1 + 0.2 was computed."""
    if isinstance(cell, bool):
        return str(cell).upper()
    return float(f"{cell:.15g}") if isinstance(cell, float) else cell


def _parquet(path: str) -> Iterator[tuple[int, list[Any]]]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    names = file.schema_arrow.names
    yield 0, names
    number = 0
    for batch in file.iter_batches(batch_size=1024):
        columns = map(_values, batch.columns)
        for row in zip(*columns, strict=True):
            number += 1
            yield number, list(row)


def _values(column: Any) -> list[Any]:
    if column.type == "float32":  # else 3.8 is 3.799999952316284
        column = column.cast("string").cast("float64")
    return column.to_pylist()


def _json_rows(path: str) -> Iterator[tuple[int, list[Any]]]:
    text = Path(path).read_text(encoding="utf-8-sig")
    try:
        found = list(enumerate(_records(json.loads(text)), start=1))
    except ValueError as error:
        found = _json_lines(text, error)
    for number, row in found:
        if not isinstance(row, dict):
            shown = json.dumps(row, ensure_ascii=False)[: 2 * _SHOWN]
            raise _BrokenJson("row", {"row": number, "text": shown})
    rows = [(number, dict(_flat(row))) for number, row in found]
    names = dict.fromkeys(name for _, row in rows for name in row)
    yield 0, list(names)
    for number, row in rows:
        yield number, [row.get(name) for name in names]


class _BrokenJson(Exception):
    """What `_broken` makes a sentence of."""


def _json_lines(text: str, of_whole: ValueError) -> list[tuple[int, Any]]:
    """An object a line; `of_whole` is why the text as one document is none."""
    found: list[tuple[int, Any]] = []
    broken: list[tuple[int, json.JSONDecodeError]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append((number, json.loads(line)))
            except json.JSONDecodeError as of_line:
                broken.append((number, of_line))
    if not broken:
        return found
    if len(found) < len(broken):  # those lines were meant as one document
        if not isinstance(of_whole, json.JSONDecodeError):
            raise of_whole
        broken = [(of_whole.lineno, of_whole)]
    number, error = broken[0]
    is_open = error.msg.startswith("Unterminated") or not error.doc[error.pos :].strip()
    if is_open and number == text.rstrip().count("\n") + 1:
        raise _BrokenJson("end", {"line": number})
    line = error.doc.split("\n")[error.lineno - 1].rstrip("\r")
    near = line[max(0, error.colno - 1 - _SHOWN) : error.colno - 1 + _SHOWN]
    raise _BrokenJson("at", {"line": number, "column": error.colno, "text": near})


def _records(found: Any) -> list[dict[str, Any]]:
    """The rows of a document, in any of the shapes that pandas and others write."""
    if isinstance(found, list):
        return found
    values = list(found.values())
    if {"columns", "data"} <= set(found):
        return [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    lists = [value for value in values if isinstance(value, list) and value]
    if rows := [value for value in lists if isinstance(value[0], dict)]:
        return max(rows, key=len)  # beside what is said of them
    if values and all(isinstance(value, dict) for value in values):
        if len(values[0]) < len(values):  # by row, and in each by column
            return values
        lists = [list(value.values()) for value in values]
    if len(lists) == len(values) and len({*map(len, lists)}) == 1:
        return [dict(zip(found, row, strict=True)) for row in zip(*lists, strict=True)]
    return [found]


def _flat(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values, those of objects within as "data.text"."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value


_READERS = {SPREADSHEET: _spreadsheet, PARQUET: _parquet, JSON: _json_rows}


def _as_text(value: Any) -> str:
    """A cell as a person would type it."""
    if value is None or value != value:  # NaN, which pandas writes for what is missing
        return ""
    if isinstance(value, bytes):  # texts of programs that do not say so
        return value.decode(errors="replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _write_rows(path: str, kind: str) -> None:
    # Windows has no such limit, and macOS refuses to set it.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MAX_ADDRESSES, _MAX_ADDRESSES))
    try:
        for number, row in _READERS[kind](path):
            _write(number, row if number < 0 else [_as_text(value) for value in row])
    except _BrokenJson as error:
        _write(_BROKEN, error.args)


def _write(number: int, cells: Sequence[Any]) -> None:
    line = json.dumps([number, cells], ensure_ascii=False) + "\n"
    # JSON may hold half of a character: programs cut texts within an emoji.
    sys.stdout.buffer.write(_HALF.sub("\ufffd", line).encode())


if __name__ == "__main__":
    _write_rows(*sys.argv[1:])
