"""What the product needs from the world: protocols, and the two rooms' worth of clock and dice.

Roles are handed these; only ``runtime`` knows which backend stands behind them.

Invariants
----------
* A store method is one transaction; its docstring is its contract, and the conformance suite in
  ``mainspring.testing.conformance`` holds every backend to it.
* A method that may be repeated after an unknown outcome says how its repetition is harmless.
* No port offers a generic "run this SQL".
"""
