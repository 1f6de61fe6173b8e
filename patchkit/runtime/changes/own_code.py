"""Finds the functions of a pack in what a patch has put on a site, as evidence that it was called.

A call of one of them shows that the patch is in effect.
"""

import sys
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

from patchkit.core.record import Record, field
from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    WRAPPERS,
    inside,
    is_decorated,
    namespace,
)
from patchkit.runtime.changes.site import Site

_WRAP = "patchkit.runtime.changes.objects.wrap"
"""The module that makes the functions of Wrap; each has a code object of its own."""

_WITH_FUNCTIONS = frozenset(WRAPPERS)
"""Types of objects that `inside` looks into."""

_MAKERS = ("__init__", "__new__")
"""Methods that run when an object of a class is made."""

_Holders = dict[int, list[int]]
"""For the `id` of each code, the `id` of each function that runs it."""

_DEEPEST = 20
"""The most decorators around one function that are followed."""


def values_at(site: Site, patch: str) -> tuple[list[Any], list[Any]]:
    """Return the values that a patch has put on a site, and the others that lie there.

    Args:
        site: The attribute.
        patch: The name of the patch.

    Returns:
        The values that the layers of the patch have made; the original, and those of other layers.
    """
    values_of_patch: list[Any] = []
    others = [site.original]
    for layer in site.layers:
        values = values_of_patch if layer.patch == patch else others
        values.append(layer.value)
    return values_of_patch, others


def is_unseen(value: Any, pack: str) -> bool:
    """Whether a value can be called without running a function of the pack.

    Then the patch may be in effect though no call of it is counted.

    That is so for a function with cached results, and for a class without an `__init__` or
    `__new__` of the pack.

    Args:
        value: The value of a layer.
        pack: The name of the pack's package.
    """
    if not isinstance(value, type):
        return any(map(_is_cached_or_compiled, _parts(value)))
    if issubclass(value, Enum):  # its members exist already
        return True
    for base in _of_pack(value, pack):
        for name in _MAKERS:
            maker = vars(base).get(name)
            if any(functions_in(maker, pack)):
                return False
    return True


def _is_cached_or_compiled(value: Any) -> bool:
    """Whether a function, or one inside it, may return cached results or run compiled code.

    Unknown decorators with a `__wrapped__` count: a compiler such as `torch.compile` runs machine
    code in place of the function.
    """
    for _ in range(_DEEPEST):
        if type(value) is CACHED:
            if value.cache_info().currsize:  # results that it returns without a call
                return True
        elif not isinstance(value, FunctionType):
            # A callable object: one of wrapt runs the function inside; others may be compiled.
            is_of_wrapt = "_self_wrapper" in dir(type(value))
            return not is_of_wrapt and "__wrapped__" in namespace(value)
        value = namespace(value).get("__wrapped__", MISSING)
    return False


def functions_in(value: Any, pack: str) -> Iterator[FunctionType]:
    """Yield the functions of a pack in a value: the methods of a class, a decorated function.

    Args:
        value: The value of a layer.
        pack: The name of the pack's package.
    """
    if isinstance(value, type):
        for base in _of_pack(value, pack):
            for member in list(vars(base).values()):
                if not isinstance(member, type):
                    yield from functions_in(member, pack)
        return
    for part in _parts(value):
        function = _own(part, pack)
        if function is not None:
            yield function


def functions_named(name: str, body: str, pack: str) -> Iterator[FunctionType]:
    """Yield the functions of a pack in the object that a body has under a name.

    A target may have a copy of such a function: Replace sets a method under the method's name.

    Args:
        name: The name, as `function` or `Class.method`; "" for none.
        body: The name of the body's module.
        pack: The name of the pack's package.
    """
    value: Any = sys.modules.get(body)
    for part in name.split("."):
        value = namespace(value).get(part, MISSING)
    yield from functions_in(value, pack)


