"""Every limit of the product: name with its unit last, default, and what it protects.

Settings may lower or raise most of them; ``docs/reference/limits.md`` lists this table.
"""

from typing import Final, NamedTuple


class Limit(NamedTuple):
    """One bound: its default and the sentence that the documentation prints."""

    name: str
    default: int
    why: str


_ALL: Final = (
    Limit("payload_bytes_max", 1_048_576, "A payload as JSON text; larger ones are refused."),
    Limit("payload_depth_max", 64, "Nesting of a payload; JSON readers differ beyond it."),
    Limit("payload_elements_max", 100_000, "Values in a payload; small text can hide many."),
    Limit("inline_bytes_max", 16_384, "Larger payloads and results go to the object store."),
    Limit("result_bytes_max", 8_388_608, "A handler's result as JSON text."),
    Limit("file_bytes_max", 67_108_864, "A file that a handler saves; it passes through memory."),
    Limit("message_bytes_max", 12_582_912, "A gRPC message; the largest result fits into one."),
    Limit("kind_characters_max", 128, "The name of a handler."),
    Limit("queue_characters_max", 64, "The name of a queue."),
    Limit("tenant_characters_max", 64, "The name of a tenant."),
    Limit("key_characters_max", 256, "A submission key or effect key."),
    Limit("body_bytes_max", 1_310_720, "The body of a request; a payload and what is around it."),
    Limit("bulk_body_bytes_max", 16_777_216, "The body of a request with many jobs."),
    Limit("bulk_elements_max", 1_000_000, "Values in a request with many jobs."),
    Limit("key_trust_seconds", 5, "How long a key that was good is believed without looking."),
    Limit("key_failures_max", 30, "Wrong keys that one address may show in a minute."),
    Limit("key_requests_per_second", 50_000, "Requests of one key that one server answers."),
    Limit("change_items_max", 5_000, "Changes of jobs that are told one by one at a time."),
    Limit("change_patience_seconds", 5, "How long after it a change may be committed, to be told."),
    Limit("submit_jobs_max", 10_000, "Jobs in one bulk submission."),
    Limit("claim_jobs_max", 1_000, "Jobs in one claim."),
    Limit("waiting_calls_max", 100_000, "Calls that wait for the SQLite writer in one process."),
    Limit("page_items_max", 500, "Items in one page of a list."),
    Limit("named_jobs_max", 10_000, "Jobs that one request names by their ids."),
    Limit("wait_seconds_max", 60, "For how long a server holds an answer back."),
    Limit("group_jobs_max", 100_000, "The newest failures that are counted into groups."),
    Limit("trend_items_max", 1_000, "Spans of time in the trend of a group of failures."),
    Limit("query_bytes_max", 2_048, "The text of a search."),
    Limit("query_items_max", 20, "Terms in a search."),
    Limit("query_depth_max", 2, "Parentheses inside each other in a search."),
    Limit("find_jobs_max", 10_000, "Jobs that are looked at for one page of a search."),
    Limit("bulk_jobs_max", 10_000, "Jobs that one operation on a search changes."),
    Limit("bulk_scan_jobs_max", 200_000, "Jobs that one operation on a search looks at."),
    Limit("operation_jobs_max", 1_000_000, "Jobs that one operation in the background changes."),
    Limit("operation_preview_jobs_max", 5_000, "Jobs that the preview of an operation looks at."),
    Limit("operation_days", 30, "How long an operation is kept after its end."),
    Limit("operation_preview_hours", 24, "How long a preview that nobody started is kept."),
    Limit("recover_jobs_max", 200, "Attempts that one recovery step closes."),
    Limit("max_attempts_max", 1_000, "Executions of one job."),
    Limit("max_crashes_max", 100, "Process deaths that one job may cause."),
    Limit("delay_seconds_max", 315_360_000, "How far ahead a job may be due: ten years."),
    Limit("timeout_seconds_max", 604_800, "The longest attempt: seven days."),
    Limit("log_lines_max", 1_000, "Log lines kept for one attempt."),
    Limit("log_line_bytes_max", 8_192, "One log line; the rest of it is cut."),
    Limit("error_bytes_max", 16_384, "An error's message and traceback, as kept."),
    Limit("cron_characters_max", 256, "A cron expression; longer ones are refused unread."),
    Limit("rule_characters_max", 512, "A recurrence rule."),
    Limit("rule_dates_max", 500, "Dates in a list, and extra or left out dates of a rule."),
    Limit("rule_count_max", 100_000, "COUNT of a recurrence rule."),
    Limit("schedule_rules_max", 32, "Rules that one schedule unites."),
    Limit("schedule_calendars_max", 16, "Calendars that one schedule heeds."),
    Limit("calendar_entries_max", 2_000, "Entries of one calendar."),
    Limit(
        "calendar_rules_max", 100, "Of those, entries that are rules; each is asked for each day."
    ),
    Limit("search_years", 50, "How far ahead a next fire is searched before the answer is never."),
    Limit("search_days_max", 10_000, "Days without a fire that one search looks into."),
    Limit("preview_fires_max", 10_000, "Fires that one question for a range returns."),
    Limit("interval_seconds_min", 1, "The shortest interval between two fires of a schedule."),
    Limit("jitter_seconds_max", 86_400, "The longest window that fires are spread over."),
    Limit("horizon_seconds", 900, "How far ahead of its due instant a fire is prepared."),
    Limit("prepare_fires_max", 60, "Fires of one schedule that are prepared ahead."),
    Limit("fire_schedules_max", 500, "Schedules that one step of the scheduler judges."),
    Limit("misfire_threshold_seconds_max", 86_400, "How late a fire may be without being missed."),
    Limit("catchup_window_seconds_max", 315_360_000, "How old a caught-up fire may be."),
    Limit("missed_fires_max", 1_000, "Missed fires that one schedule catches up, one job each."),
    Limit("catchup_jobs_max", 60_000, "Caught-up jobs that one schedule releases a minute."),
    Limit("pause_after_failures_max", 1_000, "Failures in a row that pause a schedule."),
    Limit("backfill_fires_max", 10_000, "Fires that one backfill takes up."),
    Limit("backfill_jobs_max", 100, "Jobs of one backfill that are live at once."),
    Limit("count_fires_max", 2_000, "Missed fires that are counted; beyond it they are many."),
    Limit("audit_fires_max", 200_000, "Fires of one schedule that one audit computes anew."),
    Limit("audit_items_max", 1_000, "Findings that one audit lists; all of them are counted."),
    Limit(
        "audit_bytes_max",
        2_097_152,
        "What a line of the audit says of before or after; of longer ones it keeps the SHA-256.",
    ),
    Limit("audit_days", 365, "How long the audit says who did what."),
    Limit("key_items_max", 32, "Scopes, roles and rights that one API key is given."),
    Limit("key_overlap_seconds_max", 2_592_000, "How long a key stays good beside its successor."),
    Limit("schedule_characters_max", 128, "The name of a schedule or a calendar."),
    Limit("note_characters_max", 1_000, "The note of a schedule, or the reason of a pause."),
    Limit("ledger_days", 400, "How long the ledger keeps what became of a fire."),
    Limit("webhooks_max", 1_000, "Endpoints of one tenant that are told by webhook."),
    Limit("webhook_bytes_max", 20_480, "The body of one webhook."),
    Limit("url_characters_max", 2_048, "The address of an endpoint."),
    Limit("webhook_filter_items_max", 100, "Kinds, or queues, that one endpoint names."),
    Limit("submission_key_hours", 24, "How long a submission key is remembered."),
)

