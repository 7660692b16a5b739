"""What every command is given: where the store is, and how to show things."""

import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from mainspring.runtime.setting_table import Settings
    from mainspring.runtime.settings import Layers

#: Where the commands of a group stand in its help: first.
COMMANDS: Final = Group("Commands", sort_key=0)
Format = Literal["table", "wide", "json", "jsonl", "yaml", "csv", "name"]
#: An option that is on when it is there; there is no --no-….
FLAG: Final = Parameter(negative="")
#: A value may begin with a dash, so that ``--delay -5s`` is answered by what is wrong with it.
VALUE: Final = Parameter(allow_leading_hyphen=True)
#: A search; what it may say is in docs/reference/search.md.
QUERY: Final = Parameter(name=["--query", "-q"], allow_leading_hyphen=True)
Color = Literal["auto", "always", "never"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that every command takes."""

    store: str | None = None
    blobs: str | None = None
    profile: str | None = None
    output: Format = "table"
    #: Names of what is to be shown of each thing; everything when empty.
    columns: tuple[str, ...] = ()
    #: A jq program that the data goes through.
    jq: str | None = None
    color: Color = "auto"
    debug: bool = False

    def layers(self, *, log_level: str | None = None) -> "Layers":
        """Return everything that is said about the settings: by flags, environment and files."""
        from mainspring.runtime.settings import Layers

        flags = {"store": self.store, "blobs": self.blobs, "log_level": log_level}
        return Layers(flags=flags, profile=self.profile)

    def settings(self, *, log_level: str | None = None) -> "Settings":
        """Return the settings that win."""
        return self.layers(log_level=log_level).settings()

    @property
    def is_for_people(self) -> bool:
        """Tell whether the answer is to be read by people."""
        return self.output in ("table", "wide") and self.jq is None

    @property
    def is_wide(self) -> bool:
        """Tell whether everything is to be shown, whatever the width."""
        return self.output == "wide"

    @property
    def shown_store(self) -> str:
        """Return the store's address for people: without a password."""
        return without_password(self.settings().store_url)

    @property
    def colors_data(self) -> bool:
        """Tell whether what goes to stdout is to be coloured."""
        return wants_color(self.color)


#: A command's last parameter: filled in by the root, never parsed.
Given = Annotated[Options, Parameter(parse=False)]


_SECRETS: Final = re.compile(
    r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE
)


def without_password(address: str) -> str:
    """Return an address with its password left out."""
    address = _SECRETS.sub(r"\1***", address)
    scheme, separator, rest = address.partition("://")
    user, at, host = rest.rpartition("@")
    if not separator or not at or ":" not in user:
        return address
    return f"{scheme}://{user.partition(':')[0]}:***@{host}"


def wants_color(choice: Color, *, error: bool = False) -> bool:
    """Tell whether a stream is to be coloured."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    stream = sys.stderr if error else sys.stdout
    return stream is not None and stream.isatty()
