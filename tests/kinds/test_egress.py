"""Which addresses are public, and what an operator may open."""

import ipaddress

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.kinds.egress import Reach, is_public

INSIDE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
OUTSIDE = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2002:808:808::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
]


@pytest.mark.parametrize("text", INSIDE)
def test_what_leads_inside_is_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", OUTSIDE)
def test_the_public_internet_is(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


def test_one_bad_address_among_good_ones_refuses_the_host() -> None:
    good, bad = ipaddress.ip_address("1.1.1.1"), ipaddress.ip_address("10.0.0.1")
    assert Reach(()).refuses("two.example", [good, bad]) == bad
    assert Reach(()).refuses("one.example", [good]) is None


def test_an_operator_opens_networks_and_hosts() -> None:
    inside = ipaddress.ip_address("10.1.2.3")
    assert Reach(["10.1.0.0/16"]).refuses("a.example", [inside]) is None
    assert Reach(["10.2.0.0/16"]).refuses("a.example", [inside]) == inside
    assert Reach(["Billing.Internal."]).refuses("billing.internal", [inside]) is None
    assert Reach(["billing.internal"]).refuses("other.internal", [inside]) == inside
    assert Reach(["::1"]).refuses("a.example", [ipaddress.ip_address("::1")]) is None


@pytest.mark.parametrize("word", ["", "10.0.0.0/99", "10.0.0.1/8", "a b", "http://a", "*"])
def test_what_is_neither_network_nor_host_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput, match="neither a network nor the name of a host"):
        Reach([word])
