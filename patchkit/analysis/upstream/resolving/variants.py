"""Tells apart the values that a name may stand for."""

from patchkit.analysis.upstream.resolving.values import Value, Values


def distinct(values: Values) -> Values:
    """Leave out values that have the same definition as one before them.

    Args:
        values: The values.

    Returns:
        The others, in order.
    """
    by_definition: dict[object, Value] = {}
    for value in values:
        nodes = tuple(id(node) for node in value.nodes)
        definition = (
            value.state,
            value.kind,
            value.module,
            value.qualname,
            value.dotted,
            # Of values without a statement, those with different code or reasons are different.
            nodes or (id(value.expression), value.reason),
        )
        by_definition.setdefault(definition, value)
    return tuple(by_definition.values())
