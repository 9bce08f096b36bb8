"""What separates the cells of a table, and whether its first row is a header."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections import Counter
from collections.abc import Sequence

from bertviz_core.finetune.notes import Note, excerpt, note
from bertviz_core.numbers import is_number

SEPARATORS = (",", ";", "\t", "|")
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

    Args:
        sample: the beginning of the file.
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


def num_comments(sample: str, separator: str) -> int:
    """How many lines before the table begin with "#" and hold no cells."""
    for count, line in enumerate(sample.split("\n")):
        if not line.startswith("#") or separator in line:
            return count
    return 0  # nothing else is there


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
    """Says whether the first row names the columns, and why.

    Args:
        rows: the first rows of the table, all of one length.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    named = _name_of_a_column(first, rest)
    if named is not None:
        return True, note(
            "The first row is taken as a header: it says “{name}”.",
            name=excerpt(named),
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
