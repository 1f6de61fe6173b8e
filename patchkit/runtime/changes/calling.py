"""Tells from code whether an object can call another one that it holds.

Code is read, not run. What code loads counts as called, as nobody can see what becomes of it. What
an object only keeps is not called: `__wrapped__`, an attribute or a default that no code names.
"""

import dis
import functools
import gc
import re
import sys
from collections.abc import Iterable, Mapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.runtime.changes.owners import CACHED, inside, namespace

_MOST = 2000
"""The most objects that are looked at on the way down; a wrapper needs a handful."""

_VARIABLES = re.compile("LOAD_(FAST(?!_AND)|DEREF|CLOSURE|CLASSDEREF|FROM|CONST)")
"""Instructions that load variables, or text that may name them in `locals()`.

`LOAD_FAST_AND_CLEAR` only puts one aside.
"""

_NAMES = re.compile("IMPORT|LOAD_(GLOBAL|NAME|FROM|ATTR|METHOD|SUPER)")
"""Instructions that look up a module, or a name in a module or an object."""

_CONTAINERS = (tuple, list, dict, set, frozenset, CellType)
"""Types of objects of which any item may be used."""

_PLAIN = (type(None), bool, int, float, bytes)
"""Types of values that hold nothing and name nothing."""

_UNNAMED = (
    "__call__",
    "__get__",
    "__getattr__",
    "__getattribute__",
    "__init__",
    "__new__",
)
"""Methods that run without being named."""


def may_call(value: Any, goal: Any, owner: Any = None) -> bool | None:
    """Whether calling an object can call another one.

    Args:
        value: The object; of a class, any method may be called.
        goal: What it may call; a function with the same code and closure counts as the same.
        owner: The class, module or object that the value is an attribute of.

    Returns:
        True if code that it holds or has in its module loads the goal; False if no code does; None
        if nobody can tell, as code of other modules does, or an object that is not of Python code.
    """
    if type(goal) in {*_PLAIN, str}:  # the same everywhere
        return False
    try:
        if _Search(goal).finds(value, owner):
            return True
        if _Search(goal, is_lenient=True).finds(value, owner):
            return None
    except Exception:  # noqa: BLE001 - a stranger's attributes may raise anything
        return None
    return False


class _Search:
    """A walk from an object along what its code loads.

    Args:
        goal: What is searched for.
        is_lenient: Whether it follows all that may be used, and not only what surely is.
    """

    def __init__(self, goal: Any, *, is_lenient: bool = False) -> None:
        self._goals = [goal]
        if not isinstance(goal, functools.partial):
            self._goals += inside(goal)[:1]  # what reading a method or property gives
        self._is_lenient = is_lenient
        self._is_found = False
        self._names: set[str] = set()
        self._namespaces: list[tuple[Mapping[str, Any], object]] = []
        self._visited: dict[int, Any] = {}
        self._pending: list[Any] = []

    def finds(self, value: Any, owner: Any) -> bool:
        """Whether the walk reaches the goal.

        Args:
            value: Where it begins.
            owner: Where code finds things by their names, beside its module.
        """
        self._is_found = self._is_goal(value)
        self._look_up_in(sys.modules)
        for holder in (owner, *getattr(owner, "__mro__", type(owner).__mro__)):
            self._look_up_in(namespace(holder), home=self)
        self._names.update(_UNNAMED)  # of the owner, nobody calls them
        self._pending.append(value)
        if issubclass(type(value), type):
            methods = vars(value).items()
            self._pending += [name for name, part in methods if not self._is_goal(part)]
        while self._pending and not self._is_found and len(self._visited) < _MOST:
            holder = self._pending.pop(0)
            for part in self._parts(holder):
                self._follow(part)
        return self._is_found

    def _is_goal(self, part: Any) -> bool:
        return any(_is_same(part, goal) for goal in self._goals)

    def _follow(self, part: Any, home: object = None) -> None:
        """Note what code loads, to look into it later.

        Args:
            part: What is loaded.
            home: The globals of the code that may be looked into; None for any code.
        """
        self._is_found = self._is_found or self._is_goal(part)
        if id(part) in self._visited:
            return
        is_limited = home is not None and not self._is_lenient
        if is_limited and type(part) is FunctionType and part.__globals__ is not home:
            return
        is_patchkits = str(type(part).__module__).startswith("patchkit.")
        # A session holds all that is patched, and no stranger calls it there.
        if type(part) not in _PLAIN and not is_patchkits:
            self._visited[id(part)] = part
            self._pending.append(part)

    def _look_up_in(self, values: Mapping[str, Any], home: object = None) -> None:
        """Follow what has a name that code mentions, now or later."""
        self._namespaces.append((values, home))
        for name in sorted(self._names.intersection(values)):
            self._follow(values[name], home)

    def _parts(self, holder: Any) -> Iterable[Any]:
        """Return what is used of an object, and look up the names that it mentions."""
        kind = type(holder)
        if kind is str:
            self._names.add(holder)
            for named, home in self._namespaces:
                if holder in named:
                    self._follow(named[holder], home)
            return ()
        values = namespace(holder)
        if issubclass(kind, ModuleType):
            self._look_up_in(values, home=self)
            return ()
        if kind is FunctionType and holder.__module__ == "inspect":
            return ()  # it looks at functions, and calls none
        if kind is FunctionType:
            self._look_up_in(holder.__globals__, home=holder.__globals__)
            if id(holder) in self._visited:  # else its code alone does not come to them
                self._look_up_in(values)
            package = holder.__globals__.get("__package__")  # of a relative import
            return (holder.__code__, package, *_variables(holder))
        self._look_up_in(values)
        if issubclass(kind, type):
            return tuple(holder.__mro__[1:])
        used = _used_of(holder)
        if used is None:
            used = gc.get_referents(holder) if self._is_lenient else ()
        return (kind, *used)


