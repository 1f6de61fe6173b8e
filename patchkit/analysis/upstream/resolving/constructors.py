"""Tells how classes are called, and which methods dataclasses and the like generate."""

import ast
from dataclasses import replace
from inspect import Parameter

from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.classes import (
    body_bindings,
    class_effects,
    mro,
)
from patchkit.analysis.upstream.resolving.constructor_fields import (
    changes_annotations,
    init_signature,
    new_signature,
    widest_init_signature,
)
from patchkit.analysis.upstream.resolving.dataclass_makers import SPREAD
from patchkit.analysis.upstream.resolving.field_calls import (
    DATACLASSES,
    option_value,
)
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.machinery import (
    OF_PYDANTIC_DATACLASS,
    may_be_set,
)
from patchkit.analysis.upstream.resolving.metaclasses import (
    may_change_body,
    metaclass,
)
from patchkit.analysis.upstream.resolving.outside import as_typing
from patchkit.analysis.upstream.resolving.syntax import (
    Signature,
    parameter,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Scope,
    Value,
    undecided,
)

_OF_DATACLASS = frozenset(
    {
        "__dataclass_fields__",
        "__dataclass_params__",
        "__delattr__",
        "__eq__",
        "__ge__",
        "__gt__",
        "__hash__",
        "__init__",
        "__le__",
        "__lt__",
        "__match_args__",
        "__replace__",
        "__repr__",
        "__setattr__",
    }
)
"""What a dataclass may get, which depends on options and versions of Python."""
_WRITTEN = {
    "": frozenset(),
    "attrs": _OF_DATACLASS,
    "basemodel": frozenset(),
    "ctypes": frozenset(),
    "dataclass": _OF_DATACLASS,
    "enum": frozenset(
        {"__format__", "__init__", "__new__", "__reduce_ex__", "__repr__", "__str__"}
    ),
    "namedtuple": frozenset(
        {
            "__init__",
            "__match_args__",
            "__new__",
            "__replace__",
            "__repr__",
            "_asdict",
            "_make",
            "_replace",
        }
    ),
    "pydantic": _OF_DATACLASS,
    "struct": frozenset(),
    "typeddict": frozenset(),
    "unknown": _OF_DATACLASS,
}
"""Attributes that may be generated for a class, by its flavour."""
_STATE_METHODS = frozenset({"__getstate__", "__setstate__"})
"""Methods that a dataclass gets if it is frozen and has slots."""
_PACKAGES = {"attrs": "attr", "pydantic": "pydantic", "unknown": "pydantic"}
"""The package whose decorator makes a class of a flavour."""
_INIT_OF_PYDANTIC = Signature(
    [
        parameter("__dataclass_self__", Parameter.POSITIONAL_OR_KEYWORD),
        parameter("args", Parameter.VAR_POSITIONAL),
        parameter("kwargs", Parameter.VAR_KEYWORD),
    ]
)
"""How the `__init__` of a dataclass of pydantic is called, which validates the arguments."""
_CALLED_BY_INIT = frozenset({"", "attrs", "ctypes", *DATACLASSES})
"""Flavours of classes that pass what they are called with to `__init__`."""


def call_signature(lookup: Lookup, value: Value) -> Signature | None:
    """Return how something is called, a class included.

    Args:
        lookup: The release.
        value: What is called.

    Returns:
        For a class the parameters of its `__init__` without `self`. None if a metaclass,
        `__new__` or the flavour of the class may take other ones, or if they are not known.
    """
    if value.kind is not Kind.CLASS or not value.has_class_statement:
        return value.signature
    if not value.is_sure:
        return None
    if flavour(lookup, value) == "namedtuple" and not _has_own_signature(lookup, value):
        return _named_tuple_call(lookup, value)
    init = _initializer(lookup, value)
    if init is None or init.signature is None or not init.is_sure:
        return None
    if init.signature == _INIT_OF_PYDANTIC and flavour(lookup, value) == "pydantic":
        return _call_of_pydantic(lookup, value)
    return init.signature.bound()


def widest_call(lookup: Lookup, value: Value) -> Signature | None:
    """Return a signature that takes all calls that a dataclass, or a Struct of msgspec, may take.

    A call that it refuses is refused for sure, also where defaults of fields are not known.

    Args:
        lookup: The release.
        value: What is called.

    Returns:
        None if it is neither, or may have other fields.
    """
    if value.kind is not Kind.CLASS or not value.has_class_statement:
        return None
    if not (_is_plain_struct(lookup, value) or _is_plain_dataclass(lookup, value)):
        return None
    widest = widest_init_signature(lookup, value)
    return None if widest is None else widest.bound()


