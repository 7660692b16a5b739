"""The embedded SDK: submit calls, wait for results, cancel, replay.

``AsyncClient`` speaks to any ``ClientGateway``: over a store in this process, or over a wire.
``Client`` is the same client for code without an event loop: a facade over one thread.

Invariants
----------
* Nothing here knows a store; who opens the gateway closes it.
* There is one implementation; the blocking face only waits for it.
* A submission is acknowledged after its commit; repeating it by its key or id is harmless.
* A result comes back in the type that the handler declares.
* Waiting never changes a job: leaving early leaves it running.
"""
