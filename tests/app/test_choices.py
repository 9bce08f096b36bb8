"""What of a page an address has room for."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from pages.shared.choices import LONGEST_IN_ADDRESS, fits_address


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
