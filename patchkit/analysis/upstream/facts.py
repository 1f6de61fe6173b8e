"""Collects what one release says of one target, as plain data that can be stored."""

import ast
import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

from patchkit.analysis.upstream.fingerprint import of_nodes, of_resolution
from patchkit.analysis.upstream.resolving.code_kinds import naming_itself, returned_by
from patchkit.analysis.upstream.resolving.literals import constant_type
from patchkit.analysis.upstream.resolving.module_tree import lines_of
from patchkit.analysis.upstream.resolving.resolve import (
    TOO_DEEP,
    Resolution,
    Resolver,
)
from patchkit.analysis.upstream.resolving.syntax import DEFS, Signature
from patchkit.analysis.upstream.resolving.values import Kind, Value
from patchkit.core.rows.target import Item, Target
from patchkit.core.text.wording import wording_of

_ACCESSORS = {"fget": "getter", "fset": "setter", "fdel": "deleter"}
"""The functions of a property, and the decorators that make them."""
OF_PROPERTY = "a function of a property"
"""Where `Class.name.fget` is stored, in words: nobody can set it there."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What one release says of a target; None and '' stand for what is unknown.

    Args:
        state: `present`, `absent` or `undecidable`.
        reason: Why it is not present, or what is not sure about it.
        kind: What it is, a value of `Kind`.
        is_sure: Whether kind and signature are the same however it is bound there.
        signature: How it is called.
        widest: Of a dataclass whose signature is not known, one that takes all calls that it may
            take.
        module: The module that defines it.
        qualname: Its name in that module.
        owner: The class that it is only inherited from, `module:qualname`.
        path: The file that defines it.
        lines: The first and last line of its definition.
        fingerprint: The hash of its source.
        shape: Of a function, the hash of its source without its name, by which `check` sees that
            upstream has taken over the function of a patch.
        wording: The hash of how it is written; None where only a parser can find it.
        wrapped: Code that it runs outside its definition, such as that of f in `x = lru_cache(f)`:
            file, first and last line.
        bases: Of a class, those of the release, each `module:qualname` and its fingerprint.
        storage: Of a member of a class, where instances store it, in words; '' if it is an
            attribute of the class itself.
        returned: Of a function, what kind of thing a call returns, in words that `check` compares.
        naming_itself: Of a class, the methods that say `super(Name, self)` with its own name.
        nature: What it is to a change, a value of `Nature`; '' if the source does not tell.
        setter: Of what only instances have, so that it is absent: the method that assigns it.
        constant: Of a number, a string or bytes that is spelled out: its type, in words.
    """

    state: str
    reason: str = ""
    kind: str | None = None
    is_sure: bool = False
    signature: Signature | None = None
    widest: Signature | None = None
    module: str = ""
    qualname: str = ""
    owner: str = ""
    path: str = ""
    lines: tuple[int, int] | None = None
    fingerprint: str | None = None
    shape: str | None = None
    wording: str | None = None
    wrapped: tuple[tuple[str, int, int], ...] = ()
    bases: tuple[tuple[str, str], ...] = ()
    storage: str = ""
    returned: str = ""
    naming_itself: tuple[str, ...] = ()
    nature: str = ""
    setter: str = ""
    constant: str = ""

    @property
    def is_present(self) -> bool:
        """Whether the target is there."""
        return self.state == "present"

    def as_data(self) -> dict[str, Any]:
        """Return the facts that are known, as a dict that can be written as JSON."""
        plain = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }
        for name in ("signature", "widest"):
            if plain[name] is not None:
                plain[name] = plain[name].as_data()
        # What is unknown is left out: `of_data` gives it the default of its field.
        return {
            name: value
            for name, value in plain.items()
            if value not in (None, "", False, ())
        }

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "Facts":
        """Return the facts that `as_data` returned as `data`, before or after JSON."""
        # JSON has made lists of all tuples.
        fields = dict(data)
        for name in ("signature", "widest"):
            if name in fields:
                fields[name] = Signature.of_data(fields[name])
        # A check with many rows reads a hundred thousand facts, most of which have few fields.
        for name in ("lines", "naming_itself"):
            if name in fields:
                fields[name] = tuple(fields[name])
        for name in ("wrapped", "bases"):
            if name in fields:
                fields[name] = tuple(map(tuple, fields[name]))
        return cls(**fields)


