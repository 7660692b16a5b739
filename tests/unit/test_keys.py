"""API keys: their text goes out and comes back, and every slip in it is noticed."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain import keys
from mainspring.domain.errors import Unauthenticated
from mainspring.domain.keys import RANDOM_BYTES, KeyText, make, parse

_RANDOM = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_KEY = make(bytes(range(RANDOM_BYTES)))
_SHOWN = _KEY.shown()


@given(_RANDOM)
def test_a_key_reads_back(random: bytes) -> None:
    key = make(random)
    text = key.shown()
    assert text == f"ms_live_{key.id}_{text[-58:]}"
    assert (len(key.id), len(text)) == (12, 79)
    assert parse(text) == key
    assert key.digest == hashlib.sha256(random[8:]).digest()


def test_a_key_says_the_same_in_every_version() -> None:
    """Keys that were given out must stay good."""
    assert _SHOWN == (
        "ms_live_00820C20A1G7_081450P30D1R7H048J2CA1A5GQ30CHM6RW3MF1Y81148HJ89964YWWWKBT"
    )


@given(_RANDOM, st.integers(0, 78), st.sampled_from(_ALPHABET))
def test_every_slip_of_one_character_is_noticed(random: bytes, at: int, letter: str) -> None:
    text = make(random).shown()
    slipped = text[:at] + letter + text[at + 1 :]
    if slipped == text:
        return
    with pytest.raises(Unauthenticated):
        parse(slipped)


@given(_RANDOM, st.integers(21, 77))
def test_every_swap_of_neighbours_is_noticed(random: bytes, at: int) -> None:
    text = make(random).shown()
    swapped = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if swapped == text:
        return
    with pytest.raises(Unauthenticated, match="slip"):
        parse(swapped)


def test_keys_are_read_as_people_type_them() -> None:
    mark, key_id, secret = "ms_live", _SHOWN[8:20], _SHOWN[21:]
    assert parse(f"{mark}_{key_id.lower()}_{secret.lower()}") == _KEY
    assert parse(f"{mark}_{key_id}_{secret}".replace("0", "O").replace("1", "I")) == _KEY


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no key"),
        ("Bearer", "no key"),
        ("sk_live_0123", "no key"),
        ("ms_live_", "8 characters"),
        (_SHOWN[:-1], "78 characters"),
        (_SHOWN + "0", "80 characters"),
        (_SHOWN + "\n", "80 characters"),
        ("ms_live_" + "U" * 71, "slip"),
        ("ms_live_" + "_" * 71, "slip"),
        ("ms_live_" + "0" * 71, "slip"),
        (_SHOWN[:20] + "-" + _SHOWN[21:], "slip"),
        (_SHOWN[:-1] + "é", "slip"),
        # More than 256 bits.
        (_SHOWN[:21] + "Z" + _SHOWN[22:], "slip"),
    ],
)
def test_what_is_no_key_is_refused_without_repeating_it(text: str, why: str) -> None:
    with pytest.raises(Unauthenticated, match=why) as refused:
        parse(text)
    if len(text) > 12:
        assert text[8:] not in str(refused.value)
        assert text[8:] not in (refused.value.hint or "")


def test_nothing_shows_a_secret_by_chance() -> None:
    assert repr(_KEY) == f"KeyText(ms_live_{_KEY.id})"
    assert _SHOWN[21:] not in f"{_KEY!r} {_KEY}"
    assert _KEY.secret.hex() not in f"{_KEY!r}"


def test_only_its_own_hash_fits() -> None:
    other = KeyText(_KEY.id, bytes(32))
    assert _KEY.fits(_KEY.digest)
    assert not _KEY.fits(other.digest)
    assert not _KEY.fits(b"")


def test_an_id_is_read_out_of_whatever_names_a_key() -> None:
    for shown in (_KEY.id, _KEY.id.lower(), keys.prefix(_KEY.id), _SHOWN):
        assert keys.id_of(shown) == _KEY.id
    for shown in ("billing", "ms_live_", "ms_live_U23456789ABC", "0" * 11, "0" * 13):
        assert keys.id_of(shown) is None
