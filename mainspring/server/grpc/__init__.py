"""The door of gRPC: services over gateways, from one table of methods.

``door`` opens and closes it; ``calls`` admits each call, bounds it, and turns errors into statuses;
what ends in ``_service``, and ``attempt_stream``, does what is asked.

Invariants
----------
* A method without a right is not in the table, so nobody can call it. Health alone is public.
* Messages are read here, never by the library: what cannot be read is the caller's mistake, and is
  answered as that.
* State of a connection is a convenience: whatever a server forgets when it is killed, the next one
  finds in the store.

It needs the extra ``grpc``.
"""
