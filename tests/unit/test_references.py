import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import BlobDamaged
from mainspring.domain.references import parse_reference, reference_of, verified


@settings(deadline=None)
@given(st.text(min_size=1), st.binary())
def test_a_reference_comes_back_whatever_the_key(key: str, body: bytes) -> None:
    found = parse_reference(reference_of(key, body))
    assert found == (key, len(body), hashlib.sha256(body).hexdigest())
    assert verified(found, body) == body


@settings(deadline=None)
@given(st.binary(min_size=1), st.data())
def test_any_other_body_is_damaged(body: bytes, data: st.DataObject) -> None:
    wanted = parse_reference(reference_of("payload/a", body))
    place = data.draw(st.integers(0, len(body) - 1))
    flipped = bytes([*body[:place], body[place] ^ 1, *body[place + 1 :]])
    for other in (flipped, body[:-1], body + b"\0", b""):
        with pytest.raises(BlobDamaged, match="payload/a"):
            verified(wanted, other)
