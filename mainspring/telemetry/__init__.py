"""What the product tells about itself: log lines today; names live here, in one place.

Invariants
----------
* A log line never carries a payload, a result or a password.
* Text for people on a terminal, one JSON object a line everywhere else.
* Telling is never a reason to fail: a broken stream is dropped, work goes on.
"""
