"""Spreadsheets, Parquet and JSON: read like the same table as CSV, or refused."""

import csv
import io
import json
import zipfile

import pyarrow
import pytest
from pyarrow import parquet

from bertviz_core.errors import DatasetError
from bertviz_core.finetune import other_tables
from bertviz_core.finetune.notes import in_english
from bertviz_core.finetune.table import Limits, read_table

HEADER = ("text", "label", "stars")
ROWS = [
    ("the lamp is broken", "fault", "1"),
    ("first line\nsecond line", "praise", "2.5"),
    ("电梯又坏了，=1+1", "报修", ""),
    ("", "praise", "12"),
]
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(*sheets):
    """An Excel file by hand; a sheet is a name and its rows, cells by their places."""
    stream = io.BytesIO()
    parts = range(1, len(sheets) + 1)
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" '
        f'Target="worksheets/sheet{n}.xml"/>'
        for n in parts
    )
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>'
        for n, (name, _) in zip(parts, sheets, strict=True)
    )
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(
            "[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types"/>'
        )
        packed.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>",
        )
        packed.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets>'
            "</workbook>",
        )
        packed.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}'
            "</Relationships>",
        )
        for n, (_, rows) in zip(parts, sheets, strict=True):
            packed.writestr(f"xl/worksheets/sheet{n}.xml", _sheet(rows))
    return stream.getvalue()


def _sheet(rows):
    said = ""
    for number, row in rows.items():
        cells = "".join(
            _cell(f"{place}{number}", value) for place, value in row.items()
        )
        said += f'<row r="{number}">{cells}</row>'
    return f'<worksheet xmlns="{_SHEET}"><sheetData>{said}</sheetData></worksheet>'


def _cell(place, value):
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def sheet_of(rows, first=1):
    """Rows of a sheet; what looks like a number is one."""
    return {
        number: {
            place: float(cell) if cell.replace(".", "").isdigit() else cell
            for place, cell in zip("ABC", row, strict=True)
        }
        for number, row in enumerate(rows, start=first)
    }


def as_parquet(rows):
    columns = zip(*rows, strict=True)
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(zip(HEADER, columns, strict=True))), stream)
    return stream.getvalue()


def as_json(rows, lines):
    found = [dict(zip(HEADER, row, strict=True)) for row in rows]
    found[0] = {name: value for name, value in found[0].items() if value}
    if not lines:
        return json.dumps(found, ensure_ascii=False).encode("utf-8-sig")
    return "\n".join([*map(json.dumps, found), "", ""]).encode()


KINDS = {
    "excel": (workbook(("Letters", sheet_of([HEADER, *ROWS]))), [2, 3, 4, 5]),
    "parquet": (as_parquet(ROWS), [1, 2, 3, 4]),
    "json": (as_json(ROWS, lines=False), [1, 2, 3, 4]),
    "json lines": (as_json(ROWS, lines=True), [1, 2, 3, 4]),
}


@pytest.mark.parametrize(("data", "numbers"), KINDS.values(), ids=KINDS)
def test_a_table_of_another_kind_has_the_cells_of_the_same_csv(data, numbers):
    stream = io.StringIO()
    csv.writer(stream).writerows([HEADER, *ROWS])
    expected = read_table(stream.getvalue().encode())
    table = read_table(data)
    assert table.columns == expected.columns
    assert table.cells.tolist() == expected.cells.tolist()
    assert table.row_numbers.tolist() == numbers
    assert (table.encoding, table.separator, table.has_header) == ("", "", True)


def test_a_cell_is_what_a_person_would_type():
    rows = [{"text": "a", "n": 3.0, "x": 0.5, "b": True, "l": [1, "é"], "o": None}]
    data = "\n".join(map(json.dumps, rows * 2)).encode()
    assert read_table(data).cells[0].tolist() == [
        "a",
        "3",
        "0.5",
        "True",
        '[1, "é"]',
        "",
    ]


def test_rows_of_a_sheet_keep_their_numbers_and_other_sheets_are_told():
    rows = sheet_of([HEADER, *ROWS], first=4)
    table = read_table(workbook(("Empty", {}), ("First", rows), ("Second", rows)))
    assert table.columns == HEADER
    assert table.row_numbers.tolist() == [5, 6, 7, 8]
    (told,) = map(in_english, table.warnings)
    assert "The first of 2 sheets is read: “First”" in told


def test_a_sheet_without_a_header_keeps_its_first_row():
    data = workbook(("Sheet", sheet_of(ROWS)))
    assert read_table(data, has_header=False).num_rows == len(ROWS)


def test_limits_hold_for_other_kinds():
    rows = [("text", "label", "1")] * 50
    table = read_table(as_parquet(rows), limits=Limits(max_rows=9))
    assert table.num_rows == 9
    assert "longer than the limit of 9 rows" in in_english(table.warnings[0])
    with pytest.raises(DatasetError, match="too many columns"):
        read_table(as_parquet(rows), limits=Limits(max_columns=2))
    with pytest.raises(DatasetError, match="too long"):
        read_table(as_parquet(rows), limits=Limits(max_cell_chars=3))


def bomb():
    """A sheet of two cells, which are 17 billion cells apart."""
    return workbook(("Sheet", {1: {"A": "text"}, 1_048_576: {"XFD": "label"}}))


def bomb_of_values():
    """One value of a megabyte, a million times, in a few kilobytes."""
    same = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 1_000_000), pyarrow.array(["x" * 1_000_000])
    )
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": same, "label": same}), stream)
    return stream.getvalue()


@pytest.mark.parametrize("data", [bomb(), bomb_of_values()], ids=["excel", "parquet"])
def test_a_small_file_of_billions_of_cells_is_refused(data):
    assert len(data) < 1_000_000
    with pytest.raises(DatasetError):
        read_table(data)


def test_a_reader_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(other_tables, "MAX_SECONDS", 0.01)
    data = as_parquet([("text", "label", "1")] * 100_000)
    with pytest.raises(DatasetError, match="cannot be read"):
        read_table(data)
