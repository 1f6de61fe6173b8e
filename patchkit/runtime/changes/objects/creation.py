"""Does what Python does with a member when it creates the class, where `setattr` does less.

`abc` lists the abstract methods, `__eq__` takes `__hash__` away, and an `__init__` that dataclasses
generate calls `__post_init__` only if there is one by then.
"""

import dis
import inspect
from collections.abc import Collection, Iterator
from types import CodeType, FunctionType
from typing import Any

from patchkit.errors import TargetError
from patchkit.runtime.changes.calling import may_call
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.foreign import described
from patchkit.runtime.changes.owners import (
    CACHED,
    Location,
    heirs,
    inside,
    namespace,
    peek,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

_ABSTRACT = "__abstractmethods__"
"""In the dict of every class that `ABCMeta` made: the names of its abstract methods."""

_BESIDE_CALLS = ("PUSH_NULL", "PRECALL", "EXTENDED_ARG")
"""Instructions that may stand between a function and its first argument."""

_CLASS_METHODS = ("__init_subclass__", "__class_getitem__")


def as_in_body(name: str, function: FunctionType) -> Any:
    """Return what a class stores of a plain function that stands in its body.

    Args:
        name: The function's name there.
        function: The function.

    Returns:
        A class or static method for the names of which Python makes one unasked.
    """
    if name in _CLASS_METHODS:
        return classmethod(function)
    if name == "__new__":
        return staticmethod(function)
    return function


class PreparedMember(PreparedLayers, frozen=False):
    """A member to put in a class, with what follows from it.

    Args:
        parts: The layer with the member, then those that follow from it.
        abstract: What keeps the lists of abstract methods.
    """

    abstract: "AbstractNames"

    @property
    def sites(self) -> tuple[Site, ...]:
        """The site of the member: of what follows from it, no copies are looked for."""
        site, _ = self.parts[0]
        return (site,)

    def apply(self) -> None:
        """Put the member in, then what follows from it."""
        super().apply()
        self.abstract.follow()

    def undo(self) -> None:
        """Take the member out, then what followed from it."""
        try:
            super().undo()
        finally:
            self.abstract.follow()


def prepared_member(location: Location, new: Any, context: Context) -> PreparedLayers:
    """Prepare to put a member in a class, as if the class had been written with it.

    Args:
        location: Where it goes.
        new: The member, as it is stored.
        context: Where the change works.

    Returns:
        The layers that only have to be put on.
    """
    sites = context.sites
    site = sites.at(location)
    layer = context.layer(lambda _: new, base=True)
    cls = location.owner
    name = str(location.name)
    parts = [(site, layer)]
    if name == "__eq__" and not site.own and "__hash__" not in vars(cls):
        below_all = Layer(lambda _: None, base=True, patch=layer.patch)
        inherited = Location(cls, "__hash__", peek(cls, "__hash__"), own=False)
        parts.append((sites.at(inherited), below_all))
    return PreparedMember(parts, AbstractNames(cls, name, sites))


def _is_abstract(member: Any) -> bool:
    return bool(getattr(member, "__isabstractmethod__", False))


class AbstractNames:
    """Keeps a name in the lists of abstract methods, or out of them, as its member is.

    Args:
        cls: The class that has the member.
        name: The name.
        sites: All changed attributes of this process.
    """

    def __init__(self, cls: type, name: str, sites: Sites) -> None:
        self._cls = cls
        self._name = name
        self._originals = sites.noted(_Originals)
        # Somebody has set these by hand, as tests do to make an object of an abstract class.
        self._left: Collection[type] = list(self._wrong())

    def follow(self) -> None:
        """Add the name to the lists, or take it off, where the member is another now."""
        for cls in self._wrong():
            if cls in self._left:
                continue
            names: frozenset[str] = vars(cls)[_ABSTRACT]
            original = self._originals.setdefault(cls, names)
            changed = names ^ {self._name}
            if changed == original:
                changed = self._originals.pop(cls)
            type.__setattr__(cls, _ABSTRACT, changed)

    def _wrong(self) -> list[type]:
        """Return the classes, also those made since, whose list does not fit the member."""
        classes = heirs(self._cls, _ABSTRACT)
        if _ABSTRACT in vars(self._cls):
            classes.append(self._cls)
        return [
            cls
            for cls in classes
            if (self._name in vars(cls)[_ABSTRACT])
            != _is_abstract(peek(cls, self._name))
        ]


class _Originals(dict[type, frozenset[str]]):
    """The lists of abstract methods that were changed, as they were."""


def refuse_super(cls: type, member: Any, label: str) -> None:
    """Refuse a function whose `super()` does not find the class that it is put in.

    Args:
        cls: The class.
        member: What is put in it.
        label: The change as its row declares it, which begins the error.

    Raises:
        TargetError: Each call of the `super()` would fail.
    """
    for part in inside(member) or (member,):
        if not isinstance(part, FunctionType) or "super" not in part.__code__.co_names:
            continue
        cells = zip(part.__code__.co_freevars, part.__closure__ or (), strict=True)
        cell = dict(cells).get("__class__")
        fault = ""
        if cell is not None and cell.cell_contents not in cls.__mro__:
            fault = f"which means that of {cell.cell_contents.__qualname__}"
        elif cell is None and "" in _classes_named(part.__code__):
            fault = "which stands in no class"
        if fault:
            raise TargetError(
                f"{label}: found super() in {described(part)}, {fault}; expected the class "
                f"by name: super({cls.__name__}, self)"
            )


def refuse_recursion(location: Location, new: Any, label: str) -> None:
    """Refuse a class in place of its base if methods of that say `super(Name, self)`.

    Args:
        location: The name in a module that holds the base.
        new: The class that it is to hold.
        label: The change as its row declares it, which begins the error.

    Raises:
        TargetError: Such a method, which may be called, would go on to itself.
    """
    old = location.value
    name = location.name
    module = namespace(location.owner)
    for method, member in vars(old).items():
        for function in _functions(member):
            if function.__globals__ is not module:
                continue
            if name not in _classes_named(function.__code__):
                continue
            if may_call(peek(new, method), member, new):
                raise TargetError(
                    f"{label}: found super({name}, …) in {function.__qualname__}, where {name} "
                    f"would be the class that replaces it, so that the method calls itself; Wrap or"
                    f" Edit methods of {name} (unrelated=True if this one is never called)"
                )


def _functions(member: Any) -> Iterator[FunctionType]:
    """Yield the functions that a member is made of, below their decorators."""
    for part in inside(member) or (member,):
        if isinstance(part, (FunctionType, CACHED)):
            function = inspect.unwrap(part)
            if isinstance(function, FunctionType):
                yield function


def _classes_named(code: CodeType) -> set[str]:
    """Return the global names of classes that are given to `super`; "" where none is given."""
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _classes_named(constant)
    if "super" not in code.co_names:
        return names
    after_super = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in _BESIDE_CALLS:
            continue
        if after_super and instruction.opname == "LOAD_GLOBAL":
            names.add(instruction.argval)
        elif after_super and instruction.opname.startswith("CALL"):
            names.add("")
        after_super = (
            instruction.opname == "LOAD_GLOBAL" and instruction.argval == "super"
        )
    return names
