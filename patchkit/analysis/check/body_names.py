"""Finds names of a row that its body does not define, or that cannot be called as patchkit does."""

from collections.abc import Iterator
from inspect import Parameter

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import REWRITE, Finding, finding_of_row
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    AfterImport,
    BeforeImport,
    Decorate,
    Row,
    Wrap,
)
from patchkit.core.rows.target import Target

_UNCALLABLE = frozenset([Kind.CONSTANT, Kind.MODULE])
_PLAIN = frozenset([Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CLASS])
"""Kinds of what is called with the very parameters that its definition has."""
_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def of_names(row: Row, pack: PackSource) -> Iterator[Finding]:
    """Find what is wrong with the names of the body that a row uses, in every release.

    Args:
        row: The row, whose body is there.
        pack: Its pack.

    Yields:
        A finding for each name that the body does not define, or that is called and is no function,
        or is a function that does not take what it is called with.
    """
    row_place = pack.place(row)
    called = _called_names(row)
    for name in _body_names(row):
        facts = pack.facts(row, name)
        place = pack.place(row, name)
        if facts.state == "absent":
            meant = did_you_mean(Target(row.body, name), pack.as_release)
            message = f"the row names {name}, but {facts.reason}{meant}"
            fix = f"define {name} in the body, or name another object in the row"
            yield finding_of_row(codes.NAME_NOT_IN_BODY, message, fix, row, row_place)
        elif name in called and facts.is_sure and facts.kind in _UNCALLABLE:
            message = f"found {name} ({facts.kind}), expected a function"
            yield finding_of_row(codes.KIND_CHANGED, message, REWRITE, row, place)
    for caller, name in _callers(row):
        message = _refused(caller, name, pack.facts(row, name))
        if message:
            place = pack.place(row, name)
            yield finding_of_row(codes.SIGNATURE_CHANGED, message, REWRITE, row, place)


def _called_names(row: Row) -> set[str | None]:
    """Return the names of functions of the body, which patchkit calls whatever the target is.

    The set may contain None, for fields that are not set.
    """
    names: set[str | None] = {name for _, name in _callers(row)}
    for change in row.patch.changes:
        if isinstance(change, (Wrap, Decorate)):
            names.add(change.body_name)
    return names


def _callers(row: Row) -> list[tuple[str, str]]:
    """List what calls functions of the body without a target, each with the function's name."""
    patch = row.patch
    callers: list[tuple[str, str | None]] = [
        ("`when`", patch.when),
        ("`verify`", patch.verify),
    ]
    for change in patch.changes:
        callers.append(("`when`", change.when))
        if isinstance(change, (BeforeImport, AfterImport)):
            callers.append((change.kind, change.call))
    return [(caller, name) for caller, name in dict.fromkeys(callers) if name]


def _body_names(row: Row) -> list[str]:
    """Return the names of objects of the body that a row uses, each once."""
    changes = row.patch.changes
    names: list[str | None] = [change.body_name for change in changes]
    names += [row.patch.when, row.patch.verify]
    names += [change.when for change in changes]
    return [name for name in dict.fromkeys(names) if name]


def _refused(caller: str, name: str, facts: Facts) -> str:
    """Say that a function requires arguments which it is not called with; '' if it does not.

    Nothing is passed, but a function that requires one argument gets the module after its import.
    """
    if facts.signature is None or not facts.is_sure or facts.kind not in _PLAIN:
        return ""
    required = [
        parameter
        for parameter in facts.signature.parameters.values()
        if parameter.default is parameter.empty and parameter.kind not in _VARIADIC
    ]
    if not required:
        return ""
    expected = f"{name}()"
    if caller == "AfterImport":
        is_named = required[0].kind is Parameter.KEYWORD_ONLY
        if len(required) == 1 and not is_named:
            return ""
        expected = f"{name}(module) or {expected}"
    return f"found {name}{facts.signature}, expected {expected}, as {caller} calls it"
