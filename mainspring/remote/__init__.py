"""Gateways over a wire: what a client or a worker knows of a server.

``RemoteDesk`` is a ``ClientGateway`` over REST. Nobody who holds a gateway can tell this one from
one that sits on a store, but for the address in what it says when nobody answers.

Invariants
----------
* Everything may be asked again. A connection that breaks under a change is no answer: the change is
  sent once more, under the same ids and keys, until it is known what became of it.
* An error is the server's own, rebuilt by its code, with its hint and details.
* Nothing here decides anything about jobs; whoever acts is known by the key, not by what is sent.
"""
