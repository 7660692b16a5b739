"""What was given cannot be accepted."""

from mainspring.domain.errors.base import MainspringError


class InvalidInput(MainspringError):
    """A value that was given cannot be accepted."""

    code = "invalid_input"
    http_status = 422
    grpc_status = "INVALID_ARGUMENT"
    exit_code = 2
    default_hint = "correct the value and try again; nothing was changed"


class InvalidId(InvalidInput):
    """This text is not an id."""

    code = "invalid_id"


class InvalidPayload(InvalidInput):
    """The payload does not match what the handler takes."""

    code = "invalid_payload"


class PayloadTooLarge(InvalidInput):
    """The payload is larger than the limit."""

    code = "payload_too_large"
    http_status = 413


class PayloadTooDeep(InvalidInput):
    """The payload is nested deeper than the limit."""

    code = "payload_too_deep"


class NotJson(InvalidInput):
    """The payload is not JSON."""

    code = "not_json"
    http_status = 400


class NaiveDatetime(InvalidInput):
    """A datetime without a time zone was given."""

    code = "naive_datetime"
    default_hint = "give an instant with its zone, for example 2027-01-31T09:00:00+01:00"


class InvalidDuration(InvalidInput):
    """A duration cannot be read, is negative or is out of bounds."""

    code = "invalid_duration"
    default_hint = "write a duration as 90s, 5m, 2h, 1d or 250ms"


class InvalidSchedule(InvalidInput):
    """A schedule's rule cannot be read, or contradicts itself.

    ``details`` name the ``field`` and, where the trouble has a place, the ``position`` in the
    text (from 0) and the ``token`` found there.
    """

    code = "invalid_schedule"
    default_hint = "mainspring cron explain shows what a rule means, for example '0 9 * * MON-FRI'"


class UnknownZone(InvalidSchedule):
    """There is no time zone of this name."""

    code = "unknown_zone"
    default_hint = "use a name such as Europe/Berlin, UTC, or an offset such as +05:30"


class NeverFires(InvalidSchedule):
    """The schedule has no fire within its bounds."""

    code = "never_fires"
    default_hint = "change the rule or its bounds so that one instant matches all of them"


class FiresTooOften(InvalidSchedule):
    """The schedule fires more often than is allowed."""

    code = "fires_too_often"
    default_hint = "give a longer interval, or raise the minimum"


class UnknownKind(InvalidInput):
    """No handler of this kind is known."""

    code = "unknown_kind"
    http_status = 422
    default_hint = "start a worker that declares it, or correct the name"


class UnknownOption(InvalidInput):
    """An option that does not exist was given."""

    code = "unknown_option"


class ConfigError(InvalidInput):
    """A setting or store address cannot be used."""

    code = "invalid_setting"


class InvalidQuery(InvalidInput):
    """This search cannot be read."""

    code = "invalid_query"


class AppNotLoaded(InvalidInput):
    """The application module cannot be imported."""

    code = "app_not_loaded"
    default_hint = "give it as module:attribute, importable from the current folder"


class InvalidCursor(InvalidInput):
    """This cursor does not continue this list."""

    code = "invalid_cursor"
    default_hint = "pass next_cursor of the page before, with the same question"