def facts_of(resolver: Resolver, target: Target, *, brief: bool = False) -> Facts:
    """Look a target up in a release.

    Args:
        resolver: The release.
        target: The target.
        brief: Whether to leave out what only its source tells, such as the fingerprint.

    Returns:
        What is known of the target.

    Raises:
        UpstreamError: The release cannot be read.
    """
    try:
        return _facts_of(resolver, target, brief=brief)
    except (
        RecursionError
    ):  # the name was resolved, but what it consists of goes too deep
        return Facts("undecidable", TOO_DEEP)


def _facts_of(resolver: Resolver, target: Target, *, brief: bool) -> Facts:
    """Look a target up; see `facts_of`, which guards against sources that are nested too deep."""
    resolution = resolver.resolve(target)
    if resolution.state != "present":
        # `Class.name.fget` names no attribute that resolving would find.
        accessor = _accessor(resolver, target)
        if accessor is not None:
            return accessor
        # What a class has no attribute for, its instances may store: `self.x = …`.
        return Facts(
            resolution.state,
            resolution.reason,
            storage=resolver.storage(resolution),
            setter=_setter(resolution),
        )
    facts = Facts(
        resolution.state,
        # Where it is sure, the reason is only a remark, such as "set by Python".
        "" if resolution.is_sure else resolution.reason,
        str(resolution.kind) if resolution.kind else None,
        is_sure=resolution.is_sure,
        signature=resolution.signature,
        widest=resolution.widest_signature,
        module=resolution.module,
        qualname=resolution.qualname,
        path=resolution.path,
        lines=resolution.lines,
    )
    if brief:
        return facts
    return _with_source(facts, resolver, target, resolution)


def _with_source(
    facts: Facts, resolver: Resolver, target: Target, resolution: Resolution
) -> Facts:
    """Add the facts that only the source of a target tells: hashes, bases and the like."""
    functions = [node for node in resolution.nodes if isinstance(node, DEFS)]
    shape = None  # stays so for a class, and for a property with several functions
    if len(functions) == 1:
        shape = of_nodes(functions, named=False)
    bases = [
        (f"{base.module}:{base.qualname}", _fingerprint(base))
        for base in resolution.bases
    ]
    return dataclasses.replace(
        facts,
        owner=_inherited_from(resolver, target, resolution),
        fingerprint=of_resolution(resolution),
        shape=shape,
        wording=_wording(resolver, target, resolution),
        wrapped=_wrapped_lines(resolution),
        bases=tuple(bases),
        storage=resolver.storage(resolution),
        nature=str(resolution.nature.value),
        constant=constant_type(resolution.variants),
        returned=_returned(resolution),
        naming_itself=naming_itself(resolution.nodes[0]) if resolution.nodes else (),
    )


def _returned(resolution: Resolution) -> str:
    """Say what kind of thing a call returns, such as a coroutine; "" for a class or value.

    It is "" as well where the variants, the ways in which the name may be bound, differ in that.
    """
    kinds = {
        returned_by(variant.nodes[0])
        for variant in resolution.variants
        if variant.nodes
    }
    if len(kinds) == 1:
        return kinds.pop()
    return ""


def _fingerprint(cls: Value) -> str:
    key = ("fingerprint", *map(id, cls.nodes))
    return cls.module_tree.remember_with_file(key, lambda: of_nodes(cls.nodes))


