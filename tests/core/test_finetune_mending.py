"""A table mended by hand is a table like any other, with the rows where they were."""

import json
import time

import pytest

from bertviz_core import visitor_files
from bertviz_core.engine import table_store
from bertviz_core.engine.finetune_tasks import mend_table
from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune.columns import ColumnChoice
from bertviz_core.training.finetune.request import TableSource
from bertviz_core.training.finetune.table import read_table
from bertviz_core.training.finetune.visitor_tables import (
    MAX_UNDO,
    PAGE_ROWS,
    Mending,
    Wanted,
    keep_table,
    rows_to_mend,
    table_path,
    tables_before,
)

COLUMNS = ColumnChoice("text", "label")
TEXT = """# notes of a clerk
text;label
"the first;
of two lines";good

=1+1, then;\tGood\t
#tag and "quote";bad
;bad
no label here;
the last;bad
"""
ROWS = [3, 5, 6, 7, 8, 9]


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))


def kept(text=TEXT, **layout):
    return TableSource(keep_table(text.encode(), "me"), **layout)


def cells(source):
    table = table_store.table(source)
    rows = zip(table.row_numbers.tolist(), table.cells.tolist(), strict=True)
    return dict(rows)


def shown(source, **wanted):
    found = rows_to_mend(table_store.table(source), COLUMNS, Wanted(**wanted))
    return [row.row for row in found.rows]


def test_what_is_changed_is_changed_and_all_else_is_as_it_was():
    source = kept()
    before = cells(source)
    assert list(before) == ROWS
    changes = Mending(labels=((8, "good"),), dropped=(6,), renamed=(("Good", "good"),))
    mended = mend_table(source, "label", changes, "me")
    after = cells(mended)
    expected = {row: list(found) for row, found in before.items() if row != 6}
    expected[5][1] = expected[8][1] = "good"
    assert after == expected
    # The file itself is read the same by whoever guesses, and has the same letters.
    table = read_table(table_path(mended.table))
    assert (table.columns, table.encoding) == (("text", "label"), "utf-8")
    assert table.row_numbers.tolist() == list(after)
    assert cells(source) == before


@pytest.mark.parametrize("has_header", [True, False])
def test_a_table_of_any_kind_keeps_its_rows_apart_from_its_names(has_header):
    rows = [{"text": f"text {i}", "label": "ab"[i % 2]} for i in range(6)]
    data = "\n".join(map(json.dumps, rows)) if has_header else "text a;a\ntext b;b\n"
    source = kept(data, has_header=has_header or None)
    label = table_store.table(source).columns[1]
    mended = mend_table(source, label, Mending(dropped=(1,)), "me")
    assert list(cells(mended).values()) == list(cells(source).values())[1:]
    # Where the names were no row of the file, they are one now.
    shift = int(has_header)
    numbers = [row + shift for row in list(cells(source))[1:]]
    assert list(cells(mended)) == numbers


def test_steps_can_be_undone_one_by_one_and_not_without_end():
    source = kept(has_header=True, separator=";")
    steps = [source]
    for count in range(MAX_UNDO + 2):
        changes = Mending(labels=((9, f"label {count}"),))
        steps.append(mend_table(steps[-1], "label", changes, "me"))
    assert tables_before(steps[-1].table) == steps[-2 : -2 - MAX_UNDO : -1]
    assert tables_before(steps[1].table) == tables_before("sample:library_en") == []
    # A run has a copy of the table alone, and a table that is gone none before it.
    visitor_files.remove(table_path(steps[-2].table).parent)
    assert tables_before(steps[-1].table) == [steps[-2]]


def test_rows_are_found_by_what_is_odd_about_them_page_by_page():
    source = kept()
    assert shown(source) == ROWS
    assert shown(source, is_left_out=True) == [7, 8]
    assert shown(source, label="Good") == [5]
    assert shown(source, rows=(9, 3, 4)) == [3, 9]
    assert shown(source, rows=()) == []
    found = rows_to_mend(table_store.table(source), COLUMNS, Wanted())
    assert found.labels[0] == "bad"
    assert set(found.labels) == {"bad", "good", "Good", ""}
    assert found.rows[0].text == "the first;\nof two lines"
    many = kept("text,label\n" + "".join(f"text {i},a\n" for i in range(120)))
    found = rows_to_mend(table_store.table(many), COLUMNS, Wanted(page=2))
    assert (found.num_rows, len(found.rows)) == (120, 120 - 2 * PAGE_ROWS)
    assert found.rows[0].row == 2 + 2 * PAGE_ROWS


def test_a_table_without_rows_is_refused_and_nothing_is_kept():
    source = kept()
    tables = visitor_files.place_of(visitor_files.TABLES)
    count = len(list(tables.iterdir()))
    with pytest.raises(DatasetError, match="No row would be left"):
        mend_table(source, "label", Mending(dropped=tuple(ROWS)), "me")
    assert len(list(tables.iterdir())) == count


def test_a_hundred_thousand_rows_are_mended_in_seconds():
    lines = "".join(
        f"a text that is number {i},{'ab'[i % 2]}\n" for i in range(100_000)
    )
    source = kept("text,label\n" + lines)
    table_store.table(source)
    started = time.process_time()
    mended = mend_table(source, "label", Mending(renamed=(("a", "c"),)), "me")
    found = rows_to_mend(
        table_store.table(mended), COLUMNS, Wanted(label="c", page=999)
    )
    assert time.process_time() - started < 10
    assert (found.num_rows, found.rows[-1].row) == (50_000, 100_000)
