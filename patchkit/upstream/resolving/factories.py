"""What a call at import time makes: an instance, a descriptor, a class from a factory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.ancestry import metaclass, mro
from patchkit.upstream.resolving.decorators import DESCRIPTORS
from patchkit.upstream.resolving.outside import is_class
from patchkit.upstream.resolving.values import Kind, Value

if TYPE_CHECKING:
    import ast

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.scope import Scope
    from patchkit.upstream.resolving.values import Values

_CLASSES = {f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")} | {
    *("collections.namedtuple", "typing.NamedTuple", "typing.TypedDict"),
    *("dataclasses.make_dataclass", "pydantic.create_model"),
}
_NOT_PLAIN = frozenset({"types.ModuleType", "builtins.type", "abc.ABCMeta", "builtins.property"})
_PLAIN = frozenset(
    {
        *("functools.partial", "re.compile", "regex.compile", "logging.getLogger"),
        *("os.getenv", "os.environ.get", "fastapi.APIRouter"),
        *("typing.TypeVar", "typing.NewType", "typing.ParamSpec"),
    }
)


def of_call(lookup: Lookup, node: ast.Call, scope: Scope) -> Values:
    """Tell what a call makes."""
    return tuple(
        _made(lookup, value, node, scope).under(value.conditions)
        for value in lookup.evaluate(node.func, scope)
    )


def _made(lookup: Lookup, maker: Value, call: ast.Call, scope: Scope) -> Value:
    made = Value("present", Kind.ASSIGNMENT, expression=call, sure=False)
    name = maker.dotted.replace("typing_extensions.", "typing.")
    if name in DESCRIPTORS and (call.args or call.keywords):
        return _descriptor(lookup, made, DESCRIPTORS[name], call, scope)
    if name in _CLASSES or (name == "builtins.type" and len(call.args) == 3):
        return replace(made, kind=Kind.CLASS, dotted=name, sure=True)
    if _makes_instances(lookup, maker, name):
        return replace(made, kind=Kind.CONSTANT, instance_of=maker, sure=True)
    return made


def _descriptor(lookup: Lookup, made: Value, kind: Kind, call: ast.Call, scope: Scope) -> Value:
    if kind is Kind.CACHED_FUNCTION:
        return made  # of `lru_cache(8)` it is a decorator
    inner = lookup.evaluate(call.args[0], scope) if call.args else ()
    called = inner[0].signature if len(inner) == 1 else None
    return replace(made, kind=kind, signature=called, sure=True)


def _makes_instances(lookup: Lookup, maker: Value, name: str) -> bool:
    """Whether calling something surely makes an instance of it."""
    if maker.kind is Kind.OUTSIDE:
        return name in _PLAIN or (is_class(name) and name != "builtins.type")
    if not maker.classes or not maker.sure or metaclass(lookup, maker) is not None:
        return False
    bases = [one for one in mro(lookup, maker) if not one.classes]
    makers = lookup.member(maker, "__new__")
    return all(one.kind is Kind.OUTSIDE for one in (*bases, *makers)) and not any(
        one.dotted in _NOT_PLAIN for one in bases
    )
