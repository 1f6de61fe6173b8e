"""Does what Python does with a member when it creates a class, and what `setattr` does not do.

`abc` lists the abstract methods of a class, a class with `__eq__` but no `__hash__` gets
`__hash__ = None`, and `__new__` becomes a static method.
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
    inside,
    namespace,
    peek,
    subclasses_with,
)
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites

_ABSTRACT = "__abstractmethods__"
"""In the dict of every class that `ABCMeta` made: the names of its abstract methods."""

_BESIDE_CALLS = ("PUSH_NULL", "PRECALL", "EXTENDED_ARG")
"""Instructions that may come between those that load a function and its first argument."""

_CLASS_METHODS = ("__init_subclass__", "__class_getitem__")
"""Names of functions that Python makes class methods."""


def as_in_body(name: str, function: FunctionType) -> Any:
    """Return what Python stores for a plain function in the body of a class.

    Args:
        name: The function's name in the class.
        function: The function.

    Returns:
        A class method for `__init_subclass__` and `__class_getitem__`, a static method for
        `__new__`; else the function.
    """
    if name in _CLASS_METHODS:
        return classmethod(function)
    if name == "__new__":
        return staticmethod(function)
    return function


class PreparedMember(PreparedLayers, frozen=False):
    """A member to store in a class, with the changes that Python would have made for it.

    Args:
        parts: The layer with the member, then one for `__hash__` if the member is `__eq__`.
        abstract: Updates the lists of abstract methods.
    """

    abstract: "AbstractNames"

    @property
    def sites(self) -> tuple[Site, ...]:
        """The site of the member; nobody has copies of a `__hash__`."""
        site, _ = self.parts[0]
        return (site,)

    def apply(self) -> None:
        """Store the member, and update the lists of abstract methods."""
        super().apply()
        self.abstract.update()

    def undo(self) -> None:
        """Restore the original member, and the lists of abstract methods."""
        try:
            super().undo()
        finally:
            self.abstract.update()


def prepared_member(location: Location, new: Any, context: Context) -> PreparedLayers:
    """Prepare to store a member in a class, as if the class had been created with it.

    Args:
        location: The attribute of the class.
        new: The member.
        context: What the change is prepared with.

    Returns:
        The layers, to be applied.
    """
    sites = context.sites
    site = sites.at(location)
    layer = context.layer(lambda _: new, base=True)
    cls = location.owner
    name = str(location.name)
    parts = [(site, layer)]
    # Python gives a class with an `__eq__` but no `__hash__` a `__hash__` of None.
    if name == "__eq__" and not site.own and "__hash__" not in vars(cls):
        # Of the lowest rank: a row may give the class a `__hash__` of its own.
        below_all = Layer(lambda _: None, base=True, patch=layer.patch)
        inherited = Location(cls, "__hash__", peek(cls, "__hash__"), own=False)
        parts.append((sites.at(inherited), below_all))
    return PreparedMember(parts, AbstractNames(cls, name, sites))


def _is_abstract(member: Any) -> bool:
    """Whether a member was made by `@abstractmethod`."""
    return bool(getattr(member, "__isabstractmethod__", False))


class AbstractNames:
    """Updates the `__abstractmethods__` of a class and its subclasses when a member changes.

    Args:
        cls: The class.
        name: The name of the member.
        sites: All changed attributes of this process.
    """

    def __init__(self, cls: type, name: str, sites: Sites) -> None:
        self._cls = cls
        self._name = name
        self._originals = sites.noted(_Originals)
        # What is wrong already before the change, other code has set by hand: tests do so to make
        # an object of an abstract class.
        self._set_by_hand: Collection[type] = list(self._outdated())

    def update(self) -> None:
        """Add the name to each list, or remove it, depending on the member that the class has."""
        for cls in self._outdated():
            if cls in self._set_by_hand:
                continue
            names: frozenset[str] = vars(cls)[_ABSTRACT]
            original = self._originals.setdefault(cls, names)
            # The symmetric difference removes the name if it is there, and else adds it.
            changed = names ^ {self._name}
            # Undo restores the very same object.
            if changed == original:
                changed = self._originals.pop(cls)
            type.__setattr__(cls, _ABSTRACT, changed)

    def _outdated(self) -> list[type]:
        """Return the classes whose list has the name though the member is concrete, or vice versa.

        Subclasses that were created since are among them.
        """
        classes = subclasses_with(self._cls, _ABSTRACT)
        if _ABSTRACT in vars(self._cls):
            classes.append(self._cls)
        return [
            cls
            for cls in classes
            if (self._name in vars(cls)[_ABSTRACT])
            != _is_abstract(peek(cls, self._name))
        ]


class _Originals(dict[type, frozenset[str]]):
    """The original `__abstractmethods__` of classes for which it was changed."""


def refuse_super(cls: type, member: Any, label: str) -> None:
    """Refuse a function with a `super()` that does not work in the class that it is stored in.

    Python binds `super()` without arguments to the class in whose body the function was written.

    Args:
        cls: The class.
        member: The function, or a descriptor around it.
        label: The start of the message: the change, as its row declares it.

    Raises:
        TargetError: The function was written in another class, or in none.
    """
    for part in inside(member) or (member,):
        if not isinstance(part, FunctionType) or "super" not in part.__code__.co_names:
            continue
        cells = zip(part.__code__.co_freevars, part.__closure__ or (), strict=True)
        # A function that was written in a class and has a `super()` has the class in its closure.
        cell = dict(cells).get("__class__")
        fault = ""
        if cell is not None and cell.cell_contents not in cls.__mro__:
            fault = f"which means that of {cell.cell_contents.__qualname__}"
        # "" stands for a `super()` without arguments.
        elif cell is None and "" in _classes_named(part.__code__):
            fault = "which stands in no class"
        if fault:
            raise TargetError(
                f"{label}: found super() in {described(part)}, {fault}; expected the class "
                f"by name: super({cls.__name__}, self)"
            )


def refuse_recursion(location: Location, new: Any, label: str) -> None:
    """Refuse a subclass in place of its base if a method of the base has `super(Name, self)`.

    `Name` would be the subclass then, and its `super` the base: the method would call itself.

    Args:
        location: The name in a module, with the base as its value.
        new: The subclass that replaces it.
        label: The start of the message: the change, as its row declares it.

    Raises:
        TargetError: The base has such a method, and the subclass may call it.
    """
    old = location.value
    name = location.name
    module = namespace(location.owner)
    for method, member in vars(old).items():
        for function in _functions(member):
            if function.__globals__ is not module:
                continue  # in another module, the name stands for something else
            if name not in _classes_named(function.__code__):
                continue
            if may_call(peek(new, method), member, new):
                raise TargetError(
                    f"{label}: found super({name}, …) in {function.__qualname__}, where {name} "
                    f"would be the class that replaces it, so that the method calls itself; Wrap or"
                    f" Edit methods of {name} (unrelated=True if this one is never called)"
                )


def _functions(member: Any) -> Iterator[FunctionType]:
    """Yield the functions inside a member of a class, without their decorators."""
    for part in inside(member) or (member,):
        if isinstance(part, (FunctionType, CACHED)):
            function = inspect.unwrap(part)
            if isinstance(function, FunctionType):
                yield function


def _classes_named(code: CodeType) -> set[str]:
    """Return the global names that code passes to `super` as its first argument.

    Args:
        code: The code; functions inside it count as well.

    Returns:
        The names, as `Name` for `super(Name, self)`; and "" if there is a `super()`.
    """
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _classes_named(constant)
    if "super" not in code.co_names:
        return names
    # `super(Name, self)` loads the global `super`, then the global `Name`; `super()` loads `super`,
    # and calls it at once. A `super()` in a class loads the closure's `__class__` in between.
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
