"""What can go wrong with a server: it cannot be had here, or it was had and broke."""


class ServerUnavailable(Exception):
    """This machine lacks the component. The text is the reason and the command that fixes it."""


class ServerFailed(Exception):
    """The component is here but does not do what it must. The text has the end of its log."""
