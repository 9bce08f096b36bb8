"""What of a page an address has room for."""

from __future__ import annotations

import base64
import zlib
from urllib.parse import quote

import pytest

from pages.shared.choices import LONGEST_IN_ADDRESS, as_linked, fits_address, unpack
from tests.app.real_pages import dense_word


@pytest.mark.parametrize("sign", ["a", " ", "我", "\n"])
def test_a_text_fits_as_long_as_its_bytes_in_an_address_do(sign):
    most = LONGEST_IN_ADDRESS // len(quote(sign))
    assert fits_address(sign * most)
    assert not fits_address(sign * (most + 1))


def test_what_stands_beside_a_text_takes_room_with_its_name():
    beside = {"second": ["我", "b"]}
    taken = len("&second=" + quote("我") + "&second=b")
    assert fits_address("a" * (LONGEST_IN_ADDRESS - taken), beside)
    assert not fits_address("a" * (LONGEST_IN_ADDRESS - taken + 1), beside)
    assert fits_address("a" * LONGEST_IN_ADDRESS, {"second": []})


@pytest.mark.parametrize(
    "text",
    ["", "short 短", "zlib~typed", "A long story. " * 500, "一个很长的故事。" * 200],
)
def test_a_long_text_is_compressed_and_comes_back(text):
    written = as_linked(text)
    assert written is not None
    assert unpack(written) == text
    assert (written == text) == (text in ("", "short 短"))
    assert len(quote(written)) < LONGEST_IN_ADDRESS


def test_what_does_not_compress_stays_out():
    assert as_linked(dense_word(LONGEST_IN_ADDRESS)) is None
    assert as_linked("a" * 10**6) is None  # nor would it be unpacked
    long = "a" * 2000
    assert as_linked(long, most_plain=1500) not in (None, long)
    assert as_linked(long, {"other": "b" * (LONGEST_IN_ADDRESS - 10)}) is None


@pytest.mark.parametrize("cut", ["", "!", "AAAA", None])
def test_a_link_that_is_cut_or_a_bomb_brings_nothing(cut):
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 10**7, 9)).decode()
    assert unpack("zlib~" + (bomb if cut is None else cut)) is None
    written = as_linked("A long story. " * 500)
    assert unpack(written[:-9]) is None
