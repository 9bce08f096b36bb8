"""Tables as people have them: what is read, and what is refused in a sentence."""

import contextlib
import csv
import gzip
import io
import json
import random
import re
import sqlite3
import time
import tracemalloc
import zipfile

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune import other_tables
from bertviz_core.training.finetune.checks import check_dataset
from bertviz_core.training.finetune.columns import guess_columns
from bertviz_core.training.finetune.dataset import make_dataset
from bertviz_core.training.finetune.notes import in_english
from bertviz_core.training.finetune.split import split_dataset
from bertviz_core.training.finetune.table import Limits, read_table

ROWS = [
    ("the lamp is broken", "fault"),
    ("thank you, all is well", "praise"),
    ('she said "no" twice', "fault"),
    ("first line\nsecond line", "praise"),
    ("nothing to add here", "praise"),
]
# 上 is U+4E0A and 不 U+4E0D.
BYTES_OF_LINE_ENDS = [("早上不吵，晚上也不吵", "好"), ("上不去下不来", "坏")]
CHINESE = [
    ("电梯又坏了，请尽快派人来修", "报修"),
    ("谢谢物业，处理得很及时", "表扬"),
    ("楼道的灯一直不亮", "报修"),
    ("保安师傅非常热心", "表扬"),
]
FRENCH = [
    ("Le café était très bon, à bientôt", "oui"),
    ("Ça va être génial dès l'été", "oui"),
    ("Une soirée gâchée par le bruit", "non"),
    ("Le garçon était désagréable", "non"),
]


def written(rows, header=("my text", "label"), separator=",", end="\r\n"):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator, lineterminator=end)
    if header:
        writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()


def cells(table):
    return [tuple(row) for row in table.cells]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends_make_no_difference(separator, end):
    # Files of the old Mac have no line ends within quotes.
    rows = [row for row in ROWS if end != "\r" or "\n" not in row[0]]
    table = read_table(written(rows, separator=separator, end=end).encode())
    assert cells(table) == rows
    assert table.columns == ("my text", "label")
    assert (table.separator, table.has_header) == (separator, True)


@pytest.mark.parametrize(
    ("separator", "text"), [("\t", "clean, but cold"), (";", "1,5")]
)
def test_of_two_separators_that_fit_it_is_the_one_that_texts_hold_less_often(
    separator, text
):
    table = read_table(written([(text, "a"), (text, "b")], None, separator).encode())
    assert cells(table) == [(text, "a"), (text, "b")]


@pytest.mark.parametrize(
    ("rows", "codec", "found"),
    [(ROWS, "utf-8", "utf-8"), (CHINESE, "utf-8-sig", "utf-8"),
     (CHINESE, "gb18030", "gb18030"), (CHINESE, "utf-16", "utf-16"),
     (CHINESE, "utf-16-le", "utf-16-le"), (CHINESE, "utf-16-be", "utf-16-be"),
     (ROWS, "utf-16-le", "utf-16-le"), (CHINESE, "utf-32", "utf-32"),
     (BYTES_OF_LINE_ENDS, "utf-16-le", "utf-16-le"),
     (FRENCH, "latin-1", "latin-1")],
)  # fmt: skip
def test_every_encoding_is_found(rows, codec, found):
    table = read_table(written(rows).encode(codec))
    assert table.encoding == found
    assert cells(table) == rows
    assert table.columns == ("my text", "label")


