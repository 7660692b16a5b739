"""Every setting in one table: its names, its default, and what it means."""

from collections.abc import Mapping
from typing import Final

import msgspec

from mainspring.domain.limits import AUDIT_DAYS, INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX

#: Where ``mainspring dev`` and every command look when nothing else is said.
DEV_STORE: Final = "sqlite:///.mainspring/dev.db"
PROFILE_VARIABLE: Final = "MAINSPRING_PROFILE"

_GIB: Final = 1_073_741_824
_DAYS_MAX: Final = 3_650


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs to know to open its store and object store."""

    store_url: str = DEV_STORE
    #: ``file:///folder``, ``s3://bucket/prefix?endpoint=…`` or ``none``; by default a folder
    #: beside the SQLite file, and none with PostgreSQL.
    blob_url: str = ""
    #: ``module:attribute`` of the project's app: what ``dev``, ``run`` and ``worker start`` run.
    app: str = ""
    #: Shown at the door of a server, where the store is one.
    key: str = ""
    #: Authorities that the server's certificate may come from; empty: those of this machine.
    ca_file: str = ""
    #: A client certificate with its private key, for servers that ask for one.
    certificate_file: str = ""
    log_level: str = "info"
    #: Payloads and results longer than this go to the object store, if there is one.
    inline_bytes: int = INLINE_BYTES_MAX
    #: Payloads longer than this are refused.
    payload_bytes: int = PAYLOAD_BYTES_MAX
    #: Where a server of this store listens.
    http_address: str = "127.0.0.1:8470"
    grpc_address: str = "127.0.0.1:8471"
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    oidc_issuer: str = ""
    oidc_audience: str = ""
    #: Networks and hosts, by comma, that webhooks may go to although they are not public.
    webhook_reach: str = ""
    keep_succeeded_days: int = 7
    keep_cancelled_days: int = 7
    keep_expired_days: int = 7
    keep_skipped_days: int = 7
    keep_dead_days: int = 90
    keep_audit_days: int = AUDIT_DAYS


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its name in the code, in files and in the environment, and what it means."""

    name: str
    key: str
    environment: str
    default: str
    meaning: str
    #: Bounds of a whole number; without them it is text.
    bounds: tuple[int, int] | None = None


