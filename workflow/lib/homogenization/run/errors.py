"""The one exception whose message is written for the person who runs the workflow."""


class HomogenizationError(Exception):
    """A problem that the user can solve; the message names the key or file, the value, what is allowed, what to do."""