# Header and two rows, and the encodings that such a table comes in.
LANGUAGES = [
    ("текст,метка", "Очень хорошая книга,хорошо", "Плохая вещь,плохо",
     ("cp1251", "koi8-r", "cp866", "mac-cyrillic", "iso8859-5")),
    ("текст,мітка", "Дуже гарна книга про їжака,добре", "Погана річ,погано",
     ("cp1251", "koi8-u")),
    ("tekst,etykieta", "Bardzo dobra książka,dobrze", "Zła rzecz i żółć,źle",
     ("cp1250", "iso8859-2", "mac-latin2")),
    ("text,štítek", "Velmi dobrá kniha,dobře", "Špatná věc,špatně",
     ("cp1250", "iso8859-2", "cp852")),
    ("κείμενο,ετικέτα", "Πολύ καλό βιβλίο,καλό", "Κακό πράγμα,κακό",
     ("cp1253", "iso8859-7", "mac-greek")),
    ("tekstas,žymė", "Labai gera ir įdomi knyga,puiku", "Blogas daiktas čia,šlykštu",
     ("cp1257", "iso8859-13")),
    ("metin,etiket", "Çok iyi bir kitap,iyi", "Kötü şey,kötü", ("cp1254",)),
    ("טקסט,תווית", "ספר טוב מאוד,טוב", "דבר רע,רע", ("cp1255",)),
    ("نص,تسمية", "كتاب جيد جدا,جيد", "شيء سيئ,سيئ", ("cp1256",)),
    ("ข้อความ,ป้าย", "หนังสือดีมาก,ดี", "ไม่ดีเลย,ไม่ดี", ("cp874",)),
    ("テキスト,ラベル", "とても良い本です。,良い", "悪いものです。,悪い",
     ("cp932", "euc-jp", "iso2022_jp")),
    ("텍스트,라벨", "아주 좋은 책입니다,좋음", "나쁜 물건,나쁨",
     ("cp949", "johab", "iso2022_kr")),
    ("文本,标签", "很好的书，我很喜欢,好", "这本书不好看,坏", ("gb18030", "hz")),
    ("text,label", "a ~{ in a text~},good", "Bad thing,bad", ("ascii",)),
    ("文本,標籤", "很好的書，我很喜歡,好", "這本書不好看,壞", ("big5",)),
    ("texte,étiquette", "Un très bon livre,bien", "Mauvaise chose à éviter,mal",
     ("cp1252", "mac-roman", "cp850")),
    # Umlauts in the header alone.
    ("Äußerung,Label", "Das Buch ist gut,gut", "Das ist schlecht,schlecht",
     ("cp1252", "mac-roman", "cp850")),
    ("texto,etiqueta", "¿Qué tal? ¡Muy bueno!,bueno", "El señor no,malo",
     ("cp1252", "mac-roman")),
    ("text,label", "It’s a good book – really,good", "Bad thing,bad", ("cp1252",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "codec"),
    [(lines, codec) for *lines, codecs in LANGUAGES for codec in codecs],
)
def test_tables_of_many_languages_are_read_in_the_encodings_they_come_in(lines, codec):
    header, good, bad = lines
    text = "\n".join([header, *[good, bad] * 6, ""])
    table = read_table(text.encode(codec), separator=",", has_header=True)
    assert table.columns == tuple(header.split(","))
    assert ",".join(table.cells[0]) == good


def test_a_comment_before_the_table_is_no_row_of_it():
    text = "# Letters of 2024\n#\nmy text|label\nthe lamp|fault\n#1 fan|praise\n"
    table = read_table(text.encode())
    assert table.columns == ("my text", "label")
    assert cells(table) == [("the lamp", "fault"), ("#1 fan", "praise")]
    assert table.row_numbers.tolist() == [4, 5]


@pytest.mark.parametrize(
    "comment", ["# Reviews, 2024", "#Exported 27/11/2024, 10:01\n# a, b, c"]
)
def test_a_comment_may_hold_the_separator(comment):
    table = read_table(f"{comment}\ntext,label\nthe lamp,fault\n#1 fan,yes\n".encode())
    assert table.columns == ("text", "label")
    assert cells(table) == [("the lamp", "fault"), ("#1 fan", "yes")]
    # Without names of columns, a row that begins so and fits is a row.
    bare = read_table(b"#1 fan,praise\nthe lamp,fault\nlate,fault\n", has_header=False)
    assert cells(bare)[0] == ("#1 fan", "praise")


TITLED = "Survey of 2024{0}{0}\n{0}{0}\nspring{0}{0}\ntext{0}label{0}place\n"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("is_bare", [False, True])
def test_a_title_above_the_names_of_the_columns_is_no_row_of_it(separator, is_bare):
    text = TITLED.format(separator) + f"a b{separator}good{separator}here\n" * 3
    if is_bare:  # as an editor would write it
        text = re.sub(f"^([^{separator}]*){separator * 2}$", r"\1", text, flags=re.M)
    table = read_table(text.encode())
    assert table.columns == ("text", "label", "place")
    assert table.row_numbers.tolist() == [5, 6, 7]
    assert "left out: “Survey of 2024”" in said(table.notes)
    assert not table.warnings


def test_a_sheet_has_a_title_and_a_first_row_with_an_empty_cell_is_none():
    rows = sheet_of([("Letters", "", ""), HEADER, *CELLS])
    table = read_table(workbook(("Sheet", rows)))
    assert table.columns == HEADER
    assert table.row_numbers[0] == 3
    aside = {1: {"A": "Letters"}, 3: {"B": "text", "C": "label"}, 4: {"B": "a"}}
    assert read_table(workbook(("Sheet", aside))).columns == ("#1", "text", "label")
    for text in ("a cat,\na dog,good\na cow,bad\n", "text\na, b\nc, d\n"):
        assert "left out" not in said(read_table(text.encode()).notes)


def said(notes):
    """In English, one after the other."""
    return " ".join(map(in_english, notes))


def test_a_guessed_encoding_says_so_and_can_be_changed():
    data = written(FRENCH).encode("latin-1")
    assert "is a guess" in said(read_table(data).notes)
    assert read_table(data, encoding="latin-1").encoding == "latin-1"
    wrong = read_table(written(CHINESE).encode("gb18030"), encoding="latin-1")
    assert cells(wrong) != CHINESE


def test_row_numbers_are_those_of_a_spreadsheet():
    data = b'text,label\n"two\nlines",a\n\nplain,b\n,\nlast,a\n'
    table = read_table(data)
    assert table.row_numbers.tolist() == [2, 4, 6]


def test_rows_out_of_shape_are_left_out_and_named():
    good = [f"text number {i},label" for i in range(20)]
    lines = ["text,label", *good[:3], "a,b,c", *good[3:9], "alone", *good[9:], "x,y,,"]
    table = read_table("\n".join(lines).encode())
    assert table.num_rows == 21
    assert re.search(r"more cells[^.]* 5 ", said(table.notes))
    assert re.search(r"fewer cells[^.]* 12 ", said(table.notes))


@pytest.mark.parametrize(
    ("first", "has_header"),
    [("text,label", True), ("大家说的话,好不好", True), ("17,a text", False),
     ("it rained all day and then it rained,bad", False), ("fine,good", False),
     ("what they said,verdict", True)],
)  # fmt: skip
def test_a_header_is_told_from_data_by_a_reason(first, has_header):
    rest = [
        f"a rather long text about subject {i} and its end,{('bad', 'good')[i % 2]}"
        for i in range(9)
    ]
    table = read_table("\n".join([first, *rest]).encode())
    assert table.has_header is has_header
    assert table.num_rows == 10 - has_header
    assert any("first row" in in_english(each) for each in table.notes)


SHORT_WORDS = ["好听", "难看", "喜欢", "一般般", "真差", "很棒", "哈哈", "无聊", "笑死"]
SHORT_TEXTS = ["well done", "never again", "I like it", "so so", "what is this"]


@pytest.mark.parametrize(
    ("first", "texts", "labels", "has_header"),
    [
        ("单词,极性", SHORT_WORDS, ("正", "负"), True),
        ("弹幕,倾向性", SHORT_WORDS, ("正面", "负面", "中性"), True),
        ("utterance,act", SHORT_TEXTS, ("statement", "question"), True),
        ("te xt,is it", SHORT_TEXTS, ("good", "bad"), True),
        ("Customer words,Ist gut", SHORT_TEXTS, ("ja", "nein"), True),
        # The first class of a file without a header, which no other row has.
        ("好看吗？,疑问", SHORT_WORDS, ("正面", "负面"), False),
        ("我昨天在网上看到的那部新电影,中性", SHORT_WORDS, ("正面", "负面"), False),
        ("What is this?,doubt", SHORT_TEXTS, ("praise", "blame"), False),
        # Twelve classes, half of which have one row.
        ("好吃,美食", SHORT_WORDS, tuple("音乐体育财经科技游戏汽车"), False),
        # Too few rows to tell.
        ("好听,好", SHORT_WORDS[:4], ("正面", "负面"), False),
    ],
)
def test_a_header_over_short_texts_is_told_by_the_classes_below(
    first, texts, labels, has_header
):
    rest = [
        f"{texts[i % len(texts)]}{i // len(texts) or ''},{labels[i % len(labels)]}"
        for i in range(18 if len(texts) > 4 else 4)
    ]
    table = read_table("\n".join([first, *rest]).encode())
    assert table.has_header is has_header
    assert table.num_rows == len(rest) + 1 - has_header


@pytest.mark.parametrize(
    ("first", "second"), [("no", "yes"), ("No", "Yes"), ("question", "complaint")]
)
def test_a_label_that_is_also_a_name_of_columns_makes_no_header(first, second):
    texts = [f"It broke at once, sadly {i}" for i in range(20)]
    labels = [(first, second)[i % 2 or i % 3 == 1] for i in range(20)]
    rows = list(zip(texts, labels, strict=True))
    table = read_table(written(rows, header=None).encode())
    assert (table.has_header, table.num_rows) == (False, 20)
    choice = guess_columns(table)
    assert (choice.text, choice.label) == ("#1", "#2")
    # The same words, once, are what they say.
    named = [("question", "no"), *zip(texts, "ab" * 10, strict=True)]
    assert read_table(written(named, header=None).encode()).has_header


def traced(read):
    """The most bytes that Python held at once while this ran; what it returned."""
    tracemalloc.start()
    try:
        return read(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_very_many_rows_are_cut_with_a_note_in_bounded_memory():
    data = b"text,label\n" + b"a short text,yes\nanother,no\n" * 150_000
    limits = Limits(max_rows=5_000)
    table, peak = traced(lambda: read_table(data, limits=limits))
    assert table.num_rows == 5_000
    assert any("limit of 5000" in in_english(each) for each in table.notes)
    assert peak < len(data) * 2 + 20_000_000
    # One at the limit is whole.
    limits = Limits(max_rows=7)
    table = read_table(b"text,label\n" + b"a,b\n" * 7, limits=limits)
    assert table.num_rows == 7
    assert "limit" not in said(table.notes)
    assert read_table(b"17,b\n" * 8, limits=limits).num_rows == 7


def refused(data, words, **options):
    with pytest.raises(DatasetError, match=words):
        read_table(data, **options)


def merged(table):
    """The warnings that several rows were read as one."""
    sentences = [in_english(each) for each in table.warnings]
    return [sentence for sentence in sentences if "read as one" in sentence]


def test_the_header_can_be_set_by_hand_and_names_are_told_apart():
    table = read_table(written(ROWS).encode(), has_header=False)
    assert table.columns == ("#1", "#2")
    assert cells(table)[0] == ("my text", "label")
    # The header of a second file below leaves the first a header.
    joined = written([*ROWS, ("text", "label")], ("text", "label"))
    table = read_table(joined.encode())
    assert (table.has_header, table.num_rows) == (True, 6)
    table = read_table(b",text,text, the  label \n0,a,b,c\n1,d,e,f\n")
    assert table.columns == ("#1", "text", "text (2)", "the label")
    # What Excel says about the separator is no row.
    table = read_table(b"sep=;\ntext;label\na, b;c\nd;e\n")
    assert (table.separator, table.num_rows) == (";", 2)
    assert np.array_equal(table.column("label"), ["c", "e"])
    with pytest.raises(DatasetError, match="text, label"):
        table.column("nonsense")
    with pytest.raises(ValueError, match="read-only"):
        table.cells[0, 0] = "x"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("row", "opening", "closing"),
    [
        ("fine number {i},{x}", '"Great phone,a', 'nice one",b'),
        ("{x},fine number {i}", 'a,"Great phone', 'b,nice one"'),
        ("{x},fine number {i},x", 'a,"Great phone,x', 'b,nice one",x'),
        ("text number {i},{i}.5", '"Great phone,1.5', 'nice one",7.5'),
    ],
)
def test_rows_that_stray_quotation_marks_join_are_named(row, opening, closing, end):
    lines = [row.format(i=i, x="ab"[i % 2]) for i in range(20)]
    lines[3], lines[7] = opening, closing
    first = ",".join("abc"[: row.count(",") + 1])
    table = read_table(end.join([first, *lines]).encode(), has_header=True)
    assert table.num_rows == 16
    (sentence,) = merged(table)
    assert " 5 (1 in all)" in sentence
    assert "over 5 lines" in sentence


def test_a_line_break_within_quotes_that_was_meant_is_no_warning():
    rows = [
        *ROWS,
        ("Dear Sir, hello\nall is well", "praise"),  # a comma in each line
        ("well, it broke\nand then, again, it broke", "fault"),
        ("one\n\ntwo, three", "fault"),
        ("fault\npraise", "fault"),
    ]
    assert merged(read_table(written(rows).encode())) == []


def test_a_tab_file_with_loose_quotes_is_read_without_quoting():
    table = read_table(b'text\tlabel\n"Well" he said\ta\n"Oh\tb\n')
    assert cells(table) == [('"Well" he said', "a"), ('"Oh', "b")]
    assert any("row 2" in in_english(each) for each in table.notes)


@pytest.mark.parametrize("options", [{"separator": "x"}, {"encoding": "morse"}])
def test_an_option_that_is_not_offered_is_a_mistake_of_the_caller(options):
    with pytest.raises(ValueError, match="must be in"):
        read_table(b"a,b\n1,2\n", **options)


def zipped():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.csv", written(ROWS))
    return stream.getvalue()


def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (a)")
    data = connection.serialize()
    connection.close()
    return data


def with_row(line, position=4, num_rows=9):
    lines = [f"text number {i},{'ab'[i % 2]}" for i in range(num_rows)]
    lines.insert(position - 2, line)
    return "\n".join(["text,label", *lines, ""]).encode()


def labelled(*labels, text="a text of row {}"):
    rows = [(text.format(i), label) for i, label in enumerate(labels)]
    return written(rows, header=("text", "label"), end="\n").encode()


NOISE = random.Random(0).randbytes(4_000)

# (what it is, the bytes, words of the sentence)
MALFORMED = [
    ("nothing", b"", "empty"),
    ("only a mark", b"\xef\xbb\xbf", "empty"),
    ("only NULs", b"\x00" * 100, "empty"),
    ("only separators", b",,,\n,,,\n", "Every row"),
    ("only a header", b"text,label\n", "no rows"),
    ("a zip renamed", zipped(), "Unpack it"),
    ("half a parquet file", b"PAR1" + NOISE, "parquet"),
    ("gzip", gzip.compress(b"text,label\na,b\n", mtime=0), "Unpack it"),
    ("a PDF", b"%PDF-1.7\n" + NOISE, "pdf"),
    ("a picture", b"\x89PNG\r\n\x1a\n" + NOISE, "png"),
    ("a database", database(), "sqlite"),
    ("a program", b"\x7fELF" + NOISE, "elf"),
    ("a web page", b"<!DOCTYPE html>\n<html><body>a,b</body></html>", "html"),
    ("half a json file", json.dumps([{"text": "a", "label": "b"}]).encode()[:-3],
     "line 1 as the last one, which ends"),
    ("json that ends in a text",
     json.dumps([{"text": "a", "label": "b"}] * 2, indent=1).encode()[:-20],
     "line 7 as the last one"),
    ("json without a comma", b'[\n{"text": "a",\n "label": "b"\n "n": 1}\n]\n',
     "line 4, at character 2. Received: “ \"n\": 1}”"),
    ("json with brackets too many", b'{"text": ["a", "b"]}\n}\n]',
     "line 2, at character 1. Received: “}”"),
    ("json lines without a quotation mark",
     b'{"text": "a"}\n\n{"text": "b"}\n{"text": "c}\n{"text": "d"}\n',
     "line 4, at character 10"),
    ("json lines cut off", b'{"text": "a"}\n{"text": "b"}\n{"tex',
     "line 3 as the last one"),
    ("json lines whose first is cut", b'{"text": "a"\r\n{"text": "b"}\r\n',
     "line 1, at character 13. Received: “{\"text\": \"a\"”"),
    ("json lines of lists", b'{"text": "a"}\n[1]\n', "Row 2 of the JSON names no"),
    ("json of numbers", b'[{"text": "a"}, 3]', "Row 2 of the JSON names no columns"),
    ("json in json in json", b'{"a":' * 100_000, "json"),
    ("noise", NOISE, "binary"),
    ("noise without NUL", NOISE.replace(b"\x00", b"\x01"), "binary"),
    ("NUL in a row", with_row("a\x00text,a"), "line 4"),
    ("control characters", b"text,label\n" + b"\x01\x02\x03\x04,a\n" * 9, "binary"),
    ("a mark that lies",
     b"\xef\xbb\xbf" + written(CHINESE).encode("gb18030"), "line 2"),
    ("utf-16 cut in half", written(CHINESE).encode("utf-16")[:-1], "line"),
    ("utf-16 with half a pair", b"\xff\xfe" + b"a\x00\x00\xd8b\x00\n\x00", "line"),
    ("a quote never closed", with_row('"never closed,a'), "row 4"),
    ("a quote closed early", with_row('"early" and more,a'), "row 4"),
    ("a quote open at the end", labelled(*"abab") + b'"open', "row 6"),
    ("a quote after lines in quotes", b'text,label\n"a\nb\nc",x\n"d" e,y\n',
     "row 3, line 5"),
    ("a quote that swallows 300,000 letters",
     with_row('"open,a', num_rows=20_000), "row 4"),
    ("texts without quotes",
     b"text,label\n" + b"one, two, three,a\nfour,b\n" * 9, "9 of 19 rows: 2, 4, 6"),
    ("ragged rows", b"text,label\na\nb,c,d\ne,f\ng\n", "rows: 2, 3, 5"),
    ("a header too short", b"text,label\n" + b"0,text,a\n" * 9, "9 of 10"),
    ("one column", b"text\nhello there\ngood bye\n", "one column"),
    ("one column of prose",
     "\n".join(f"so, {'la, ' * i}end." for i in range(9)).encode(), "column"),
    ("a million columns", b",".join([b"c"] * 1_000_000) + b"\n", "at least"),
    ("600 columns in a row", with_row("x," * 600), "601"),
    ("a line of 2 million", with_row("x" * 2_000_000 + ",a"), "line 4"),
    ("a first line of 2 million", b"x" * 2_000_000, "line 1"),
    ("a cell of 100,001", with_row("x" * 100_001 + ",a"), "100001 characters in row 4"),
    ("a quoted cell of 300,000", with_row('"' + "x\n" * 150_000 + '",a'),
     "at least 131072 characters in row 4"),
    ("a class in every row", labelled(*"abcdefghijk"), "11 values"),
    ("EU and NA", labelled(*["EU", "NA"] * 10), "have “NA” for a label"),
    ("null and nan", labelled(*["yes", "null", "nan"] * 4),
     "“null / nan” for a label, which stands for none: 3, 4, 6, 7, 9, …"),
    ("one class and blanks", labelled(*["a", ""] * 9), "or have “” for a label"),
    ("too few for blanks", labelled(*"abab", "", "", "", "", ""),
     "lack a text or a label: 6, 7, 8, 9, 10; at least 8"),
    ("one number and blanks", labelled(*["2.3", ""] * 9), "9 more are left out"),
    ("prices, some with a mark", labelled(*[f"{i}" for i in range(900, 911)], "1,500"),
     "“1,500” in rows 13, 1 rows"),
    ("millions", labelled(*[f"{i}.500.000" for i in range(1, 12)]), "“1.500.000”"),
    ("no label at all",
     labelled("", "", "", "nan", "NaN", "N/A", "null"), "two columns"),
    ("no row whole", b"text,label\n" + b"a,\n,b\nc,\n,d\n" * 4, "both a text"),
    ("only numbers", b"1,2\n3,4\n5,6\n" * 5, "numbers"),
    ("no text anywhere", b"text,label\n" + b",a\n,b\n" * 6, "two columns"),
    ("300 classes",
     labelled(*[f"class {i % 300}" for i in range(900)]), "300"),
    ("one number everywhere", labelled(*["2.3"] * 9), "“2.3” in all 9 rows"),
]  # fmt: skip


def lines(*cells, first="text,label", end="\n"):
    """Twelve rows of the same form; {i} is their number, {x} a label."""
    rows = [
        c.format(i=i, x="ab"[i % 2]) for i in range(12 // len(cells)) for c in cells
    ]
    return end.join([first, *rows, ""])


# (the file, its columns, number and cells of its first row, how many rows)
AWKWARD = {
    "commas in texts": (
        lines("a, b, c {i};{x}", first="text;label"),
        ("text", "label"), 2, ("a, b, c 0", "a"), 12),
    "semicolons in texts": (
        lines("a; b; c {i},{x}"), ("text", "label"), 2, ("a; b; c 0", "a"), 12),
    "doubled quotes": (
        lines('"he said ""no"" {i}",{x}'),
        ("text", "label"), 2, ('he said "no" 0', "a"), 12),
    "inches": (
        lines('a {i}" screen,{x}'), ("text", "label"), 2, ('a 0" screen', "a"), 12),
    "lines in cells": (
        lines('"one {i}\ntwo\n\nfour",{x}'),
        ("text", "label"), 2, ("one 0\ntwo\n\nfour", "a"), 12),
    "blank lines": (
        lines("\n\ntext {i},{x}", end="\n   \n"),
        ("text", "label"), 5, ("text 0", "a"), 12),
    "empty rows and columns of Excel": (
        lines("text {i},{x},,", first="text,label,,") + ",,,\n" * 40,
        ("text", "label", "#3", "#4"), 2, ("text 0", "a", "", ""), 12),
    "separators at the ends of rows": (
        lines("text {i},{x},"), ("text", "label"), 2, ("text 0", "a"), 12),
    "tabs with spaces": (
        lines("one {i} \t {x} ", first="text \t label"),
        ("text", "label"), 2, ("one 0 ", " a "), 12),
    "an index of pandas": (
        lines("{i},text {i},{x}", first=",text,label"),
        ("#1", "text", "label"), 2, ("0", "text 0", "a"), 12),
    "a comment within": (
        lines("# text {i},{x}", "text {i},{x}"),
        ("text", "label"), 2, ("# text 0", "a"), 12),
    "hashtags without a header": (
        lines("#day {i},{x}", first="#day,a"), ("#1", "#2"), 1, ("#day", "a"), 13),
    "SEP= in capitals": (
        "SEP=;\r\n" + lines("a, {i};{x}", first="text;label", end="\r\n"),
        ("text", "label"), 3, ("a, 0", "a"), 12),
    "a mark and quotes": (
        "\ufeff" + lines('"text {i}","{x}"', first='"text","label"'),
        ("text", "label"), 2, ("text 0", "a"), 12),
    "a header of two lines": (
        lines("text {i},{x}", first='text,"label\n(a/b)"'),
        ("text", "label (a/b)"), 2, ("text 0", "a"), 12),
    "two kinds of line ends": (
        lines("one {i},{x}") + "two,a\r\nthree,b\r\n",
        ("text", "label"), 2, ("one 0", "a"), 14),
    "the end of a DOS file": (
        lines("text {i},{x}") + "\x1a", ("text", "label"), 2, ("text 0", "a"), 12),
    "row names of R, above which no name stands": (
        "text,label\n" + "".join(f'"{i}","text {i}","a"\n' for i in range(1, 13)),
        ("#1", "text", "label"), 2, ("1", "text 1", "a"), 12),
    "a table of Markdown": (
        lines("|text {i}|{x}|", first="|text|label|\n|:---|---:|"),
        ("#1", "text", "label", "#4"), 3, ("", "text 0", "a", ""), 12),
    "numbers before texts": (
        lines("{i}\ttext {i}", first="5\tmore"), ("#1", "#2"), 1, ("5", "more"), 13),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns", "number", "first", "num_rows"), AWKWARD.values(), ids=AWKWARD
)
def test_an_awkward_table_is_read_as_it_was_meant(
    text, columns, number, first, num_rows
):
    table = read_table(text.encode())
    assert (table.columns, table.num_rows) == (columns, num_rows)
    assert (int(table.row_numbers[0]), cells(table)[0]) == (number, first)


def read_dataset(data):
    table = read_table(data)
    return make_dataset(table, guess_columns(table))


@pytest.mark.parametrize(
    ("data", "words"), [pytest.param(d, w, id=name) for name, d, w in MALFORMED]
)
def test_a_malformed_file_ends_in_a_sentence_that_says_where(data, words):
    started = time.process_time()
    with pytest.raises(DatasetError) as caught:
        read_dataset(data)
    sentence = str(caught.value)
    assert words in sentence
    assert re.search(r"[.”]$", sentence)
    assert len(sentence) < 700
    assert time.process_time() - started < 5
    # Details cross between processes and fill the same places in another language.
    assert all(isinstance(v, str | int | float) for v in caught.value.details.values())


def test_a_line_of_200_megabytes_is_refused_without_being_read(tmp_path):
    path = tmp_path / "long.csv"
    with path.open("wb") as file:  # a sparse file: nothing is written
        file.truncate(200_000_000)
    refused(tmp_path / "absent.csv", r"absent\.csv cannot be read")
    words = r"too large.*200000000 bytes"
    assert traced(lambda: refused(path, words))[1] < 1_000_000


@pytest.mark.parametrize(("line", "quote"), [("", ""), (",", ""), ("\t", '"')])
def test_empty_rows_without_end_are_not_read_to_their_end(line, quote):
    separator = line or ","
    rows = [f"text {i}{quote}{separator}{'ab'[i % 2]}" for i in range(9)]
    data = "\n".join([*rows, *[line] * 60, f"late{separator}a", ""]).encode()
    table = read_table(data, limits=Limits(max_empty_rows=59), separator=separator)
    assert table.num_rows == 9
    (said,) = [each for each in map(in_english, table.warnings) if "empty" in each]
    assert "more than 59 empty rows; what comes after row 9 is" in said
    whole = read_table(data, limits=Limits(max_empty_rows=60), separator=separator)
    assert whole.cells[-1][0] == "late"
    assert not [each for each in map(in_english, whole.warnings) if "empty" in each]


@pytest.mark.parametrize("end", [b"\n", b"\r"])
@pytest.mark.parametrize("encoding", [None, "latin-1"])
def test_a_long_line_is_not_read_to_its_end(end, encoding):
    data = b"text,label" + end + "x\xe9".encode("latin-1") * 20_000_000
    words = "1000000 characters in line 2"
    read = traced(lambda: refused(data, words, encoding=encoding, separator=","))
    assert read[1] < len(data)


@pytest.mark.parametrize(
    ("data", "encoding", "words"),
    [
        ("text,label\ntrès,b\n".encode("latin-1"), "utf-8", "utf-8.*line 2"),
        # Both need a mark.
        (b"text,label\na,b\n" * 20, "utf-16", "utf-16.*line 1"),
        (b"text,label\na,b\n" * 20, "utf-32", "utf-32.*line 1"),
        ("文本,标签\n".encode("gb18030") + "楼道的灯一直不亮,报修\n".encode("gb18030")
         * 50_000 + b"\xff", "gb18030", "in line 50002 "),
        # Behind a letter that two pieces share.
        (b"text,label\n" + b"x" * 999_987 + "好".encode() + b"\xff\nnext,a\n", "utf-8",
         "in line 2 "),
        (b"text,label\na,b\nc,d\na\x00text,a\n", "latin-1", "NUL.*line 4"),
    ],
    ids=["other", "utf-16", "utf-32", "deep", "between pieces", "NUL"],
)  # fmt: skip
def test_bytes_that_do_not_fit_a_chosen_encoding_are_named(data, encoding, words):
    refused(data, words, encoding=encoding)


def test_one_emoji_does_not_multiply_the_memory():
    data = ("text,label\n" + "x" * 90 + ",a\n").encode()
    data += (b"y" * 90 + b",b\n") * 100_000 + "🙂,a\n".encode()
    limits = Limits(max_rows=100)
    assert traced(lambda: read_table(data, limits=limits))[1] < 0.6 * len(data)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c"])
def test_rare_line_ends_are_part_of_a_text(mark):
    rows = [(f"one{mark}two, {i}", "ab"[i % 2]) for i in range(5)]
    table = read_table(written(rows).encode())
    assert (table.separator, cells(table)) == (",", rows)


@pytest.mark.parametrize("seed", range(12))
def test_any_cells_come_back_as_they_were_written(seed):
    rng = random.Random(seed)
    letters = ["a", "b", ",", ";", "\t", '"', "\n", "\r\n", "好", " ", "é", "'"]

    def cell():
        return "x" + "".join(rng.choices(letters, k=rng.randrange(9)))

    separator = ",;\t"[seed % 3]
    rows = [(cell(), cell(), cell()) for _ in range(17)]
    data = written(rows, header=("p", "q", "r"), separator=separator)
    codec = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le")[seed % 4]
    table = read_table(data.encode(codec), separator=separator, has_header=True)
    assert cells(table) == rows
    assert table.row_numbers.tolist() == list(range(2, 19))


@pytest.mark.parametrize("seed", range(24))
def test_a_damaged_file_is_a_table_or_a_sentence_and_never_another_error(seed):
    rng = random.Random(seed)
    whole = written(CHINESE * 3 + ROWS * 3)
    data = bytearray(whole.encode(("utf-8", "gb18030", "utf-16")[seed % 3]))
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(data))
        if rng.random() < 0.5:
            del data[place : place + rng.randrange(1, 9)]
        else:
            data[place:place] = rng.choice(
                [b"\x00", b'"', b",", b"\n", b"\xff", b"\xe4"]
            )
    with contextlib.suppress(DatasetError):
        dataset = read_dataset(bytes(data))
        check_dataset(dataset)
        split = split_dataset(dataset)
        parts = (split.train, split.validation, split.test)
        assert sum(map(len, parts)) == len(dataset)


HEADER = ("text", "label", "stars")
CELLS = [
    ("the lamp is broken", "fault", "1"),
    ("first line\nsecond line", "praise", "2.5"),
    ("电梯又坏了，=1+1", "报修", ""),
    ("", "praise", "12"),
]
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(*sheets, hidden=()):
    """An Excel file by hand; a sheet is a name and its rows, cells by their places."""
    stream = io.BytesIO()
    parts = range(1, len(sheets) + 1)
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" '
        f'Target="worksheets/sheet{n}.xml"/>'
        for n in parts
    )
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}" '
        f'state="{"hidden" if name in hidden else "visible"}"/>'
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
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{value:d}</v></c>'
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
    "excel": (workbook(("Letters", sheet_of([HEADER, *CELLS]))), [2, 3, 4, 5]),
    "parquet": (as_parquet(CELLS), [1, 2, 3, 4]),
    "json": (as_json(CELLS, lines=False), [1, 2, 3, 4]),
    "json lines": (as_json(CELLS, lines=True), [1, 2, 3, 4]),
    "json in utf-32": (
        as_json(CELLS, lines=False).decode("utf-8-sig").encode("utf-32"),
        [1, 2, 3, 4],
    ),
    "json lines in utf-16": (
        as_json(CELLS, lines=True).decode().encode("utf-16-le"),
        [1, 2, 3, 4],
    ),
    "json in utf-16, one line": (
        as_json(CELLS, lines=False).decode("utf-8-sig").encode("utf-16-be"),
        [1, 2, 3, 4],
    ),
}


