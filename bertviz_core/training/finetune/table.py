"""A table of texts from a file of a user's: CSV in whatever form it comes.

Row numbers are those of a spreadsheet program: from 1, the header and empty rows
counted, a row with line breaks within quotes counted once. What separates the cells,
and whether the first row is a header, is guessed where nobody says it.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import itertools
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertviz_core.errors import DatasetError, reason_of
from bertviz_core.numbers import is_number
from bertviz_core.trace import FrozenArrays
from bertviz_core.training.finetune.notes import (
    Note,
    excerpt,
    list_rows,
    note,
    row_note,
)
from bertviz_core.training.finetune.other_tables import (
    JSON,
    SPREADSHEET,
    kind_of,
    read_rows,
)
from bertviz_core.training.finetune.table_encoding import (
    find_encoding,
    not_text,
    nul_character,
    refuse_control_characters,
)

_SAMPLE_CHARS = 400_000
# More than one row in five out of shape: not a few slips, but the wrong separator
# or texts without quotes.
_MAX_MISSHAPEN_SHARE = 0.2
# Of files within a zip that is a spreadsheet.
_OFFICE = (b"[Content_Types].xml", b"mimetype")
_MOST_TITLE_ROWS = 6  # with the one that names the columns
_LINE_END = re.compile(r"\r\n|\r|\n")
_Rows = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class Limits:
    """What a table may hold."""

    max_bytes: int = 100_000_000  # of the file; a larger one is refused unread
    max_rows: int = 200_000  # of data; the table tells of those left out after them
    # Rows after that are left out, too. A spreadsheet has no more rows, and may save
    # those below its table.
    max_empty_rows: int = 1_048_576
    max_columns: int = 500  # more are refused
    max_cells: int = 10_000_000  # of all rows; a wide table may have fewer rows
    max_line_chars: int = 1_000_000  # a longer line is refused, unread beyond that
    # A longer cell is refused. At most 131,072, where Python's `csv` stops by itself.
    max_cell_chars: int = 100_000

    def rows_of(self, width: int) -> int:
        return max(1, min(self.max_rows, self.max_cells // width))


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Table(FrozenArrays):
    """What was read."""

    columns: tuple[str, ...]  # names, no two alike, none empty
    cells: np.ndarray  # str objects [num_rows, num_columns], as written, unstripped
    row_numbers: np.ndarray  # int [num_rows], of the file, from 1
    # One that `read_table` takes; "" for `other_tables`, unless it was guessed or
    # chosen for JSON.
    encoding: str
    separator: str  # between cells; "" for `other_tables`
    has_header: bool  # whether the first row gave the names
    notes: tuple[Note, ...]  # what was guessed and what was left out
    warnings: tuple[Note, ...]  # those of `notes` on lost rows or garbled letters
    sha256: str  # of the file's bytes, in hexadecimal

    @property
    def num_rows(self) -> int:
        return len(self.cells)

    def column(self, name: str) -> np.ndarray:
        """The cells under a name, str objects `[num_rows]`; else a `DatasetError`."""
        if name not in self.columns:
            raise DatasetError(
                "The table has no such column. Received: {name}. It has: {known}. "
                "Choose one of these.",
                name=name[:60],
                known=", ".join(self.columns)[:300],
            )
        return self.cells[:, self.columns.index(name)]

    def stripped(self, name: str) -> list[str]:
        """The same without white space around."""
        return [cell.strip() for cell in self.column(name)]


def read_table(
    source: bytes | Path,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Table:
    """Reads comma-, semicolon-, tab- or bar-separated text, or one of `other_tables`.

    There is at least one row of data. Rows with more or fewer cells than the first are
    left out and reported. An `encoding` of `table_encoding.ENCODINGS`, a `separator` of
    `SEPARATORS` and whether there is a header are guessed where nobody says them.

    Raises:
        DatasetError: the file is no such table, is damaged, or is beyond the limits;
            the sentence says where.

    Source: RFC 4180 for quotes; Excel's "sep=;" in the first line is understood.
    """
    encoding, separator = encoding or None, separator or None
    if separator is not None and separator not in SEPARATORS:
        raise ValueError(
            f"`separator` must be in {SEPARATORS}. Received: {separator!r}."
        )
    data = whole = _bytes_of(source, limits)
    codec, notes = "utf-8", tuple[Note, ...]()
    if (kind := kind_of(data[:1000])) in ("", JSON):
        codec, notes = find_encoding(data, encoding)
        if not codec.startswith("utf-8"):
            kind = kind_of(data[:1000].decode(codec, "ignore").encode())
            data = data.decode(codec).encode() if kind else data
    is_guess = encoding is None and not codec.startswith("utf")
    if kind:
        # The others name their columns; those of a spreadsheet may be data.
        found = _read_other(data, kind, limits)
        layout = ((encoding or (codec if is_guess else "")) if kind == JSON else "", "")
        has_header = has_header if kind == SPREADSHEET else True
    else:
        found, used = _read_text(data, codec, separator, limits)
        layout = (encoding or codec.removesuffix("-sig"), used)
    found.notes = notes + found.notes
    guessed = notes if is_guess else ()
    return _table(found, has_header, guessed, layout, whole)


def _read_text(
    data: bytes, codec: str, chosen: str | None, limits: Limits
) -> tuple[_Reading, str]:
    """The rows, and the separator between their cells."""
    sample = _decoded(data, codec).read(_SAMPLE_CHARS)
    refuse_control_characters(sample)
    declared = sample[4] if sample[:4].lower() == "sep=" and len(sample) > 4 else None
    said = chosen or (declared if declared in SEPARATORS else None)
    separator = said or guess_separator(_below_title(without_comments(sample)))
    num_before = 1 if declared is not None else num_comments(sample, separator)

    def lines() -> Iterator[str]:
        return _bounded_lines(_decoded(data, codec), separator, limits)

    try:
        found = _collect(
            _rows_with_quotes(lines(), separator, limits), num_before, limits
        )
        found.warnings += _merged_rows(found, separator)
    except _QuoteError as error:
        # Many programs write tab-separated files without quoting.
        if separator != "\t":
            raise error.sentence from None
        rows = (line.rstrip("\r\n").split(separator) for line in lines())
        found = _collect(enumerate(rows, start=1), num_before, limits)
        loose = note(
            "Quotation marks are read as part of the texts: in row {row} they do not "
            "come in pairs.",
            row=error.row,
        )
        found.warnings += (loose,)
    return found, separator


def _read_other(data: bytes, kind: str, limits: Limits) -> _Reading:
    sheets: list[tuple[str, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table"  # closed: Windows opens no file twice
        file.write_bytes(data)
        try:
            with contextlib.closing(read_rows(file, kind, sheets)) as rows:
                found = _collect(rows, 0, limits)
        except ValueError:
            if data.startswith(b"PK") and not any(name in data for name in _OFFICE):
                raise not_text("zip") from None
            raise DatasetError(
                "The file cannot be read. Received: a file of the kind {kind}. It may "
                "be another kind of file, damaged, locked with a password or too "
                "large. Open it in a spreadsheet program and save it as CSV.",
                kind=kind,
            ) from None
    for name, count in sheets:
        if count > 1:
            said = note(
                "One of {count} sheets is read: “{sheet}”. Put another sheet "
                "first, or save it as CSV, to read that one.",
                count=count,
                sheet=excerpt(name),
            )
            found.warnings += (said,)
    return found


def _table(
    found: _Reading,
    has_header: bool | None,
    guessed: tuple[Note, ...],
    layout: tuple[str, str],
    data: bytes,
) -> Table:
    notes = found.notes + found.warnings
    if has_header is None:
        has_header, why = guess_header(found.rows[:MAX_SAMPLE_ROWS])
        notes += (why,)
    first = found.rows[0] if has_header else [""] * found.width
    names = [" ".join(cell.split())[:200] or f"#{i}" for i, cell in enumerate(first, 1)]
    rows = found.rows[has_header:][: found.most]
    if not rows:
        raise DatasetError(
            "The table has a header and no rows. Received: {columns}. Add a row for "
            "every text.",
            columns=", ".join(first)[:200],
        )
    cells = np.empty((len(rows), found.width), dtype=object)
    cells[:] = rows
    return Table(
        columns=free_names(names),
        cells=cells,
        row_numbers=np.array(found.numbers[has_header:][: found.most], "int64"),
        encoding=layout[0],
        separator=layout[1],
        has_header=has_header,
        notes=notes,
        warnings=guessed + found.warnings,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _bytes_of(source: bytes | Path, limits: Limits) -> bytes:
    try:
        if isinstance(source, Path):
            size = source.stat().st_size
            data = b"" if size > limits.max_bytes else source.read_bytes()
        else:
            size, data = len(source), source
    except OSError as error:
        raise DatasetError(
            "The file {name} cannot be read. Received: {reason}. Check its name.",
            name=Path(str(source)).name,
            reason=reason_of(error),
        ) from None
    if size > limits.max_bytes:
        raise DatasetError(
            "The file is too large. Received: {size} bytes; the limit is {limit}. "
            "Keep fewer rows.",
            size=size,
            limit=limits.max_bytes,
        )
    return data


def _decoded(data: bytes, codec: str) -> io.TextIOWrapper:
    # newline="": line breaks within quotes stay as they are.
    return io.TextIOWrapper(io.BytesIO(data), encoding=codec, newline="")


def _bounded_lines(
    stream: io.TextIOWrapper, separator: str, limits: Limits
) -> Iterator[str]:
    """The lines of a file with their ends, never more of one than the limit."""
    number = 0
    while line := stream.readline(limits.max_line_chars + 1):
        number += 1
        if len(line) > limits.max_line_chars:
            if '"' not in line:
                _require_columns(line.count(separator) + 1, limits)
            raise DatasetError(
                "A line of the file is too long. Received: more than {limit} "
                "characters in line {line}. Look there for a missing line break.",
                limit=limits.max_line_chars,
                line=number,
            )
        if "\x00" in line:
            raise nul_character(number)
        yield line


class _QuoteError(Exception):
    """Quotation marks that do not come in pairs, with the sentence for the user."""

    def __init__(self, row: int, sentence: DatasetError) -> None:
        super().__init__()
        self.row = row
        self.sentence = sentence


def _rows_with_quotes(lines: Iterator[str], separator: str, limits: Limits) -> _Rows:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    number = 0
    while True:
        number, line = number + 1, reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            sentence = DatasetError(
                "Quotation marks do not come in pairs. Received: a cell of row {row}, "
                "line {line} of the file, that opens or closes out of place. Write "
                'every quotation mark within a quoted cell twice, as "".',
                row=number,
                line=line,
            )
            if str(error).startswith("field larger"):
                sentence = _cell_too_long(number, csv.field_size_limit(), limits)
            raise _QuoteError(number, sentence) from None
        yield number, row


@dataclass
class _Reading:
    """The rows of a file."""

    width: int = 0  # cells in the first row, and in every row that is kept
    most: int = 0  # rows of data that are read; one more, as the first may be a header
    rows: list[list[str]] = field(default_factory=list)  # with a cell that is not empty
    numbers: list[int] = field(default_factory=list)  # row number of each, from 1
    # longer, shorter: numbers of rows with more or fewer cells.
    longer: list[int] = field(default_factory=list)
    shorter: list[int] = field(default_factory=list)
    # Number and cells of the rows with line breaks within quotes.
    broken: list[tuple[int, list[str]]] = field(default_factory=list)
    notes: tuple[Note, ...] = ()  # of the encoding
    warnings: tuple[Note, ...] = ()  # of what was left out

    def take(self, number: int, row: list[str]) -> None:
        """Keeps a row, or its number where it is out of shape."""
        while len(row) > self.width and not row[-1].strip():
            row.pop()
        if _has_line_break(row):
            self.broken.append((number, row))
        if len(row) == self.width:
            self.rows.append(row)
            self.numbers.append(number)
        else:
            (self.longer if len(row) > self.width else self.shorter).append(number)


def _collect(rows: _Rows, num_before: int, limits: Limits) -> _Reading:
    """Takes rows as far as the limits go, and tells what was left out.

    The first `num_before` rows come before the table.
    """
    found = _Reading()
    head = list(itertools.islice(rows, num_before + _MOST_TITLE_ROWS))
    rows = itertools.chain(head, rows)
    titles = _titles([(n, row) for n, row in head if not 0 < n <= num_before])
    if titles:
        num_before = titles[-1][0]
        above = note(
            "What stands above the names of the columns is left out: “{title}”.",
            title=excerpt(" ".join(titles[0][1])),
        )
        found.notes = (above,)
    cut: Note | None = None
    num_taken = num_empty = last = 0
    for number, row in rows:
        if 0 < number <= num_before:
            continue
        if not any(cell.strip().strip(":-") for cell in row):  # or Markdown's rule
            num_empty += 1
            if num_empty > limits.max_empty_rows:
                cut = note(
                    "The table has more than {limit} empty rows; what comes after row "
                    "{row} is left out. Remove the empty rows.",
                    limit=limits.max_empty_rows,
                    row=last,
                )
                break
            continue
        if num_taken > found.most:
            cut = note(
                "The table is longer than the limit of {limit} rows; what comes after "
                "row {row} is left out. If it is sorted by label, shuffle it first.",
                limit=found.most,
                row=last,
            )
            break
        _require_columns(len(row), limits)
        if (longest := max(map(len, row))) > limits.max_cell_chars:
            raise _cell_too_long(number, longest, limits)
        if not found.width:
            if _has_row_names([below for n, below in head if n > number], len(row)):
                row.insert(0, "")
            found.width, found.most = len(row), limits.rows_of(len(row))
        found.take(number, row)
        num_taken, last = num_taken + 1, number
    found.warnings = _out_of_shape(found) + ((cut,) if cut else ())
    return found


def _titles(head: Sequence[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The rows above the one that names columns, which hold a cell each: a title."""
    titles: list[tuple[int, list[str]]] = []
    for number, row in head:
        filled = [cell.strip().lower() for cell in row if cell.strip()]
        if len(filled) > 1:
            return [] if _KNOWN.isdisjoint(filled) else titles
        if filled:
            titles.append((number, row))
    return []