def _is_same(part: Any, goal: Any) -> bool:
    if part is goal:
        return True
    if not type(part) is type(goal) is FunctionType:
        return False
    is_same_code = part.__code__ is goal.__code__
    return is_same_code and part.__closure__ is goal.__closure__


def _variables(function: FunctionType) -> list[Any]:
    """Return what a function's code loads of its closure and its defaults."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    variables = [
        *zip(code.co_freevars, function.__closure__ or (), strict=True),
        *zip(code.co_varnames[first:], defaults, strict=False),
        *(function.__kwdefaults__ or {}).items(),
    ]
    held = [name for name, value in variables if type(value) not in _PLAIN]
    loaded = _loaded(code, _VARIABLES) if held else ()
    return [value for name, value in variables if name in loaded]


def _loaded(code: CodeType, instructions: re.Pattern[str]) -> dict[str, None]:
    """Return the names in instructions of code, and those of its variables in functions in it."""
    names: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instructions.search(instruction.opname):
            arguments = instruction.argval
            if not isinstance(arguments, tuple):
                arguments = (arguments,)
            names.update((name, None) for name in arguments if isinstance(name, str))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = _loaded(constant, instructions)
            names.update(
                dict.fromkeys(filter(inner.__contains__, constant.co_freevars))
            )
    return names


def _used_of(holder: Any) -> Iterable[Any] | None:
    """Return what is used of an object beside what its methods name; None if nobody can tell."""
    kind = type(holder)
    if kind is CodeType:
        return (*_loaded(holder, _NAMES), *holder.co_consts)
    if kind is MethodType:
        return _called(holder.__func__, holder.__self__)
    if issubclass(kind, functools.partial):
        return [*_called(holder.func, *holder.args), *holder.keywords.values()]
    if issubclass(kind, _CONTAINERS):
        return gc.get_referents(holder)
    if hasattr(kind, "_self_wrapper"):  # wrapt's FunctionWrapper
        wrapper = holder._self_wrapper  # noqa: SLF001 - that is its name
        return _called(wrapper, holder.__wrapped__)
    if kind is CACHED or hasattr(kind, "__wrapped__"):
        return (holder.__wrapped__,)
    return inside(holder) or None


def _called(function: Any, *arguments: Any) -> list[Any]:
    """Return what a call uses: the function, and those of its arguments that it loads."""
    callee = function
    if isinstance(function, MethodType):
        arguments = (function.__self__, *arguments)
        callee = function.__func__
    if type(callee) is not FunctionType:
        return [function, *arguments]
    code = callee.__code__
    loaded = _loaded(code, _VARIABLES)
    names = code.co_varnames[: code.co_argcount]
    others = code.co_varnames[len(names) + code.co_kwonlyargcount :][:1]  # `*args`
    named = zip(names + others * len(arguments), arguments, strict=False)
    return [function, *(argument for name, argument in named if name in loaded)]
