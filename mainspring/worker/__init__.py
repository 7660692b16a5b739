"""Run handlers: a keeper that holds the lease, children that claim, execute and report.

The keeper is a small process without user code. It opens the session, beats, supervises and
drains. Each child is a process with the user's app: async handlers share its loop, sync ones its
threads, isolated ones get processes of their own, forked from a zygote.

    keeper ─┬─ child 1 ─┬─ loop, threads
            │           └─ zygote ─┬─ isolate
            │                      └─ isolate
            └─ child 2 …

Invariants
----------
* User code never shares a process with the keeper (law 13): a handler that blocks, exits or
  crashes harms only its own process, and the lease goes on.
* Nothing works without a lease: whatever is frozen, killed or cut off, children are dead before
  the session can have ended by the store's clock. The keeper and every child check it on their own.
* No process outlives its parent: children die with the keeper, zygote and isolates with the child.
* A child number is never used twice by one keeper, so (worker, child) fences dead children.
* Every attempt that was claimed is reported once, handed back, or told to be lost by the keeper.
* A worker knows nothing but its gateway (law 7) and the app.
"""
