"""Which addresses a call may go to: the public internet, and what the operator named.

The standard library's ``is_private`` and ``is_global`` let through addresses that lead inside:
translated ones (NAT64, 6to4, Teredo), mapped ones, shared and benchmarking space. So the rule is
the other way round: what is not known to be public is refused.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from mainspring.domain.errors import InvalidInput

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Global unicast as it is handed out; everything else of IPv6 is special.
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        ("2001::/23", "2001:db8::/32", "3fff::/20"),  # protocols, documentation
    )
)
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_NOT_PUBLIC_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",
        ),
    )
)


def is_public(address: Address) -> bool:
    """Say whether an address is one of the public internet, whatever it carries inside."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    if address not in _PUBLIC_6 or any(address in network for network in _NOT_PUBLIC_6):
        return False
    if address in _SIX_TO_FOUR:
        return is_public(ipaddress.IPv4Address(int(address) >> 80 & 0xFFFF_FFFF))
    return True


class Reach:
    """What may be called: public addresses, named networks, and named hosts wherever they are."""

    def __init__(self, allowed: Iterable[str]) -> None:
        """Read networks (``10.1.0.0/16``, ``127.0.0.1``) and host names."""
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for word in allowed:
            self._read(word)

    def _read(self, word: str) -> None:
        try:
            self._networks.append(ipaddress.ip_network(word))
        except ValueError:
            if "/" in word or not word or not word.replace("-", "").replace(".", "").isalnum():
                raise InvalidInput(
                    f"reachable: {word!r} is neither a network nor the name of a host",
                    hint="write 10.1.0.0/16, 127.0.0.1 or billing.internal",
                ) from None
            self._hosts.add(word.lower().rstrip("."))

    def refuses(self, host: str, addresses: Sequence[Address]) -> Address | None:
        """Return the first address of a host that may not be called, if there is one."""
        if host.lower().rstrip(".") in self._hosts:
            return None
        return next((each for each in addresses if not self._allows(each)), None)

    def _allows(self, address: Address) -> bool:
        if is_public(address):
            return True
        return any(address in network for network in self._networks)