@pytest.mark.parametrize(("data", "numbers"), KINDS.values(), ids=KINDS)
def test_a_table_of_another_kind_has_the_cells_of_the_same_csv(data, numbers):
    stream = io.StringIO()
    csv.writer(stream).writerows([HEADER, *CELLS])
    expected = read_table(stream.getvalue().encode())
    table = read_table(data)
    assert table.columns == expected.columns
    assert table.cells.tolist() == expected.cells.tolist()
    assert table.row_numbers.tolist() == numbers
    assert (table.encoding, table.separator, table.has_header) == ("", "", True)


@pytest.mark.parametrize("chosen", [None, "gb18030"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_json_is_read_in_the_encoding_of_its_text(chosen, end):
    rows = [{"句子": text, "类别": label} for text, label in CHINESE[1:]]
    document = json.dumps(rows, ensure_ascii=False) + end
    table = read_table(document.encode("gb18030"), encoding=chosen)
    assert table.columns == ("句子", "类别")
    assert table.cells.tolist() == [list(row) for row in CHINESE[1:]]
    assert (table.encoding, table.separator) == ("gb18030", "")
    assert ("gb18030" in said(table.warnings)) == (chosen is None)


RECORDS = [dict(zip(HEADER, row, strict=True)) for row in CELLS]
COLUMNS = {name: [row[name] for row in RECORDS] for name in HEADER}


@pytest.mark.parametrize(
    "document",
    [
        COLUMNS,
        {name: dict(enumerate(column)) for name, column in COLUMNS.items()},
        dict(enumerate(RECORDS)),
        {"columns": HEADER, "index": [0, 1, 2, 3], "data": CELLS},
        {"schema": {"fields": [{}]}, "data": RECORDS},
    ],
    ids=["lists", "columns", "index", "split", "table"],
)
def test_a_document_has_its_rows_in_whatever_shape(document):
    table = read_table(json.dumps(document, indent=2).encode())
    assert table.columns == HEADER
    assert [tuple(row) for row in table.cells] == CELLS


def test_objects_within_a_row_are_columns_of_their_own():
    rows = [{"id": 7, "data": {"text": "a", "of": {"x": []}}}, {"data": {"label": "b"}}]
    table = read_table(json.dumps(rows).encode())
    assert table.columns == ("id", "data.text", "data.of.x", "data.label")
    assert table.cells.tolist() == [["7", "a", "[]", ""], ["", "", "", "b"]]


def test_half_of_an_emoji_is_a_sign_that_can_be_shown():
    """Programs cut texts so; JSON alone can say it."""
    table = read_table(b'[{"text \\ude00": "cut \\ud83d", "label": "\\ud83d\\ude00"}]')
    assert table.columns == ("text \ufffd", "label")
    assert table.cells.tolist() == [["cut \ufffd", "\U0001f600"]]


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


def test_a_cell_of_a_sheet_is_what_the_program_shows():
    row = {"A": "a", "B": True, "C": 0.1 + 0.2, "D": 5.0}
    table = read_table(workbook(("Sheet", {1: {"A": "text", "B": "label"}, 2: row})))
    assert table.cells[0].tolist() == ["a", "TRUE", "0.3", "5"]


def test_a_value_of_parquet_is_as_it_was_written():
    values = pyarrow.array([3.8, float("nan"), 5], "float32")
    texts = pyarrow.array(["电梯".encode(), b"a", None])
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": texts, "score": values}), stream)
    table = read_table(stream.getvalue())
    assert table.cells.tolist() == [["电梯", "3.8"], ["a", ""], ["", "5"]]


def test_rows_of_a_sheet_keep_their_numbers_and_other_sheets_are_told():
    rows = sheet_of([HEADER, *CELLS], first=4)
    table = read_table(workbook(("Empty", {}), ("First", rows), ("Second", rows)))
    assert table.columns == HEADER
    assert table.row_numbers.tolist() == [5, 6, 7, 8]
    data = workbook(("Sheet", sheet_of(CELLS)))
    assert read_table(data, has_header=False).num_rows == len(CELLS)
    (told,) = map(in_english, table.warnings)
    assert "One of 2 sheets is read: “First”" in told
    notes = {1: {"A": "about"}, 2: {"A": "these letters"}}
    assert read_table(workbook(("Notes", notes), ("Data", rows))).columns == HEADER
    old = sheet_of([("old", "kind", "of"), *CELLS])
    table = read_table(workbook(("Old", old), ("New", rows), hidden=["Old"]))
    assert table.columns == HEADER
    assert not table.warnings


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
    """One value of a megabyte, a hundred thousand times, in a few kilobytes."""
    same = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 100_000), pyarrow.array(["x" * 1_000_000])
    )
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": same, "label": same}), stream)
    return stream.getvalue()


@pytest.mark.parametrize("data", [bomb(), bomb_of_values()], ids=["excel", "parquet"])
def test_a_small_file_of_billions_of_cells_is_refused(data):
    assert len(data) < 1_000_000
    with pytest.raises(DatasetError):
        read_table(data)


def test_tables_are_read_where_no_limit_of_memory_can_be_set(
    tmp_path, monkeypatch, capsys
):
    resource = pytest.importorskip("resource")

    def refuse(*_):  # as macOS does
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    path = tmp_path / "table"
    path.write_bytes(as_parquet(CELLS))
    other_tables._write_rows(str(path), "parquet")
    told = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert told == [[0, list(HEADER)], *([n, list(c)] for n, c in enumerate(CELLS, 1))]


def test_a_reader_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(other_tables, "MAX_SECONDS", 0.01)
    data = as_parquet([("text", "label", "1")] * 100_000)
    with pytest.raises(DatasetError, match="cannot be read"):
        read_table(data)
