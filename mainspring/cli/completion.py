"""``mainspring completion``: what makes a shell complete commands, options and choices."""

from typing import Literal

from mainspring.cli.output import out

Shell = Literal["bash", "zsh", "fish"]


def completion(shell: Shell, /) -> None:
    """Print the completion of a shell; put it where that shell looks for it.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from mainspring.cli.root import app

    out(app.generate_completion(shell=shell))