TABLE: Final = (
    SettingRow(
        name="store_url",
        key="store",
        environment="MAINSPRING_STORE",
        default=DEV_STORE,
        meaning="The store: sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE; or a "
        "server: https://HOST:PORT, and grpcs://HOST:PORT for workers.",
    ),
    SettingRow(
        name="blob_url",
        key="blobs",
        environment="MAINSPRING_BLOBS",
        default="a folder beside the SQLite file",
        meaning="Where payloads and results over 16 KiB go: file:///FOLDER, s3://BUCKET/PREFIX, "
        "or none.",
    ),
    SettingRow(
        name="app",
        key="app",
        environment="MAINSPRING_APP",
        default="",
        meaning="The project's app as MODULE:APP: what dev, run and worker start run when none "
        "is named.",
    ),
    SettingRow(
        name="key",
        key="key",
        environment="MAINSPRING_KEY",
        default="",
        meaning="The key that a server asks for, where the store is one. Never shown in full.",
    ),
    SettingRow(
        name="ca_file",
        key="ca",
        environment="MAINSPRING_CA",
        default="",
        meaning="A PEM file with the authorities that a server's certificate may come from, where "
        "they are not those of this machine.",
    ),
    SettingRow(
        name="certificate_file",
        key="certificate",
        environment="MAINSPRING_CERTIFICATE",
        default="",
        meaning="A PEM file with a client certificate and its private key, for servers that ask "
        "for one.",
    ),
    SettingRow(
        name="log_level",
        key="log_level",
        environment="MAINSPRING_LOG_LEVEL",
        default="info",
        meaning="debug, info, warning or error.",
    ),
    SettingRow(
        name="inline_bytes",
        key="inline_bytes",
        environment="MAINSPRING_INLINE_BYTES",
        default=str(INLINE_BYTES_MAX),
        meaning="Payloads and results longer than this go to the object store, if there is one.",
        bounds=(0, _GIB),
    ),
    SettingRow(
        name="payload_bytes",
        key="payload_bytes",
        environment="MAINSPRING_PAYLOAD_BYTES",
        default=str(PAYLOAD_BYTES_MAX),
        meaning="Payloads longer than this are refused.",
        bounds=(2, _GIB),
    ),
    SettingRow(
        name="http_address",
        key="http",
        environment="MAINSPRING_HTTP",
        default="127.0.0.1:8470",
        meaning="Where server start opens REST: HOST:PORT.",
    ),
    SettingRow(
        name="grpc_address",
        key="grpc",
        environment="MAINSPRING_GRPC",
        default="127.0.0.1:8471",
        meaning="Where server start opens gRPC: HOST:PORT, or none.",
    ),
    SettingRow(
        name="tls_cert",
        key="tls_cert",
        environment="MAINSPRING_TLS_CERT",
        default="",
        meaning="The certificate of server start, in PEM: both doors are encrypted then.",
    ),
    SettingRow(
        name="tls_key",
        key="tls_key",
        environment="MAINSPRING_TLS_KEY",
        default="",
        meaning="The private key of that certificate, if it is in a file of its own.",
    ),
    SettingRow(
        name="tls_client_ca",
        key="tls_client_ca",
        environment="MAINSPRING_TLS_CLIENT_CA",
        default="",
        meaning="The authority that vouches for clients: everybody has to show a certificate.",
    ),
    SettingRow(
        name="oidc_issuer",
        key="oidc_issuer",
        environment="MAINSPRING_OIDC_ISSUER",
        default="",
        meaning="An OpenID Connect issuer whose tokens server start takes beside keys: its URL.",
    ),
    SettingRow(
        name="oidc_audience",
        key="oidc_audience",
        environment="MAINSPRING_OIDC_AUDIENCE",
        default="",
        meaning="For whom those tokens are; others are refused.",
    ),
    SettingRow(
        name="webhook_reach",
        key="webhook_reach",
        environment="MAINSPRING_WEBHOOK_REACH",
        default="",
        meaning="Networks and hosts that webhooks may go to although they are not public: "
        "10.1.0.0/16,hooks.internal.",
    ),
    SettingRow(
        name="keep_succeeded_days",
        key="keep_succeeded_days",
        environment="MAINSPRING_KEEP_SUCCEEDED_DAYS",
        default="7",
        meaning="Days for which jobs that succeeded are kept.",
        bounds=(1, _DAYS_MAX),
    ),
    SettingRow(
        name="keep_cancelled_days",
        key="keep_cancelled_days",
        environment="MAINSPRING_KEEP_CANCELLED_DAYS",
        default="7",
        meaning="Days for which cancelled jobs are kept.",
        bounds=(1, _DAYS_MAX),
    ),
    SettingRow(
        name="keep_expired_days",
        key="keep_expired_days",
        environment="MAINSPRING_KEEP_EXPIRED_DAYS",
        default="7",
        meaning="Days for which jobs that expired before they began are kept.",
        bounds=(1, _DAYS_MAX),
    ),
    SettingRow(
        name="keep_skipped_days",
        key="keep_skipped_days",
        environment="MAINSPRING_KEEP_SKIPPED_DAYS",
        default="7",
        meaning="Days for which skipped jobs are kept.",
        bounds=(1, _DAYS_MAX),
    ),
    SettingRow(
        name="keep_dead_days",
        key="keep_dead_days",
        environment="MAINSPRING_KEEP_DEAD_DAYS",
        default="90",
        meaning="Days for which dead letters, and attempts that failed, are kept.",
        bounds=(1, _DAYS_MAX),
    ),
    SettingRow(
        name="keep_audit_days",
        key="keep_audit_days",
        environment="MAINSPRING_KEEP_AUDIT_DAYS",
        default=str(AUDIT_DAYS),
        meaning="Days for which the audit says who did what.",
        bounds=(1, _DAYS_MAX),
    ),
)
BY_KEY: Final[Mapping[str, SettingRow]] = {row.key: row for row in TABLE}
#: Variables that are read elsewhere; every other ``MAINSPRING_*`` is a slip.
OTHER_VARIABLES: Final = frozenset({PROFILE_VARIABLE, "MAINSPRING_DEBUG"})
