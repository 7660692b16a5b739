"""Takes in what clients ask for: validates, fills in defaults, and answers questions.

``FrontDesk`` is the client's door to a store in the same process (``ports.gateway.ClientGateway``).

Invariants
----------
* Bad input is refused before anything is written, and the message says what, where and what next.
* A submission is acknowledged only after its commit.
* An unknown outcome is settled here, by repeating with the same id; callers never see a double.
* Concurrent single submissions share a transaction; each is answered on its own.
"""
