"""What users write: applications, handlers, retries, and what a handler may say and see.

Declarations only. An ``App`` holds handlers and their defaults and opens nothing; clients use it
to submit with types, workers use it to run. Both rooms import this one and stay blind to each
other.

Invariants
----------
* Importing a user's module never connects, starts or reads anything.
* A decorated function stays callable as the plain function.
* A payload is validated against the handler's types at submission and again at execution.
* JSON only: nothing that came from outside is ever unpickled, evaluated or imported by name.
"""