def functions_beneath(
    function: FunctionType, pack: str, others: Collection[int] = ()
) -> list[FunctionType]:
    """Return the functions of a pack that a function's decorators are around, the outermost first.

    What a Wrap or Decorate lies on is none of them: other patches may have put it there.

    Args:
        function: The decorated function.
        pack: The name of the pack's package.
        others: The `id` of each function that other patches have set, or upstream has.
    """
    found: list[FunctionType] = []
    inner = function
    while len(found) < _DEEPEST and not _is_of_wrap(inner):
        wrapped = getattr(inner, "__wrapped__", None)
        beneath = _own(wrapped, pack)
        if beneath is None or _is_of_wrap(beneath) or id(beneath) in others:
            break
        found.append(beneath)
        inner = beneath
    return found


def _is_of_wrap(function: FunctionType) -> bool:
    """Whether a Wrap has made a function."""
    return function.__globals__.get("__name__") == _WRAP


def _holders_of_code(module: ModuleType, pack: str) -> _Holders:
    """Find the functions that are attributes of a module of a pack, or of its classes.

    Code beneath a decorator is of the decorated function.
    """
    holders: _Holders = {}
    for function in _attributes_of(module, pack):
        beneath = functions_beneath(function, pack)
        for part in (function, *beneath):
            identity = id(part.__code__)
            holders.setdefault(identity, []).append(id(function))
    return holders


def _attributes_of(module: ModuleType, pack: str) -> Iterator[FunctionType]:
    """Yield the functions of a pack that a module, or a class that it defines, has as attributes.

    Unlike `functions_in`, this asks nothing but its type of a value, as there may be any object.
    """
    attributes = namespace(module)
    for value in list(attributes.values()):
        members = [value]
        if issubclass(type(value), type):
            home = vars(value).get("__module__")
            if home == attributes.get("__name__"):
                members = list(vars(value).values())
        for member in members:
            parts: tuple[Any, ...] = (member,)
            if type(member) in _WITH_FUNCTIONS:
                parts = inside(member)
            for part in parts:
                function = _first_own(part, pack)
                if function is not None:
                    yield function


def _first_own(value: Any, pack: str) -> FunctionType | None:
    """Do what `_own` does, quickly, for a value that may be any object.

    Nothing is asked of an object without a function. A function without decorators counts, whatever
    module it is from.
    """
    if type(value) is FunctionType:
        if not hasattr(value, "__wrapped__"):
            return value
        return _own(value, pack)
    if "__wrapped__" in namespace(value):
        return _own(value, pack)
    return None


def _of_pack(cls: type, pack: str) -> list[type]:
    """Return those of a class and its bases that the pack defines."""
    return [base for base in cls.__mro__ if _within(base.__module__, pack)]


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the functions in a property, static method or the like; else the value itself."""
    if is_decorated(value):
        return _parts(value.wrapped)
    return inside(value) or (value,)


def _own(value: Any, pack: str) -> FunctionType | None:
    """Follow decorators inwards to a function of the pack, or one that Wrap made for it.

    A decorator's own function is skipped: others use the same decorator.

    Returns:
        The function; None if there is none.
    """
    for _ in range(_DEEPEST):
        if isinstance(value, FunctionType):
            home = value.__globals__.get("__name__")
            if _is_of_wrap(value) or _within(home, pack):
                return value
        elif "_self_wrapper" in dir(type(value)):
            value = value._self_wrapper  # noqa: SLF001 - the body's function in wrapt's FunctionWrapper
            continue
        value = namespace(value).get("__wrapped__", MISSING)
        if value is MISSING:
            return None
    return None


def _within(module: object, pack: str) -> bool:
    """Whether the name of a module is the pack's, or that of a module in it."""
    return isinstance(module, str) and f"{module}.".startswith(f"{pack}.")


