"""What one release says of one target, as plain data that can be kept."""

import ast
import dataclasses
from dataclasses import dataclass
from typing import Any

from patchkit.analysis.upstream.fingerprint import of_nodes, of_resolution
from patchkit.analysis.upstream.resolving.module_tree import lines_of
from patchkit.analysis.upstream.resolving.resolve import Resolution, Resolver
from patchkit.analysis.upstream.resolving.syntax import DEFS, Signature
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.core.rows.target import Item, Target
from patchkit.core.text.wording import wording_of

_ACCESSORS = {"fget": "getter", "fset": "setter", "fdel": "deleter"}


@dataclass(frozen=True, slots=True)
class Facts:
    """A target in one release, and where it is defined; what is not told is None or ''."""

    state: str  # present, absent or undecidable
    reason: str = ""  # why it is not present, or what is not sure about it
    kind: str | None = None  # what it is, a value of `Kind`
    is_sure: bool = False  # whether kind and signature are those of every way it may be bound
    signature: Signature | None = None
    module: str = ""
    qualname: str = ""
    owner: str = ""  # the class that it is only inherited from, `module:qualname`
    path: str = ""
    lines: tuple[int, int] | None = None  # first and last of its definition
    fingerprint: str | None = None  # hash of its source
    shape: str | None = None  # of a function, the hash of its source whatever its name
    wording: str | None = None  # hash of how it is written; None where that takes a parser to find
    wrapped: tuple[tuple[str, int, int], ...] = ()  # code that a call wraps: file and lines
    bases: tuple[tuple[str, str], ...] = ()  # of a class, those of the release, with fingerprints
    storage: str = ""  # where that is kept which it names on a class, unless on the class itself

    @property
    def is_present(self) -> bool:
        """Whether it is there."""
        return self.state == "present"

    def as_data(self) -> dict[str, Any]:
        """Write it as JSON has it."""
        plain = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        if self.signature is not None:
            plain["signature"] = self.signature.as_data()
        return {name: value for name, value in plain.items() if value not in (None, "", False, ())}

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "Facts":
        """Read what `as_data` has written."""
        fields = dict(data)
        if "signature" in fields:
            fields["signature"] = Signature.of_data(fields["signature"])
        if "lines" in fields:
            fields["lines"] = tuple(fields["lines"])
        for name in ("wrapped", "bases"):
            fields[name] = tuple(map(tuple, fields.get(name, ())))
        return cls(**fields)


def facts_of(resolver: Resolver, target: Target, *, brief: bool = False) -> Facts:
    """Look a target up, `brief` without its source; UpstreamError for an unreadable release."""
    found = resolver.resolve(target)
    if found.state != "present":
        return _accessor(resolver, target) or Facts(found.state, found.reason)
    known = Facts(
        found.state,
        "" if found.is_sure else found.reason,
        str(found.kind) if found.kind else None,
        is_sure=found.is_sure,
        signature=found.signature,
        module=found.module,
        qualname=found.qualname,
        path=found.path,
        lines=found.lines,
    )
    return known if brief else _with_source(known, resolver, target, found)


def _with_source(known: Facts, resolver: Resolver, target: Target, found: Resolution) -> Facts:
    functions = [node for node in found.nodes if isinstance(node, DEFS)]
    return dataclasses.replace(
        known,
        owner=_owner(resolver, target, found),
        fingerprint=of_resolution(found),
        shape=of_nodes(functions, named=False) if len(functions) == 1 else None,
        wording=_wording(resolver, target, found),
        wrapped=tuple(
            (one.tree.path, *lines)
            for one in dict.fromkeys(one for variant in found.wrapped for one in variant)
            if (lines := lines_of([one.node]))
        ),
        bases=tuple((f"{one.module}:{one.qualname}", _of_class(one)) for one in found.bases),
        storage=resolver.storage(found),
    )


def _of_class(value: Value) -> str:
    key = ("fingerprint", *map(id, value.nodes))
    return value.module_tree.remember_with_file(key, lambda: of_nodes(value.nodes))


def _wording(resolver: Resolver, target: Target, found: Resolution) -> str | None:

    def read(name: str) -> tuple[bytes, bool] | None:
        tree = resolver.modules.get(name)
        return (tree.source, tree.is_package) if tree and tree.path else None

    written = wording_of(read, target.module, target.qualname) if target.qualname else None
    places = sorted(filter(None, (lines_of([node]) for node in found.nodes)))
    if written is None or (written.module, sorted(written.lines)) != (found.module, places):
        return None
    return written.mark


def _owner(resolver: Resolver, target: Target, found: Resolution) -> str:
    if not _is_member(target) or "." not in found.qualname:
        return ""
    outer = resolver.resolve(target.holder)
    holder = (found.module, found.qualname.rpartition(".")[0])
    if outer.kind is not Kind.CLASS or (outer.module, outer.qualname) == holder:
        return ""
    return f"{holder[0]}:{holder[1]}"


def _is_member(target: Target) -> bool:
    return len(target.steps) > 1 and not isinstance(target.steps[-1], Item)


def _accessor(resolver: Resolver, target: Target) -> Facts | None:
    last = target.qualname.rpartition(".")[2]
    if not _is_member(target) or last not in _ACCESSORS:
        return None
    whole = resolver.resolve(target.holder)
    node = next((one for one in whole.nodes if _accessor_of(one) == _ACCESSORS[last]), None)
    if whole.kind is not Kind.PROPERTY or node is None:
        return None
    return Facts(
        "present",
        kind=str(Kind.METHOD),
        is_sure=whole.is_sure,
        module=whole.module,
        qualname=f"{whole.qualname}.{last}",
        path=whole.path,
        lines=lines_of([node]),
        fingerprint=of_nodes([node]),
    )


def _accessor_of(node: ast.AST) -> str:
    marks = node.decorator_list if isinstance(node, DEFS) else ()
    ends = (one.attr for one in marks if isinstance(one, ast.Attribute))
    return next((end for end in ends if end in _ACCESSORS.values()), "getter")
