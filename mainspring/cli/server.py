"""``mainspring server``: open the doors."""

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec
from cyclopts import App

from mainspring.cli.options import COMMANDS, FLAG, Given, Options
from mainspring.cli.output import out
from mainspring.domain.names import check_range

if TYPE_CHECKING:
    from mainspring.runtime.server_node import Doors, Opened
    from mainspring.runtime.setting_table import Settings

_log: Final = logging.getLogger("mainspring.cli")
app: Final = App(name="server", help="Serve REST and gRPC.", group_commands=COMMANDS)
_RATE_MAX: Final = 10_000_000


@app.command
def start(  # noqa: PLR0913 - a command's options are its arguments
    *,
    http: str | None = None,
    grpc: str | None = None,
    tls_cert: str | None = None,
    tls_key: str | None = None,
    tls_client_ca: str | None = None,
    keys: bool = True,
    behind_proxy: Annotated[bool, FLAG] = False,
    key_rate: int | None = None,
    log_level: str | None = None,
    maintenance: bool = True,
    scheduler: bool = True,
    options: Given,
) -> int:
    """Serve REST, and gRPC for workers in any language, until a signal ends it.

    The first start on a store prints a key of an administrator, once. Any number of servers may
    stand before one store.

    Parameters
    ----------
    http
        Where REST listens: HOST:PORT; by default 127.0.0.1:8470.
    grpc
        Where gRPC listens; by default 127.0.0.1:8471; none leaves it closed.
    tls_cert
        Encrypt both doors with this certificate, a file in PEM.
    tls_key
        The certificate's private key, if it is in a file of its own.
    tls_client_ca
        Let in only who shows a certificate that this authority vouches for.
    keys
        Ask for API keys. Without, everybody on this machine may do everything.
    behind_proxy
        Speak in plain text beyond this machine, because a proxy in front encrypts.
    key_rate
        Requests a second that each key may make of this server.
    log_level
        debug, info, warning or error.
    maintenance
        Also recover what workers lost, and drop old history.
    scheduler
        Also fire schedules.
    """
    from mainspring.runtime.child_process import loop_factory
    from mainspring.runtime.node import Duties
    from mainspring.runtime.server_node import run_server
    from mainspring.telemetry.logs import set_up_logging

    settings = options.settings(log_level=log_level)
    given = _Given(http, grpc, tls_cert, tls_key, tls_client_ca)
    doors = _doors(settings, given, key_rate)
    doors = msgspec.structs.replace(doors, asks_keys=keys, behind_proxy=behind_proxy)
    doors.check()
    set_up_logging(settings.log_level)

    serving = run_server(
        settings,
        doors,
        duties=Duties(maintains=maintenance, fires=scheduler),
        on_open=lambda found: _tell(found, options),
        on_stop=lambda: _log.info("stopping"),
    )
    # Of all commands this one has most to gain from a quick loop.
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serving)
    _log.info("stopped")
    return 0


def _tell(found: "Opened", options: Options) -> None:
    if found.first_key is not None:
        _show_first_key(found.first_key)
    _log.info("REST at %s/api/v1", found.http)
    if found.grpc is not None:
        _log.info("gRPC at %s", found.grpc)
    _log.info("store: %s", options.shown_store)


class _Given(NamedTuple):
    """What flags say of the doors; ``None``: the settings do."""

    http: str | None
    grpc: str | None
    tls_cert: str | None
    tls_key: str | None
    tls_client_ca: str | None


def _doors(settings: "Settings", given: _Given, key_rate: int | None) -> "Doors":
    from mainspring.domain.limits import KEY_REQUESTS_PER_SECOND
    from mainspring.runtime.addresses import read_address
    from mainspring.runtime.server_node import Doors
    from mainspring.runtime.serving import Tls

    grpc = settings.grpc_address if given.grpc is None else given.grpc
    rate = KEY_REQUESTS_PER_SECOND if key_rate is None else key_rate
    return Doors(
        http=read_address("http", settings.http_address if given.http is None else given.http),
        grpc=None if grpc == "none" else read_address("grpc", grpc),
        tls=Tls(
            certificate=_or(given.tls_cert, settings.tls_cert),
            key=_or(given.tls_key, settings.tls_key),
            client_authority=_or(given.tls_client_ca, settings.tls_client_ca),
        ),
        key_rate=check_range("key-rate", rate, 1, _RATE_MAX),
    )


def _or(flag: str | None, setting: str) -> str:
    return setting if flag is None else flag


def _show_first_key(key: str) -> None:
    """Print the key that opens everything, on stdout: the log may be kept, and read by others."""
    out("The first key of this store, for its administrator. It is shown this once:")
    out("")
    out(f"  {key}")
    out("")
    out("  export MAINSPRING_KEY=...   lets the command line use it")
    # Whoever reads a pipe waits for it.
    sys.stdout.flush()
