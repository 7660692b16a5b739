"""The front door: REST, gRPC, the event stream, and who may come in.

One route table is the whole of REST: dispatch, the document of it (OpenAPI), and the tests that
call every route as everyone are made from it. Behind the doors are gateways; no route knows a
store.

Invariants
----------
* A route without a right is public, and the public ones are listed in a test.
* The tenant comes from the credential. A principal of a tenant is handed a gateway that reaches no
  further, so a route cannot forget to ask.
* Every answer that is an error is a problem document with a stable code, whatever went wrong.
* Nothing of a request is believed before it was measured: bytes, depth, names, values.
"""
