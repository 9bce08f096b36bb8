"""Bytes to characters: which encoding a table is in, and what is no table."""

import codecs
import re
import unicodedata

from bertviz_core.errors import DatasetError
from bertviz_core.training.finetune.notes import Note, note
from bertviz_core.training.finetune.other_tables import kind_of

# What a user may choose, by Python's names; a guess is one of them.
ENCODINGS = (
    *("utf-8", "gb18030", "big5", "utf-16", "utf-16-le", "utf-16-be", "utf-32"),
    *("cp1252", "latin-1", "cp1250", "iso8859-2", "cp1251", "koi8-r", "koi8-u"),
    *("iso8859-5", "cp1253", "iso8859-7", "cp1254", "cp1255", "cp1256", "cp1257"),
    *("iso8859-13", "cp874", "cp932", "euc-jp", "cp949", "johab"),
    *("hz", "iso2022_jp", "iso2022_kr"),
    *("mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek"),
    *("cp437", "cp850", "cp852", "cp866"),
)
_SAMPLE_BYTES = 200_000
_PIECE_BYTES = 1_000_000
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# In ASCII: that what comes next may be letters of another encoding.
_SHIFT = re.compile(rb"\x1b[$(]|~\{")
_MARKS = {  # longest first: the mark of UTF-16 begins that of UTF-32
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# First bytes of what people upload by mistake.
_SIGNATURES = {
    b"PK\x05\x06": "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar", b"%PDF": "pdf",
    b"SQLite format 3\x00": "sqlite", b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg",
    b"GIF8": "gif", b"\x7fELF": "elf", b"\x89HDF": "hdf5", b"{\\rtf": "rtf",
    b"\x80\x04\x95": "pickle",
}  # fmt: skip
_PACKED = ("zip", "gzip", "bzip2", "xz", "7z", "rar")
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# A stray control character happens (Ctrl-Z at the end of a DOS file); a hundredth
# of all characters does not.
_MAX_CONTROL_SHARE = 0.01


def find_encoding(data: bytes, chosen: str | None) -> tuple[str, tuple[Note, ...]]:
    """How Python decodes a file ("utf-8-sig" passes over a mark), and the reasons.

    Raises:
        DatasetError: the bytes are no text table, hold NUL characters, or are in no
            encoding that is known.

    Source: chardet for what is neither marked nor UTF-8.
    """
    if chosen is not None and chosen not in ENCODINGS:
        raise ValueError(f"`chosen` must be in {ENCODINGS}. Received: {chosen!r}.")
    _refuse_empty(data)
    refuse_other_formats(data)
    marked = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if name := chosen or marked:
        _require_decodable(data, name)
        said = note(
            "The encoding is {encoding}: the file begins with its mark.", encoding=name
        )
        codec = "utf-8-sig" if name == "utf-8" else name
        return codec, () if chosen else (said,)
    if b"\x00" in data:
        name = _utf16_without_mark(data)
        said = note(
            "The encoding is taken to be {encoding}: every second byte fits it.",
            encoding=name,
        )
        return name, (said,)
    is_shifted = data.isascii() and _SHIFT.search(data)
    if not is_shifted and _first_undecodable(data, "utf-8") is None:
        return "utf-8-sig", ()
    name = _guess(data)
    if name == "utf-8":
        return "utf-8-sig", ()
    said = note(
        "The encoding is a guess: {encoding}. Look at the preview, and choose another "
        "if letters are wrong.",
        encoding=name,
    )
    return name, (said,)


def refuse_other_formats(start: bytes) -> None:
    """Refuses what people upload by mistake, by its first bytes, 1,000 if it has them.

    Raises:
        DatasetError: an archive, a picture, a web page, …
    """
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            raise not_text(kind)
    if _WEB_PAGE.match(start[:1000].removeprefix(codecs.BOM_UTF8)):
        raise not_text("html, xml")


def refuse_control_characters(sample: str) -> None:
    """Refuses what has control characters for letters: a `DatasetError`."""
    count = len(_CONTROL.findall(sample))
    if count > max(3, _MAX_CONTROL_SHARE * len(sample)):
        raise not_text("binary")


def nul_character(line: int) -> DatasetError:
    """The error for a NUL in a line of the file, counted from 1."""
    return DatasetError(
        "The file holds a NUL character, which no text has. Received: one in line "
        "{line}. The file may be damaged: export it once more.",
        line=line,
    )


def not_text(kind: str) -> DatasetError:
    """The error for a file of another kind."""
    if kind in _PACKED:
        return DatasetError(
            "The file is packed. Received: a file of the kind {kind}. Unpack it, and "
            "choose the table that is in it.",
            kind=kind,
        )
    return DatasetError(
        "This is not a table in text form. Received: a file of the kind {kind}. "
        "Open it in a spreadsheet program and save it as CSV.",
        kind=kind,
    )


def _refuse_empty(data: bytes) -> None:
    nothing = b" \t\r\n\x00\xef\xbb\xbf\xff\xfe"
    # The beginning first: `strip` copies what it leaves.
    if not data[:1000].strip(nothing) and not data.strip(nothing):
        raise DatasetError(
            "The file is empty. Received: {size} bytes without a character. "
            "Choose a CSV file with a row for every text.",
            size=len(data),
        )


def _require_decodable(data: bytes, name: str) -> None:
    offset = _first_undecodable(data, name)
    if offset is not None:
        raise DatasetError(
            "The file cannot be read as {encoding}. Received: bytes in line {line} "
            "that mean nothing in it. Choose another encoding.",
            encoding=name,
            line=_line_of(data, offset),
        )


def _first_undecodable(data: bytes, name: str) -> int | None:
    """Offset of the first byte that cannot be decoded; `None` where all can.

    Piece by piece, as one emoji makes a text four times as large as its file.
    """
    decoder = codecs.getincrementaldecoder(name)()
    for start in range(0, len(data), _PIECE_BYTES):
        num_waiting = len(decoder.getstate()[0])
        is_last = start + _PIECE_BYTES >= len(data)
        try:
            decoder.decode(data[start : start + _PIECE_BYTES], is_last)
        except UnicodeError as error:
            # UTF-16 and UTF-32 that lack their mark name no place.
            return start - num_waiting + getattr(error, "start", 0)
    return None


def _line_of(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _utf16_without_mark(data: bytes) -> str:
    sample = data[:_SAMPLE_BYTES]
    # Read the wrong way round, a line end is no character at all (U+0A00); and
    # 8-bit text with a stray NUL loses nearly all of its line ends. A byte of a letter,
    # as of 不 (U+4E0D), may look like one, too.
    num_bytes = sample.count(b"\n") + sample.count(b"\r")
    for name in ("utf-16-le", "utf-16-be"):
        try:
            text = codecs.getincrementaldecoder(name)().decode(sample)
        except UnicodeDecodeError:
            continue
        num_ends = text.count("\n") + text.count("\r")
        # A JSON document may be a single line.
        fits = 0 < num_bytes <= 8 * num_ends or kind_of(text[:1000].encode())
        if fits and not _CONTROL.search(text):
            kinds = {unicodedata.category(letter) for letter in text}
            if not kinds & {"Cn", "Co", "Cs"}:
                _require_decodable(data, name)
                return name
    if sum(map(data.count, range(8))) > max(3, _MAX_CONTROL_SHARE * len(data)):
        raise not_text("binary")
    raise nul_character(_line_of(data, data.index(b"\x00")))


def _guess(data: bytes) -> str:
    """The encoding of text that is not UTF-8, or may not be."""
    # Only such text needs it, and every process that may read a table imports this.
    import chardet

    # With the words around, unless the first such byte comes late.
    signs = _SHIFT if data.isascii() else _BEYOND_ASCII
    first = next(signs.finditer(data)).start()
    start = first if first >= _SAMPLE_BYTES else 0
    known = {codecs.lookup(name).name: name for name in ENCODINGS}
    found = chardet.detect_all(data[start : start + _SAMPLE_BYTES])
    guesses = [codecs.lookup(one["encoding"] or "utf-8").name for one in found]
    for name in (*guesses, "utf-8", "gb18030", "cp1252", "iso8859-1"):
        if name in known and _first_undecodable(data, name) is None:
            return known[name]
    raise not_text("binary")
