"""One search language for the command line, the SDK, the server and its pages.

``state:dead kind:email.* error:"timed out" created:<1h -queue:bulk``: a space means and, a comma
means or, ``-`` means not, parentheses group. ``docs/reference/search.md`` has every word.

Invariants
----------
* Pure and bounded: 2 KB, 20 terms, two levels of parentheses, time in proportion to the text.
* The text of a parsed query parses to an equal query.
* ``pushdown`` admits every job that ``matches``; it may admit more.
"""

from mainspring.domain.search.query import Query, parse

__all__ = ["Query", "parse"]
