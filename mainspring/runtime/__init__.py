"""One process: settings, concrete backends, the loop that runs steps, signals, start and stop.

The only room that wires stores and integrations to roles, and the only one that loops.

Invariants
----------
* Settings are read here and nowhere else.
* A role is a step; the loop in ``loop`` is the only thing that waits between steps.
* What was opened is closed in reverse order, whatever happens.
"""
