"""Finds out whether calling an object can end in a call of another one, such as a wrapped original.

No code is run. The search starts at the object and follows what its bytecode loads: globals,
closure variables, attributes. Whatever is loaded counts as called. Whatever no code loads does
not: `__wrapped__`, or an attribute or default that no code names.
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
"""The most objects that one search looks at; a wrapper needs a handful."""

_VARIABLES = re.compile("LOAD_(FAST(?!_AND)|DEREF|CLOSURE|CLASSDEREF|FROM|CONST)")
"""Instructions that load variables, or strings that may name them in `locals()`.

`LOAD_FAST_AND_CLEAR`, which is excluded, only saves a variable around a comprehension.
"""

_NAMES = re.compile("IMPORT|LOAD_(GLOBAL|NAME|FROM|ATTR|METHOD|SUPER)")
"""Instructions that look up a module, or a name in a module or an object."""

_CONTAINERS = (tuple, list, dict, set, frozenset, CellType)
"""Types whose items all count as used."""

_PLAIN = (type(None), bool, int, float, bytes)
"""Types of values that refer to no other object and name none."""

_NO_GLOBALS = object()
"""A `home` for `_Search._follow` that is no function's globals.

With it, only a lenient search follows functions.
"""

_UNNAMED = (
    "__call__",
    "__get__",
    "__getattr__",
    "__getattribute__",
    "__init__",
    "__new__",
)
"""Methods that Python calls although no code names them."""


def may_call(value: Any, goal: Any, owner: Any = None) -> bool | None:
    """Whether calling an object can call another one.

    Args:
        value: The object; for a class, any of its methods may be called.
        goal: The object that it may call; a function with the same code and closure counts as
            the same.
        owner: The class, module or object that has the value as an attribute.

    Returns:
        True if code of the object or of its module loads the goal; False if no code does; None if
        that is uncertain: code of other modules loads it, or an object of C code refers to it.
    """
    if type(goal) in {*_PLAIN, str}:  # such values are shared by unrelated code
        return False
    try:
        if _Search(goal).finds(value, owner):
            return True
        if _Search(goal, is_lenient=True).finds(value, owner):
            return None
    except Exception:  # noqa: BLE001 - attributes of unknown objects may raise anything
        return None
    return False


class _Search:
    """A breadth-first search from an object along the objects that code loads.

    It collects the names that code mentions and the namespaces (of modules, classes, objects) that
    it meets. Whatever one of these names stands for in one of these namespaces is followed.

    Args:
        goal: The object that is searched for.
        is_lenient: Whether to follow all that may be used, too, and not only what surely is.
    """

    def __init__(self, goal: Any, *, is_lenient: bool = False) -> None:
        self._goals = [goal]
        # (A partial is more than its function: it has arguments.)
        if not isinstance(goal, functools.partial):
            self._goals += inside(goal)[:1]  # the function of a method or property
        self._is_lenient = is_lenient
        self._is_found = False
        self._names: set[str] = set()
        # Each namespace, with its `home`: the globals of the functions in it that are followed.
        self._namespaces: list[tuple[Mapping[str, Any], object]] = []
        self._visited: dict[int, Any] = {}
        self._pending: list[Any] = []

    def finds(self, value: Any, owner: Any) -> bool:
        """Whether the search reaches the goal.

        Args:
            value: The object to start from.
            owner: The class or object whose attributes its code can use (`self.original`).
        """
        self._is_found = self._is_goal(value)
        # Code that has the name of a module, as an `import` does, leads to the module.
        self._look_up_in(sys.modules)
        ancestors = getattr(owner, "__mro__", type(owner).__mro__)
        for ancestor in (owner, *ancestors):
            self._look_up_in(namespace(ancestor), home=_NO_GLOBALS)
        # Only now, so that `_UNNAMED` is not looked up in the owner: the value does not call the
        # owner's `__init__` and the like.
        self._names.update(_UNNAMED)
        self._pending.append(value)
        # Any method of a class may be called, as if code mentioned its name.
        if issubclass(type(value), type):
            for name, part in vars(value).items():
                if not self._is_goal(part):
                    self._pending.append(name)
        while self._pending and not self._is_found and len(self._visited) < _MOST:
            current = self._pending.pop(0)
            for part in self._parts(current):
                self._follow(part)
        return self._is_found

    def _is_goal(self, part: Any) -> bool:
        """Whether an object is the searched one, or the function in it."""
        return any(_is_same(part, goal) for goal in self._goals)

    def _follow(self, part: Any, home: object = None) -> None:
        """Queue an object that code loads, unless the search has seen it.

        Args:
            part: The object.
            home: A function is followed only if these are its globals; None for any function. A
                lenient search follows all.
        """
        self._is_found = self._is_found or self._is_goal(part)
        if id(part) in self._visited:
            return
        is_limited = home is not None and not self._is_lenient
        if is_limited and type(part) is FunctionType and part.__globals__ is not home:
            return
        # patchkit's own objects refer to everything that is patched, but do not call it.
        is_patchkits = str(type(part).__module__).startswith("patchkit.")
        if type(part) not in _PLAIN and not is_patchkits:
            self._visited[id(part)] = part
            self._pending.append(part)

    def _look_up_in(self, values: Mapping[str, Any], home: object = None) -> None:
        """Follow the values in a namespace whose names code mentions, so far or later.

        Args:
            values: The namespace.
            home: The globals of the module whose functions are followed. A function of another
                module, which was imported there, is not. None if all functions are followed.
        """
        self._namespaces.append((values, home))
        for name in sorted(self._names.intersection(values)):
            self._follow(values[name], home)

    def _parts(self, current: Any) -> Iterable[Any]:
        """Return the objects that an object uses; a string is taken for a name and looked up."""
        kind = type(current)
        if kind is str:
            self._names.add(current)
            for named, home in self._namespaces:
                if current in named:
                    self._follow(named[current], home)
            return ()
        values = namespace(current)
        if issubclass(kind, ModuleType):
            self._look_up_in(values, home=_NO_GLOBALS)
            return ()
        if kind is FunctionType and current.__module__ == "inspect":
            return ()  # `inspect` looks at the functions that it is given, and calls none
        if kind is FunctionType:
            self._look_up_in(current.__globals__, home=current.__globals__)
            # Only code that loads a function uses its attributes. Such code has been found for all
            # functions but the one that the search starts at, which is not in `_visited`.
            if id(current) in self._visited:
                self._look_up_in(values)
            package = current.__globals__.get("__package__")  # for relative imports
            return (current.__code__, package, *_variables(current))
        self._look_up_in(values)
        if issubclass(kind, type):
            return tuple(current.__mro__[1:])
        used = _used_of(current)
        if used is None:
            used = gc.get_referents(current) if self._is_lenient else ()
        return (kind, *used)


def _is_same(part: Any, goal: Any) -> bool:
    """Whether two objects are the same, or functions with the same code and closure (copies)."""
    if part is goal:
        return True
    if type(part) is not FunctionType or type(goal) is not FunctionType:
        return False
    is_same_code = part.__code__ is goal.__code__
    return is_same_code and part.__closure__ is goal.__closure__


def _variables(function: FunctionType) -> list[Any]:
    """Return the closure variables and defaults that the code of a function loads."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    # The last positional parameters have the defaults.
    first = code.co_argcount - len(defaults)
    # Each variable, with its value; for a closure variable, with the cell that has it.
    variables = [
        *zip(code.co_freevars, function.__closure__ or (), strict=True),
        *zip(code.co_varnames[first:], defaults, strict=False),
        *(function.__kwdefaults__ or {}).items(),
    ]
    # Reading bytecode takes long. It is not read if all values are plain, as these lead nowhere.
    loaded: Iterable[str] = ()
    kinds = {type(value) for _, value in variables}
    if not kinds.issubset(_PLAIN):
        loaded = _loaded(code, _VARIABLES)
    return [value for name, value in variables if name in loaded]


