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


def importable(values: Values) -> Values:
    """Leave out values for which the import of the module would fail, unless it fails for all.

    Args:
        values: What a name of the module may stand for.

    Returns:
        The others, in order.
    """
    found = [value for value in values if not _is_failed_import(value)]
    return tuple(found) or values


def _is_failed_import(value: Value) -> bool:
    # The words are those of `expressions._imported`.
    return value.state == "absent" and "is imported:" in value.reason
