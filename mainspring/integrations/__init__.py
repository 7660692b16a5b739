"""Optional helpers of the product: object stores today; each module is one system.

Modules here do not know each other and are imported by ``runtime`` alone, when they are named in
the settings.

Invariants
----------
* An object is durable before its reference is returned.
* What is read is checked against the length and SHA-256 in its reference.
* A third-party client stays inside the module that is named after its system.
"""