def _has_row_names(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether each row begins with its number, above which R writes no name."""
    return len(rows) > 1 and all(
        len(row) == width + 1 and row[0] == str(number)
        for number, row in enumerate(rows, start=1)
    )


def _require_columns(count: int, limits: Limits) -> None:
    if count > limits.max_columns:
        raise DatasetError(
            "The table has too many columns. Received: at least {count}; the limit is "
            "{limit}. Keep the columns with texts and labels.",
            count=count,
            limit=limits.max_columns,
        )


def _cell_too_long(row: int, size: int, limits: Limits) -> DatasetError:
    return DatasetError(
        "A cell of the table is too long. Received: at least {size} characters in "
        "row {row}; the limit is {limit}. Cut the text there, or look for a "
        "quotation mark that never closes.",
        size=size,
        row=row,
        limit=limits.max_cell_chars,
    )


def _out_of_shape(found: _Reading) -> tuple[Note, ...]:
    """Tells which rows were left out; refuses where that is much of the table."""
    if not found.rows:
        raise DatasetError("Every row of the table is empty. Add a row for every text.")
    misshapen = sorted(found.longer + found.shorter)
    num_rows = len(found.rows) + len(misshapen)
    if len(misshapen) > _MAX_MISSHAPEN_SHARE * num_rows:
        raise DatasetError(
            "The rows do not have the same number of cells. Received: {width} in the "
            "first row and another number in {count} of {num_rows} rows: {rows}. "
            "Choose another separator, or put texts that hold it in quotation marks.",
            width=found.width,
            count=len(misshapen),
            num_rows=num_rows,
            rows=list_rows(misshapen),
        )
    return (
        *row_note(
            "Rows with more cells than the first row are left out: {rows} ({count} in "
            "all).",
            found.longer,
        ),
        *row_note(
            "Rows with fewer cells than the first row are left out: {rows} ({count} in "
            "all).",
            found.shorter,
        ),
    )


def free_names(wanted: Sequence[str], taken: Sequence[str] = ()) -> tuple[str, ...]:
    """Names for columns beside those that are taken; one of several gets a number."""
    names = list(taken)
    for name in wanted:
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        tried = itertools.chain([name], numbered)
        names.append(next(free for free in tried if free not in names))
    return tuple(names[len(taken) :])


def _has_line_break(row: Sequence[str]) -> bool:
    return any("\n" in cell or "\r" in cell for cell in row)


def _merged_rows(found: _Reading, separator: str) -> tuple[Note, ...]:
    """Warns of rows that may be several, which a stray quotation mark has joined.

    Such a row has lines that would each be a whole row, and in a line that the
    quotation marks hide stands what other rows have in the same column. The second
    sign spares letters such as "Dear Sir,": a comma in each line proves little.
    """
    suspects = []
    for number, row in found.broken:
        text = separator.join(row)
        lines = [line.split(separator) for line in _LINE_END.split(text)]
        if all(len(cells) == found.width for cells in lines):
            suspects.append((number, row, lines))
    if not suspects:
        return ()
    whole = [row for row in found.rows if not _has_line_break(row)]
    values = [{row[i].strip() for row in whole} - {""} for i in range(found.width)]
    merged = [
        (n, lines) for n, row, lines in suspects if _is_merged(row, lines, values)
    ]
    return row_note(
        "Several rows may have been read as one: {rows} ({count} in all). There a "
        "quoted cell goes over {lines} lines, each of which looks like a row of its "
        "own. Look for a quotation mark that should not be there.",
        (number for number, _ in merged),
        lines=list_rows(len(lines) for _, lines in merged),
    )


def _is_merged(
    row: list[str], lines: list[list[str]], values: Sequence[set[str]]
) -> bool:
    broken = next(index for index, cell in enumerate(row) if _has_line_break([cell]))
    for index, known in enumerate(values):
        if index == broken:
            continue
        # The first or the last of these cells is the row's own, outside the quotes.
        hidden = lines[1:] if index < broken else lines[:-1]
        cells = [line[index].strip() for line in hidden]
        if any(cell in known for cell in cells):
            return True
        if known and all(map(is_number, known)) and any(map(is_number, cells)):
            return True
    return False


# Where two fit, the one that texts themselves hold less often.
SEPARATORS = ("\t", "|", ";", ",")
# Sample for both guesses.
MAX_SAMPLE_ROWS = 200

# In UTF-8, in which a Chinese character has three, and says as much as a short word.
_MAX_NAME_BYTES = 40
_COMMENTS = re.compile(r"\A(#[^\r\n]*[\r\n]+)+")
_ENDS_OF_SENTENCES = ".!?…。！？"
# How likely a first row of data may be that looks like a header.
_MAX_CHANCE = 1 / 8

# How columns of such tables are called, in both languages; all in lower case.
TEXT_NAMES = (
    "text", "texts", "sentence", "sentences", "review", "reviews", "content",
    "message", "messages", "comment", "body", "question", "tweet", "title", "document",
    "文本", "句子", "评论", "内容", "正文", "留言", "消息", "问题", "标题", "评价",
)  # fmt: skip
PAIR_NAMES = (
    "text_b", "text2", "text_2", "sentence2", "sentence_b", "question2", "hypothesis",
    "second_text", "answer", "context", "文本2", "句子2", "问题2", "第二句", "回答",
)  # fmt: skip
FIRST_OF_PAIR_NAMES = (
    "text_a", "text1", "text_1", "sentence1", "sentence_a", "question1", "premise",
    "first_text", "文本1", "句子1", "问题1", "第一句",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "category", "categories", "sentiment", "target",
    "topic", "intent", "emotion", "rating", "stars", "score", "y", "tag",
    "is_duplicate",
    "标签", "类别", "分类", "类", "情感", "主题", "评分", "星级", "意图", "情绪",
)  # fmt: skip
OTHER_NAMES = ("id", "index", "no", "number", "date", "time", "name", "author",
               "编号", "序号", "日期", "时间", "姓名", "作者")  # fmt: skip
_KNOWN = {*TEXT_NAMES, *PAIR_NAMES, *FIRST_OF_PAIR_NAMES, *LABEL_NAMES, *OTHER_NAMES}


def guess_separator(sample: str) -> str:
    """Finds the character between cells.

    The one under which most rows have as many cells as the first row, and more
    than one; of equals, the one that makes more cells. Where none does, the
    table has one column, and a character that it does not hold is returned.
    """
    best, best_score = "", (0.5, 0)
    for separator in SEPARATORS:
        sizes = [len(row) for row in sample_rows(sample, separator) if row]
        if not sizes or sizes[0] < 2:
            continue
        score = (sizes.count(sizes[0]) / len(sizes), sizes[0])
        if score > best_score:
            best, best_score = separator, score
    if best:
        return best
    named = sample.split("\n", 1)[0]
    for separator in SEPARATORS:
        cells = named.strip().lower().split(separator)
        # A header says it, even where the rows are too broken to agree.
        if len(cells) > 1 and any(cell.strip(' "') in _KNOWN for cell in cells):
            return separator
    absent = [separator for separator in ("\t", ";", ",") if separator not in sample]
    return (absent or ["\t"])[0]


def without_comments(sample: str) -> str:
    """The sample from the first line that does not begin with "#", if there is one."""
    return _COMMENTS.sub("", sample) or sample


def _below_title(sample: str) -> str:
    """The sample from the line that names columns, if a title stands above it."""
    lines = sample.split("\n", _MOST_TITLE_ROWS)
    for separator in SEPARATORS:
        split = [
            (number, [cell.strip(' "\r') for cell in line.split(separator)])
            for number, line in enumerate(lines[:_MOST_TITLE_ROWS], start=1)
        ]
        if titles := _titles(split):
            return "\n".join(lines[titles[-1][0] :])
    return sample


def num_comments(sample: str, separator: str) -> int:
    """How many lines before the table begin with "#" and are no rows of it.

    They hold no cells, or another number of them than the line below; or that one names
    the columns.
    """
    lines = sample.split("\n")
    told = (n for n, line in enumerate(lines) if line.strip() and line[0] != "#")
    count = next(told, 0)  # 0 where nothing else is there
    below = [cell.strip(' "\r').lower() for cell in lines[count].split(separator)]
    if len(below) > 1 and not _KNOWN.isdisjoint(below):
        return count
    widths = [1 + line.count(separator) for line in lines[:count]]
    return next((n for n, w in enumerate(widths) if 1 < w == len(below)), count)


def sample_rows(sample: str, separator: str) -> list[list[str]]:
    """The first rows of the sample, as far as they can be read."""
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    try:
        for row in reader:
            rows.append(row)
            if len(rows) == MAX_SAMPLE_ROWS:
                return rows
    except csv.Error:
        return rows
    # The sample may end in the middle of a row.
    return rows[:-1] if len(rows) > 3 else rows


def guess_header(rows: Sequence[Sequence[str]]) -> tuple[bool, Note]:
    """Says whether the first of rows of one length names the columns, and why."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    named = _name_of_a_column(first, rest)
    if named is not None:
        return True, note(
            "The first row is taken as a header: it says “{name}”.", name=excerpt(named)
        )
    if not rest:
        return False, note("The first row is taken as data: it is the only one.")
    if any(is_number(cell) for cell in first):
        return False, note("The first row is taken as data: it holds a number.")
    columns = [[row[index].strip() for row in rest] for index in range(len(first))]
    for name, column in zip(first, columns, strict=True):
        counts = Counter(column)
        if name and counts[name] > 1:
            return False, note(
                "The first row is taken as data: “{value}” comes again below it.",
                value=excerpt(name),
            )
        filled = [cell for cell in column if cell]
        if name and filled and all(is_number(cell) for cell in filled):
            return True, note(
                "The first row is taken as a header: below “{name}” all is numbers.",
                name=excerpt(name),
            )
    odd_one = _name_that_stands_alone(first, columns)
    if odd_one is not None:
        return True, note(
            "The first row is taken as a header: “{name}” does not come again below "
            "it, where nearly every value comes more than once.",
            name=excerpt(odd_one),
        )
    return _header_by_length(first, columns)


def _name_of_a_column(
    first: Sequence[str], rest: Sequence[Sequence[str]]
) -> str | None:
    """A cell of the first row that can be nothing but a name; `None` without one.

    "no" and "question" name columns and are labels, too: what comes again below, in
    its own column, is a value. A row of such names alone is a header even so: that
    of a second file, joined to the first, comes again as well.
    """
    known = [index for index, cell in enumerate(first) if cell.lower() in _KNOWN]
    if known and len(known) == sum(map(bool, first)) > 1:
        return first[known[0]]
    for index in known:
        name = first[index].lower()
        if all(row[index].strip().lower() != name for row in rest):
            return first[index]
    return None


def _name_that_stands_alone(
    first: Sequence[str], columns: Sequence[Sequence[str]]
) -> str | None:
    """A first cell like no other of its column, which holds classes; `None` without.

    A shuffled file without a header may begin with a class that has one row only, but
    seldom does: of as many rows as it has, so many begin such a class.
    """
    names = [cell for cell in first if cell]
    if not all(map(_may_be_a_name, names)) or len(set(names)) < len(names):
        return None
    for name, column in zip(first, columns, strict=True):
        counts = Counter(filter(None, column))
        num_alone = 1 + list(counts.values()).count(1)
        is_rare = num_alone <= _MAX_CHANCE * counts.total()
        if name and name not in counts and is_rare:
            return name
    return None


def _may_be_a_name(cell: str) -> bool:
    return len(cell.encode()) <= _MAX_NAME_BYTES and cell[-1] not in _ENDS_OF_SENTENCES


def _header_by_length(
    first: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[bool, Note]:
    longest = max(columns, key=lambda column: sum(map(len, column)))
    index = columns.index(longest)
    typical = statistics.median(len(cell) for cell in longest)
    if len(first[index]) * 3 < typical:
        return True, note(
            "The first row is taken as a header: it is much shorter than the others."
        )
    return False, note("The first row is taken as data: it looks like the others.")