def _is_plain_dataclass(lookup: Lookup, value: Value) -> bool:
    """Whether calls of a class go to an `__init__` that is generated from its fields."""
    init = _initializer(lookup, value)
    return init is not None and init.reason == _reason_of_generated("dataclass")


def _is_plain_struct(lookup: Lookup, value: Value) -> bool:
    """Whether a class is a Struct, and nothing else of the release takes what it is called with."""
    if flavour(lookup, value) != "struct" or _has_own_signature(lookup, value):
        return False
    members = [*lookup.member(value, "__new__"), *lookup.member(value, "__init__")]
    return all(
        member.kind is Kind.OUTSIDE or member.state == "absent" for member in members
    )


def _initializer(lookup: Lookup, value: Value) -> Value | None:
    """Return the `__init__` that takes what a class is called with.

    None if a metaclass, `__new__` or the flavour of the class may take other arguments.
    """
    if metaclass(lookup, value) is not None:
        return None
    if flavour(lookup, value) not in _CALLED_BY_INIT:
        return None
    if _has_own_signature(lookup, value):
        return None
    makers = lookup.member(value, "__new__")
    initializers = lookup.member(value, "__init__")
    if not all(map(_leaves_arguments_to_init, makers)):
        return None
    if len(initializers) != 1:
        return None  # which of them it has depends on conditions
    return initializers[0]


def _call_of_pydantic(lookup: Lookup, value: Value) -> Signature | None:
    """Return how a dataclass of pydantic is called.

    None for a class that derives from one, or that may ignore arguments which are no fields, as
    pydantic does by default.
    """
    is_own = class_effects(lookup, value).flavour == "pydantic"
    if not is_own or not _may_forbid_others(lookup, value):
        return None
    signature = init_signature(lookup, value)
    return None if signature is None else signature.bound()


def _may_forbid_others(lookup: Lookup, value: Value) -> bool:
    """Whether the module of a class or of its decorator has pydantic's word `forbid`.

    If one of them has `alias_generator`, its fields may have other names.
    """
    trees = [value.module_tree]
    scope = Scope(value.module_tree, value.classes[:-1])
    for decorator in value.class_statement.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        trees += [one.tree for one in lookup.evaluate(function, scope) if one.tree]
    sources = [tree.source for tree in trees]
    if any(b"alias_generator" in source for source in sources):
        return False
    return any(b"forbid" in source for source in sources)


def _named_tuple_call(lookup: Lookup, value: Value) -> Signature | None:
    """Return how a named tuple is called; None for a class that derives from one.

    A class below a named tuple may have an `__init__` or `__new__` of its own.
    """
    makers = lookup.member(value, "__new__")
    if len(makers) != 1 or not fields.is_direct(lookup, value):
        return None
    maker = makers[0]
    if maker.signature is None or not maker.is_sure:
        return None
    return maker.signature.bound()


def _has_own_signature(lookup: Lookup, value: Value) -> bool:
    """Whether the release sets a `__signature__` on a class, which is shown for it."""
    ancestors = mro(lookup, value)
    # Most modules never mention it, and their classes are spared the search.
    if not any(
        ancestor.tree is not None and b"__signature__" in ancestor.tree.source
        for ancestor in ancestors
    ):
        return False
    known = (Kind.GENERATED, Kind.OUTSIDE)
    for member in lookup.member(value, "__signature__"):
        is_bound = member.state == "present" and member.kind not in known
        if is_bound or member.reason.endswith("sets __signature__"):
            return True
    return False


def _leaves_arguments_to_init(new: Value) -> bool:
    """Whether a `__new__` accepts any arguments, so that `__init__` alone may refuse them."""
    if new.kind is Kind.OUTSIDE:
        # As the `__new__` of `object` does. A base that is not known may have another, and a
        # metaclass that takes other arguments.
        return new.is_sure
    signature = new.signature or Signature()
    kinds = [argument.kind for argument in signature.bound().parameters.values()]
    # `(cls, *args, **kwargs)`
    return new.is_sure and kinds == [Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD]