class CallEvidence(Record, frozen=False, eq=False):
    """The code whose run shows that one target of a patch was called.

    Args:
        codes: The code of the patch that runs when the target is called now.
        beneath: The code of the patch that decorators of this code may call; it counts where other
            functions have the decorators' code, too.
        functions: The `id` of each function whose code is in `codes`, and of the body's function
            that it may be a copy of.
        package: The package that other functions with this code may be in.
        homes: The modules of this code; a compiled artefact of torch may contain code of theirs.
        is_edited: Whether some of the code is upstream's, as an Edit has changed it.
        is_called: Whether the change was called already when it was applied, as an AfterImport is.
        is_unseen: Whether a call may run none of this code.
    """

    codes: list[CodeType] = field(default_factory=list)
    beneath: list[CodeType] = field(default_factory=list)
    functions: set[int] = field(default_factory=set)
    package: str = ""
    homes: set[str] = field(default_factory=set)
    is_edited: bool = False
    is_called: bool = False
    is_unseen: bool = False

    @property
    def observed(self) -> list[CodeType]:
        """All code of which is observed whether it runs."""
        return [*self.codes, *self.beneath]

    def add(self, value: Any, others: Iterable[Any]) -> None:
        """Add the functions of the package that a value consists of.

        Args:
            value: The object that a patch has set, such as a function, property or class.
            others: The objects that the value may lie on.
        """
        pack = self.package
        lower_ids: set[int] | None = None  # of functions in `others`, found if needed
        for function in functions_in(value, pack):
            self.add_function(function)
            home = function.__globals__.get("__name__")
            self.homes.add(str(home))
            if _is_of_wrap(function) or not hasattr(function, "__wrapped__"):
                continue  # nothing lies beneath it, or only what others have put there
            if lower_ids is None:
                lower_ids = {
                    id(part) for other in others for part in functions_in(other, pack)
                }
            for inner in functions_beneath(function, pack, lower_ids):
                self.beneath.append(inner.__code__)
        if is_unseen(value, pack):
            self.is_unseen = True

    def add_function(self, function: FunctionType) -> None:
        """Add a function that runs when the target is called.

        Args:
            function: The function.
        """
        self.codes.append(function.__code__)
        self.functions.add(id(function))


class SharedCode:
    """Tells which code other targets have, too, or functions of a pack that no patch has set.

    All functions that one decorator has made share the code of the function inside that decorator:
    a run of it does not show which of them was called.
    """

    def __init__(self) -> None:
        # By `id`, which no other code gets while the code is kept here.
        self._shared: dict[int, CodeType] = {}
        # What was found in a module, by its name, with the number of attributes that it had then.
        self._searched: dict[str, tuple[int, _Holders]] = {}
        self._at_targets: set[int] = set()
        self._packs: dict[str, list[_Holders]] = {}

    def renew(self, codes: Iterable[tuple[str, CodeType]]) -> None:
        """Note which code is at several targets; forget which modules of packs are loaded.

        More of these may be loaded by now, so that `is_shared` has to search once more.

        Args:
            codes: Pairs of a target and a code that runs for it.
        """
        self._packs.clear()
        self._at_targets.clear()
        first_targets: dict[int, str] = {}
        for target, code in codes:
            identity = id(code)
            first_target = first_targets.setdefault(identity, target)
            if target != first_target:
                self._at_targets.add(identity)

    def is_shared(self, code: CodeType, functions: set[int], pack: str) -> bool:
        """Whether another target, or another function of a pack, has some code.

        Args:
            code: The code.
            functions: The `id` of each function that a patch has set at the target, and runs it.
            pack: The name of the pack's package.
        """
        identity = id(code)
        if identity in self._shared or identity in self._at_targets:
            return True
        if pack not in self._packs:
            self._packs[pack] = self._search(pack)
        for holders in self._packs[pack]:
            function_ids = holders.get(identity, ())
            if not functions.issuperset(function_ids):
                self._shared[identity] = code
                return True
        return False

    def _search(self, pack: str) -> list[_Holders]:
        """Return the functions in each loaded module of a pack."""
        found: list[_Holders] = []
        for name, module in list(sys.modules.items()):
            # (Most modules are none of the pack: the first question is the quickest.)
            if not name.startswith(pack) or not _within(name, pack):
                continue
            size = len(namespace(module))
            former_size, holders = self._searched.get(name, (0, {}))
            if size != former_size:
                holders = _holders_of_code(module, pack)
                self._searched[name] = (size, holders)
            found.append(holders)
        return found
