"""How code is sent."""


def register_pickle_by_value(_module: object) -> None:
    """Send nothing."""
