"""Where a task runs."""


def NodeAffinitySchedulingStrategy(  # noqa: N802 - the name in Ray
    node_id: str, *, soft: bool
) -> str:
    """Return the node itself."""
    assert not soft
    return node_id
