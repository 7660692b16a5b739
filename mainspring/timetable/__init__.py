"""When: cron, recurrence rules, intervals, dates, calendars and time zones, as whole numbers.

Pure: the time arrives as an argument, nothing here is read from the world but the zone tables of
the bundled ``tzdata`` package, which are data like the code itself. Imports ``domain`` only.

A rule is a set of wall-clock times (``walls``); ``clocked`` lays it on a zone and answers with
instants; ``timetable`` adds unions, bounds and calendars, and is what other rooms ask.
``definition`` is what a schedule keeps: texts, never anything compiled.

Invariants
----------
* Inside, an instant is a whole number of seconds since 1970 in UTC, a wall time the same count
  as if the wall clock were UTC, a day the count of days since 1970-01-01.
* The next instant is strictly after the one that was given; instants strictly increase.
* No instant is computed by adding hours to a local time: the zone's table of offsets is the only
  way from a wall time to an instant.
* Every search ends: after 50 years, or after 10,000 days that a calendar or rule left empty.
* What cannot be read is refused with the field, the position and what to write instead; nothing
  here raises anything but ``domain.errors``.
"""