def _loaded(code: CodeType, instructions: re.Pattern[str]) -> dict[str, None]:
    """Return the names that some instructions of code have as arguments.

    Args:
        code: The code. Of functions inside it, only the variables that they share with it count.
        instructions: Matches the names of the instructions.

    Returns:
        The names, as keys in the order of the code.
    """
    names: dict[str, None] = {}
    for instruction in dis.get_instructions(code):
        if instructions.search(instruction.opname):
            argument = instruction.argval
            # Some instructions have two names, such as LOAD_FAST_LOAD_FAST.
            arguments = (argument,)
            if isinstance(argument, tuple):
                arguments = argument
            for name in arguments:
                if isinstance(name, str):
                    names[name] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_names = _loaded(constant, instructions)
            shared = [name for name in constant.co_freevars if name in inner_names]
            names.update(dict.fromkeys(shared))
    return names


def _used_of(value: Any) -> Iterable[Any] | None:
    """Return the objects that a call of an object uses: a method's function, a partial's arguments.

    None for an object of an unknown type: whatever it refers to may be used.
    """
    kind = type(value)
    if kind is CodeType:
        return (*_loaded(value, _NAMES), *value.co_consts)
    if kind is MethodType:
        return _called(value.__func__, value.__self__)
    if issubclass(kind, functools.partial):
        called = _called(value.func, *value.args)
        return [*called, *value.keywords.values()]
    if issubclass(kind, _CONTAINERS):
        return gc.get_referents(value)
    if hasattr(kind, "_self_wrapper"):  # wrapt's FunctionWrapper
        wrapper = value._self_wrapper  # noqa: SLF001 - that is its name
        return _called(wrapper, value.__wrapped__)
    if kind is CACHED or hasattr(kind, "__wrapped__"):
        return (value.__wrapped__,)
    return inside(value) or None


def _called(function: Any, *arguments: Any) -> list[Any]:
    """Return what a call uses: the function, and those arguments that the function's code loads.

    Args:
        function: The function or bound method that is called.
        *arguments: The positional arguments.
    """
    callee = function
    if isinstance(function, MethodType):
        arguments = (function.__self__, *arguments)
        callee = function.__func__
    if type(callee) is not FunctionType:  # without bytecode, all arguments may be used
        return [function, *arguments]
    code = callee.__code__
    loaded = _loaded(code, _VARIABLES)
    names = code.co_varnames[: code.co_argcount]
    # The name of `*args`, if there is one, stands for all further arguments. Among the variables it
    # comes after the named parameters.
    named_count = len(names) + code.co_kwonlyargcount
    rest = code.co_varnames[named_count : named_count + 1]
    named = zip(names + rest * len(arguments), arguments, strict=False)
    used = [argument for name, argument in named if name in loaded]
    return [function, *used]