LIMITS: Final = {limit.name: limit for limit in _ALL}

PAYLOAD_BYTES_MAX: Final = LIMITS["payload_bytes_max"].default
PAYLOAD_DEPTH_MAX: Final = LIMITS["payload_depth_max"].default
PAYLOAD_ELEMENTS_MAX: Final = LIMITS["payload_elements_max"].default
INLINE_BYTES_MAX: Final = LIMITS["inline_bytes_max"].default
RESULT_BYTES_MAX: Final = LIMITS["result_bytes_max"].default
FILE_BYTES_MAX: Final = LIMITS["file_bytes_max"].default
MESSAGE_BYTES_MAX: Final = LIMITS["message_bytes_max"].default
KIND_CHARACTERS_MAX: Final = LIMITS["kind_characters_max"].default
QUEUE_CHARACTERS_MAX: Final = LIMITS["queue_characters_max"].default
TENANT_CHARACTERS_MAX: Final = LIMITS["tenant_characters_max"].default
KEY_CHARACTERS_MAX: Final = LIMITS["key_characters_max"].default
BODY_BYTES_MAX: Final = LIMITS["body_bytes_max"].default
BULK_BODY_BYTES_MAX: Final = LIMITS["bulk_body_bytes_max"].default
BULK_ELEMENTS_MAX: Final = LIMITS["bulk_elements_max"].default
KEY_TRUST_SECONDS: Final = LIMITS["key_trust_seconds"].default
KEY_FAILURES_MAX: Final = LIMITS["key_failures_max"].default
KEY_REQUESTS_PER_SECOND: Final = LIMITS["key_requests_per_second"].default
CHANGE_ITEMS_MAX: Final = LIMITS["change_items_max"].default
CHANGE_PATIENCE_SECONDS: Final = LIMITS["change_patience_seconds"].default
SUBMIT_JOBS_MAX: Final = LIMITS["submit_jobs_max"].default
CLAIM_JOBS_MAX: Final = LIMITS["claim_jobs_max"].default
WAITING_CALLS_MAX: Final = LIMITS["waiting_calls_max"].default
PAGE_ITEMS_MAX: Final = LIMITS["page_items_max"].default
NAMED_JOBS_MAX: Final = LIMITS["named_jobs_max"].default
WAIT_SECONDS_MAX: Final = LIMITS["wait_seconds_max"].default
GROUP_JOBS_MAX: Final = LIMITS["group_jobs_max"].default
TREND_ITEMS_MAX: Final = LIMITS["trend_items_max"].default
QUERY_BYTES_MAX: Final = LIMITS["query_bytes_max"].default
QUERY_ITEMS_MAX: Final = LIMITS["query_items_max"].default
QUERY_DEPTH_MAX: Final = LIMITS["query_depth_max"].default
FIND_JOBS_MAX: Final = LIMITS["find_jobs_max"].default
BULK_JOBS_MAX: Final = LIMITS["bulk_jobs_max"].default
BULK_SCAN_JOBS_MAX: Final = LIMITS["bulk_scan_jobs_max"].default
OPERATION_JOBS_MAX: Final = LIMITS["operation_jobs_max"].default
OPERATION_PREVIEW_JOBS_MAX: Final = LIMITS["operation_preview_jobs_max"].default
OPERATION_DAYS: Final = LIMITS["operation_days"].default
OPERATION_PREVIEW_HOURS: Final = LIMITS["operation_preview_hours"].default
RECOVER_JOBS_MAX: Final = LIMITS["recover_jobs_max"].default
MAX_ATTEMPTS_MAX: Final = LIMITS["max_attempts_max"].default
MAX_CRASHES_MAX: Final = LIMITS["max_crashes_max"].default
DELAY_SECONDS_MAX: Final = LIMITS["delay_seconds_max"].default
TIMEOUT_SECONDS_MAX: Final = LIMITS["timeout_seconds_max"].default
LOG_LINES_MAX: Final = LIMITS["log_lines_max"].default
LOG_LINE_BYTES_MAX: Final = LIMITS["log_line_bytes_max"].default
ERROR_BYTES_MAX: Final = LIMITS["error_bytes_max"].default
CRON_CHARACTERS_MAX: Final = LIMITS["cron_characters_max"].default
RULE_CHARACTERS_MAX: Final = LIMITS["rule_characters_max"].default
RULE_DATES_MAX: Final = LIMITS["rule_dates_max"].default
RULE_COUNT_MAX: Final = LIMITS["rule_count_max"].default
SCHEDULE_RULES_MAX: Final = LIMITS["schedule_rules_max"].default
SCHEDULE_CALENDARS_MAX: Final = LIMITS["schedule_calendars_max"].default
CALENDAR_ENTRIES_MAX: Final = LIMITS["calendar_entries_max"].default
CALENDAR_RULES_MAX: Final = LIMITS["calendar_rules_max"].default
SEARCH_YEARS: Final = LIMITS["search_years"].default
SEARCH_DAYS_MAX: Final = LIMITS["search_days_max"].default
PREVIEW_FIRES_MAX: Final = LIMITS["preview_fires_max"].default
INTERVAL_SECONDS_MIN: Final = LIMITS["interval_seconds_min"].default
JITTER_SECONDS_MAX: Final = LIMITS["jitter_seconds_max"].default
HORIZON_SECONDS: Final = LIMITS["horizon_seconds"].default
PREPARE_FIRES_MAX: Final = LIMITS["prepare_fires_max"].default
FIRE_SCHEDULES_MAX: Final = LIMITS["fire_schedules_max"].default
MISFIRE_THRESHOLD_SECONDS_MAX: Final = LIMITS["misfire_threshold_seconds_max"].default
CATCHUP_WINDOW_SECONDS_MAX: Final = LIMITS["catchup_window_seconds_max"].default
MISSED_FIRES_MAX: Final = LIMITS["missed_fires_max"].default
CATCHUP_JOBS_MAX: Final = LIMITS["catchup_jobs_max"].default
PAUSE_AFTER_FAILURES_MAX: Final = LIMITS["pause_after_failures_max"].default
BACKFILL_FIRES_MAX: Final = LIMITS["backfill_fires_max"].default
BACKFILL_JOBS_MAX: Final = LIMITS["backfill_jobs_max"].default
COUNT_FIRES_MAX: Final = LIMITS["count_fires_max"].default
AUDIT_FIRES_MAX: Final = LIMITS["audit_fires_max"].default
AUDIT_ITEMS_MAX: Final = LIMITS["audit_items_max"].default
AUDIT_BYTES_MAX: Final = LIMITS["audit_bytes_max"].default
AUDIT_DAYS: Final = LIMITS["audit_days"].default
KEY_ITEMS_MAX: Final = LIMITS["key_items_max"].default
KEY_OVERLAP_SECONDS_MAX: Final = LIMITS["key_overlap_seconds_max"].default
SCHEDULE_CHARACTERS_MAX: Final = LIMITS["schedule_characters_max"].default
NOTE_CHARACTERS_MAX: Final = LIMITS["note_characters_max"].default
LEDGER_DAYS: Final = LIMITS["ledger_days"].default
SUBMISSION_KEY_HOURS: Final = LIMITS["submission_key_hours"].default
WEBHOOKS_MAX: Final = LIMITS["webhooks_max"].default
WEBHOOK_BYTES_MAX: Final = LIMITS["webhook_bytes_max"].default
URL_CHARACTERS_MAX: Final = LIMITS["url_characters_max"].default
WEBHOOK_FILTER_ITEMS_MAX: Final = LIMITS["webhook_filter_items_max"].default
