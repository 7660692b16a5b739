"""What every command is given: where the store is, and how to show things."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from mainspring.runtime.settings import Settings

#: Where the commands of a group stand in its help: first.
COMMANDS: Final = Group("Commands", sort_key=0)
Format = Literal["table", "wide", "json", "jsonl", "csv", "name"]
Color = Literal["auto", "always", "never"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that every command takes."""

    store: str | None = None
    blobs: str | None = None
    output: Format = "table"
    color: Color = "auto"
    debug: bool = False

    def settings(self, *, log_level: str | None = None) -> "Settings":
        """Return the settings: flags, then environment, then defaults."""
        from mainspring.runtime.settings import read_settings

        return read_settings(store=self.store, blobs=self.blobs, log_level=log_level)

    @property
    def is_for_people(self) -> bool:
        """Tell whether the answer is to be read by people."""
        return self.output in ("table", "wide")

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


def without_password(address: str) -> str:
    """Return an address with its password left out."""
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