def generated_method(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return a method that is generated for a class, such as the `__init__` of a dataclass.

    Args:
        lookup: The release.
        owner: The class, whose body does not bind the name.
        name: The name of the method.

    Returns:
        The method, undecided if it depends on options; None if none of this name is generated.
    """
    kind = flavour(lookup, owner)
    effects = class_effects(lookup, owner)
    is_known = effects.flavour in DATACLASSES and effects.flavour != "unknown"
    # `@dataclass(init=…)` may generate none.
    writes_init = option_value(effects.options.get("init", ast.Constant(value=True)))
    has_known_options = SPREAD not in effects.options and writes_init is True
    if name == "__init__" and is_known and _is_protocol(lookup, owner):
        return undecided("a Protocol has an __init__ that the dataclass leaves alone")
    if name == "__init__" and is_known and has_known_options:
        method = _generated(owner, name, init_signature(lookup, owner), kind)
        if kind == "pydantic" and method.signature is not None:
            return replace(method, signature=_INIT_OF_PYDANTIC)
        return method
    if name == "__new__" and kind == "namedtuple" and fields.is_direct(lookup, owner):
        return _generated(owner, name, new_signature(lookup, owner), kind)
    set_besides = _set_besides(lookup, owner, name)
    if set_besides is not None:
        return set_besides
    if kind in fields.ALWAYS_IN_SLOTS and changes_annotations(owner):
        return undecided(f"the fields of {owner.qualname} may have {name}")
    if name in _WRITTEN[kind]:
        return undecided(f"the {kind} may write {name}")
    if name == "__hash__":
        return _hash_of_compared(lookup, owner)
    return None


def _is_protocol(lookup: Lookup, owner: Value) -> bool:
    """Whether a class derives from `Protocol` itself, which sets an `__init__` on it."""
    scope = Scope(owner.module_tree, owner.classes[:-1])
    for base in owner.class_statement.bases:
        plain = base.value if isinstance(base, ast.Subscript) else base
        for value in lookup.evaluate(plain, scope):
            if as_typing(value.dotted) == "typing.Protocol":
                return True
    return False


def _generated(
    owner: Value, name: str, signature: Signature | None, kind: str
) -> Value:
    """Return a generated method of a class, unsure if its signature is not known.

    Args:
        owner: The class.
        name: The name of the method.
        signature: Its signature, as far as the fields of the class tell.
        kind: The flavour of the class.
    """
    method_name = f"{owner.class_statement.name}.{name}.__"
    if method_name.encode() in owner.module_tree.source:
        signature = None  # code sets its defaults, or what its signature is read from
    reason = _reason_of_generated(kind)
    method = owner.own_attribute(name, Kind.GENERATED, *owner.nodes, reason=reason)
    return replace(method, signature=signature, is_sure=signature is not None)


def _reason_of_generated(kind: str) -> str:
    """Say of a method where it comes from."""
    return f"written by the {kind}"


def _hash_of_compared(lookup: Lookup, owner: Value) -> Value | None:
    """Return the None that Python sets as `__hash__` of a class that defines `__eq__` alone."""
    if flavour(lookup, owner) == "namedtuple" and fields.is_direct(lookup, owner):
        return None  # its methods are set on it once it is made
    if may_change_body(lookup, owner, "__eq__"):
        return undecided("its metaclass may make the class without its __eq__")
    scope = Scope(owner.module_tree, owner.classes)
    is_bound = {
        case.binding is not None for case in body_bindings(lookup, scope, "__eq__")
    }
    if is_bound == {False}:
        return None
    if is_bound == {True, False}:
        return undecided("Python sets it to None if the class has an __eq__")
    return owner.own_attribute(
        "__hash__",
        Kind.CONSTANT,
        expression=ast.Constant(None),
        is_none=True,
        reason="None, as the class has an __eq__",
    )


def _set_besides(lookup: Lookup, owner: Value, name: str) -> Value | None:
    """Return what a class decorator puts on its class beside methods; None for another name.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
    """
    effects = class_effects(lookup, owner)
    if effects.flavour == "pydantic" and name in OF_PYDANTIC_DATACLASS:
        reason = "set by pydantic"
        return owner.own_attribute(name, Kind.GENERATED, *owner.nodes, reason=reason)
    package = _PACKAGES.get(effects.flavour, "")
    # A dataclass that is frozen, too, gets methods for the state in its slots.
    has_slots = "slots" in effects.options or SPREAD in effects.options
    if may_be_set(package, name) or (has_slots and name in _STATE_METHODS):
        return undecided(f"the decorator of {owner.qualname} may set {name}")
    return None