def _wrapped_lines(resolution: Resolution) -> tuple[tuple[str, int, int], ...]:
    """List the file and the lines of each piece of code that a target runs outside its own."""
    ranges = []
    # `wrapped` lists code for each way in which the name may be bound; each piece counts once.
    for code in dict.fromkeys(itertools.chain.from_iterable(resolution.wrapped)):
        lines = lines_of([code.node])
        if lines:
            ranges.append((code.tree.path, *lines))
    return tuple(ranges)


def _wording(resolver: Resolver, target: Target, resolution: Resolution) -> str | None:
    """Hash how a target is written, as `wording_of` finds it without a parser.

    At run time a process compares this hash before it parses anything. So it is None where
    `wording_of` finds nothing, or another definition than the resolver does.
    """

    def read(name: str) -> tuple[bytes, bool] | None:
        """Return the source of a module, and whether it is a package; None for no source."""
        tree = resolver.modules.get(name)
        if tree is None or not tree.path:
            return None
        return tree.source, tree.is_package

    if not target.qualname:
        return None
    wording = wording_of(read, target.module, target.qualname)
    if wording is None or wording.module != resolution.module:
        return None
    # The same definition: both have found statements on the same lines.
    resolved_ranges = [lines_of([node]) for node in resolution.nodes]
    if sorted(wording.lines) != sorted(lines for lines in resolved_ranges if lines):
        return None
    return wording.mark


def _inherited_from(resolver: Resolver, target: Target, resolution: Resolution) -> str:
    """Name the class that a member is inherited from; '' if it is not inherited."""
    # A name of a module, or an item of a container, is not inherited.
    if not _is_member(target):
        return ""
    defining_qualname = resolution.qualname.rpartition(".")[0]
    # No class defines what `method = function` has bound: a function of a module.
    if not defining_qualname:
        return ""
    named_class = resolver.resolve(target.holder)
    if named_class.kind is not Kind.CLASS:  # an object has the member
        return ""
    is_own = (named_class.module, named_class.qualname) == (
        resolution.module,
        defining_qualname,
    )
    if is_own:
        return ""
    return f"{resolution.module}:{defining_qualname}"


def _is_member(target: Target) -> bool:
    """Whether a target is an attribute of a class or object, not an item or a module's name."""
    return len(target.steps) > 1 and not isinstance(target.steps[-1], Item)


def _setter(resolution: Resolution) -> str:
    """Name the method that assigns an attribute of instances; '' for anything else."""
    if resolution.kind is not Kind.INSTANCE_ATTRIBUTE:
        return ""
    names = [node.name for node in resolution.nodes if isinstance(node, DEFS)]
    return "".join(names[:1])


def _accessor(resolver: Resolver, target: Target) -> Facts | None:
    """Look up a function of a property, such as `Class.name.fget`; None for any other target."""
    last = target.qualname.rpartition(".")[2]
    if not _is_member(target) or last not in _ACCESSORS:
        return None
    prop = resolver.resolve(target.holder)
    if prop.kind is not Kind.PROPERTY:
        return None
    for node in prop.nodes:
        if _accessor_kind(node) == _ACCESSORS[last]:
            return Facts(
                "present",
                kind=str(Kind.METHOD),  # as Python calls it with the object
                is_sure=prop.is_sure,
                module=prop.module,
                qualname=f"{prop.qualname}.{last}",
                path=prop.path,
                lines=lines_of([node]),
                fingerprint=of_nodes([node]),
                storage=OF_PROPERTY,
            )
    return None


def _accessor_kind(node: ast.AST) -> str:
    """Return which function of a property a `def` is, "setter" below `@name.setter`.

    It is "getter" without such a decorator, as below `@property`.
    """
    if isinstance(node, DEFS):
        for decorator in node.decorator_list:
            if (
                isinstance(decorator, ast.Attribute)
                and decorator.attr in _ACCESSORS.values()
            ):
                return decorator.attr
    return "getter"
