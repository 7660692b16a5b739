"""How fast Mainspring is, beside the least that a durable queue on the same store could be.

``python -m benchmarks`` measures; README.md says how, and holds the table of the last results.
"""
