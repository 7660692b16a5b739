UPDATE schedules
SET
    version = :version,
    spec = :spec,
    calendars = :calendars,
    zones = :zones,
    owner = coalesce(:owner, owner),
    is_exclusive = :is_exclusive,
    pause_after = :pause_after
WHERE id = :id;
