"""
What compiled code says of where its names are from: imports, other names, their attributes.

One code object is gone through once, with a stack of what is known of the values on Python's own.
"""

from __future__ import annotations

import dis
from itertools import pairwise
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class NameSource(NamedTuple):
    """
    What a name was bound to: a module, a name, or an attribute of one of them.

    Args:
        names: the attributes, each of the one before.
        module: whose they are, by an import; None where the first is a name of the same code.
        level: of a relative import.

    """

    names: tuple[str, ...]
    module: str | None = None
    level: int = 0


class Constant(NamedTuple):
    """What stands in the code itself, or is made there: a text, a function, a new list."""

    constant: Any = None


Value = NameSource | Constant | None
"""None: what a call returned, an item was, and whatever else the code does not tell."""

_Values = frozenset[Value]
_UNKNOWN: _Values = frozenset((None,))
_MAKES = frozenset(("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "MAKE_FUNCTION"))
_IDLE = frozenset(("NOP", "RESUME", "CACHE", "EXTENDED_ARG"))
_STORES = frozenset(("STORE_NAME", "STORE_GLOBAL"))
_LEAVES = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")
_BY_TEXT = frozenset(("globals", "locals", "vars", "setattr", "exec", "__dict__", "__setattr__"))
"""What binds names that are made up as the program runs."""
_BEGINS = ("LOAD_", "PUSH_")
_ENDS = ("STORE_", "POP_", "DELETE_", "JUMP_")


class Bindings:
    """
    The bindings that a module's, a class's or a function's own code makes.

    Args:
        code: the code.

    """

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._names: dict[str, set[Value]] = {}
        self.stars: list[NameSource] = []
        self._stack: list[_Values] = []
        self._brought: dict[int, list[_Values]] = {}
        for step in dis.get_instructions(code):
            if (brought := self._brought.pop(step.offset, None)) is not None:
                self._stack = _merged(self._stack, brought) if self._stack else brought
            self._run(step)

    def own(self, name: str) -> set[Value]:
        """Everything that this code binds a name to, or an attribute of one (`A.name`)."""
        return self._names.get(name, set())

    def of(self, name: str) -> set[Value]:
        """Everything that a name is bound to, also by functions that declare it `global`."""
        inner = [code for code in all_inner(self._code) if name in code.co_names]
        binding = [code for code in inner if _binds_globally(code, name)]
        return self.own(name).union(*(Bindings(code).own(name) for code in binding))

    def may_set(self, name: str) -> bool:
        """Whether a name may be bound by what `of` does not see: `setattr`, `cls.name = …`."""
        inner = list(all_inner(self._code))
        if any(not _BY_TEXT.isdisjoint(code.co_names) for code in (self._code, *inner)):
            return True
        return any(_sets_attribute(code, name) for code in inner if name in code.co_names)

    def inner(self, path: Iterable[str]) -> list[Bindings]:
        """Find the bodies of the class (or function) with this path."""
        bodies = [self._code]
        for part in path:
            bodies = [code for body in bodies for code in _codes(body) if code.co_name == part]
        return [Bindings(body) for body in bodies]

    # -- one instruction ---------------------------------------------------------------------------

    def _run(self, step: dis.Instruction) -> None:
        name = step.opname
        if name in _IDLE:
            return
        if name in _STORES:
            self._bind(step.argval, self._pop())
        else:
            getattr(self, f"_on_{name.lower()}", self._do_whatever)(step)
        if name in _MAKES:
            self._stack[-1] = frozenset((Constant(),))
        if name.startswith(_LEAVES):
            self._stack = []

    def _do_whatever(self, step: dis.Instruction) -> None:
        """Leave as many values as the instruction does; of those that are new nothing is known."""
        argument = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            self._bring(step.argval, dis.stack_effect(step.opcode, argument, jump=True))
        effect = dis.stack_effect(step.opcode, argument, jump=False)
        if effect < 0 and step.opname.startswith(_ENDS):
            self._drop(-effect)
        elif effect > 0 and step.opname.startswith(_BEGINS):
            self._stack += [_UNKNOWN] * effect
        else:
            self._drop(1 + max(0, -effect))
            self._stack += [_UNKNOWN] * (1 + max(0, effect))

    def _bring(self, target: int, effect: int) -> None:
        """Note what is on the stack where it is jumped to."""
        there = self._stack[: max(0, len(self._stack) + min(effect, 0))] + [_UNKNOWN] * effect
        before = self._brought.get(target)
        self._brought[target] = there if before is None else _merged(before, there)

    def _bind(self, name: str, values: _Values) -> None:
        self._names.setdefault(name, set()).update(values)

    def _pop(self) -> _Values:
        return self._stack.pop() if self._stack else _UNKNOWN

    def _drop(self, count: int) -> None:
        del self._stack[max(0, len(self._stack) - count) :]

    # -- instructions of Python 3.10 to 3.13 that say where a value is from ------------------------

    def _on_load_name(self, step: dis.Instruction) -> None:
        self._do_whatever(step)
        self._stack[-1] = frozenset((NameSource((step.argval,)),))

    _on_load_global = _on_load_name

    def _on_load_const(self, step: dis.Instruction) -> None:
        self._stack.append(frozenset((Constant(step.argval),)))

    def _on_load_attr(self, step: dis.Instruction) -> None:
        values = self._pop()
        self._stack.append(values)
        self._do_whatever(step)  # in a call it leaves two
        self._stack[-1] = _attribute(values, step.argval)

    def _on_store_attr(self, step: dis.Instruction) -> None:
        for owner in self._pop():
            if isinstance(owner, NameSource) and owner.module is None:
                self._bind(".".join((*owner.names, step.argval)), self._stack[-1:][0])
        self._pop()

    def _on_import_name(self, step: dis.Instruction) -> None:
        wanted, level = (_constant(self._pop()) for _ in range(2))
        name = step.argval if wanted or level else step.argval.partition(".")[0]
        source = NameSource((), name, level or 0)
        self._stack.append(frozenset((source,)))
        if wanted == ("*",):
            self.stars.append(source)

    def _on_import_from(self, step: dis.Instruction) -> None:
        self._stack.append(_attribute(self._stack[-1], step.argval))

    def _on_copy(self, step: dis.Instruction) -> None:
        depth = step.arg or 1
        self._reach(depth)
        self._stack.append(self._stack[-depth])

    _on_dup_top = _on_copy

    def _on_swap(self, step: dis.Instruction) -> None:
        depth = step.arg or 2
        self._reach(depth)
        stack = self._stack
        stack[-1], stack[-depth] = stack[-depth], stack[-1]

    _on_rot_two = _on_swap

    def _on_rot_three(self, _: dis.Instruction) -> None:
        self._reach(3)
        self._stack.insert(-2, self._stack.pop())

    def _reach(self, depth: int) -> None:
        self._stack[:0] = [_UNKNOWN] * (depth - len(self._stack))


def _attribute(values: _Values, name: str) -> _Values:
    return frozenset(
        value._replace(names=(*value.names, name)) if isinstance(value, NameSource) else None
        for value in values
    )


def _constant(values: _Values) -> Any:
    return next((value.constant for value in values if isinstance(value, Constant)), None)


def _merged(stack: list[_Values], other: list[_Values]) -> list[_Values]:
    pairs = zip(reversed(stack), reversed(other), strict=False)
    return [ours | theirs for ours, theirs in pairs][::-1]


def _codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def all_inner(code: CodeType) -> Iterator[CodeType]:
    """Return the code of every function and class in this code, at any depth."""
    for inner in _codes(code):
        yield inner
        yield from all_inner(inner)


def _binds_globally(code: CodeType, name: str) -> bool:
    return any(
        step.opname == "STORE_GLOBAL" and step.argval == name for step in dis.get_instructions(code)
    )


def _sets_attribute(code: CodeType, name: str) -> bool:
    """Whether a function sets an attribute of anything but `self`."""
    return any(
        step.opname == "STORE_ATTR" and step.argval == name and not _loads_self(before.argval)
        for before, step in pairwise(dis.get_instructions(code))
    )


def _loads_self(loaded: object) -> bool:
    return (loaded[-1] if isinstance(loaded, tuple) else loaded) == "self"
