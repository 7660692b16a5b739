"""Where a server listens."""

import socket

from mainspring.runtime.addresses import Address, bound_to, listen


def test_the_small_parts_of_an_answer_do_not_wait_for_each_other() -> None:
    with listen("http", Address("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        address = bound_to(listening, Address("127.0.0.1", 0))
        with socket.create_connection((address.host, address.port)), listening.accept()[0] as met:
            assert met.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
