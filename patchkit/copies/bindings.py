"""
What compiled code says of where its names are from: imports, other names, their attributes.

One code object is gone through once, with a stack of what is known of the values on Python's own.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Source(NamedTuple):
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


class Made(NamedTuple):
    """What stands in the code itself, or is made there: a text, a function, a new list."""

    constant: Any = None


Value = Source | Made | None
"""None: what a call returned, an item was, and whatever else the code does not tell."""

_Values = frozenset[Value]
_UNKNOWN: _Values = frozenset((None,))
_MAKES = frozenset(("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "MAKE_FUNCTION"))
_IDLE = frozenset(("NOP", "RESUME", "CACHE", "EXTENDED_ARG"))
_STORES = frozenset(("STORE_NAME", "STORE_GLOBAL"))
_LEAVES = ("RETURN", "RAISE", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")
_SPECIAL = {
    "LOAD_NAME": "_load_name",
    "LOAD_GLOBAL": "_load_name",
    "LOAD_CONST": "_load_const",
    "LOAD_ATTR": "_load_attr",
    "STORE_ATTR": "_store_attr",
    "IMPORT_NAME": "_import_name",
    "IMPORT_FROM": "_import_from",
    "COPY": "_copy",
    "DUP_TOP": "_copy",
    "SWAP": "_swap",
    "ROT_TWO": "_swap",
    "ROT_THREE": "_rotate",
}
"""How to follow instructions of Python 3.10 to 3.13 that say where a value is from."""
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
        self.stars: list[Source] = []
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
        inner = (one for one in all_inner(self._code) if name in one.co_names)
        found = (Bindings(one).own(name) for one in inner if _binds_globally(one, name))
        return self.own(name).union(*found)

    def may_set(self, name: str) -> bool:
        """Whether a name may be bound by what `of` does not see: `setattr`, `cls.name = …`."""
        inner = list(all_inner(self._code))
        if any(not _BY_TEXT.isdisjoint(one.co_names) for one in (self._code, *inner)):
            return True
        return any(_sets_attribute(one, name) for one in inner if name in one.co_names)

    def inner(self, path: Iterable[str]) -> list[Bindings]:
        """Find the bodies of the class (or function) with this path."""
        found = [self._code]
        for part in path:
            found = [one for code in found for one in _codes(code) if one.co_name == part]
        return [Bindings(code) for code in found]

    # -- one instruction ---------------------------------------------------------------------------

    def _run(self, step: dis.Instruction) -> None:
        name = step.opname
        if name in _IDLE:
            return
        if name in _STORES:
            self._bind(step.argval, self._pop())
        elif name in _SPECIAL:
            getattr(self, _SPECIAL[name])(step)
        else:
            self._do_whatever(step)
        if name in _MAKES:
            self._stack[-1] = frozenset((Made(),))
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

    # -- instructions that say something -----------------------------------------------------------

    def _load_name(self, step: dis.Instruction) -> None:
        self._do_whatever(step)
        self._stack[-1] = frozenset((Source((step.argval,)),))

    def _load_const(self, step: dis.Instruction) -> None:
        self._stack.append(frozenset((Made(step.argval),)))

    def _load_attr(self, step: dis.Instruction) -> None:
        values = self._pop()
        self._stack.append(values)
        self._do_whatever(step)  # in a call it leaves two
        self._stack[-1] = _attribute(values, step.argval)

    def _store_attr(self, step: dis.Instruction) -> None:
        for owner in self._pop():
            if isinstance(owner, Source) and owner.module is None:
                self._bind(".".join((*owner.names, step.argval)), self._stack[-1:][0])
        self._pop()

    def _import_name(self, step: dis.Instruction) -> None:
        wanted, level = (_constant(self._pop()) for _ in range(2))
        name = step.argval if wanted or level else step.argval.partition(".")[0]
        source = Source((), name, level or 0)
        self._stack.append(frozenset((source,)))
        if wanted == ("*",):
            self.stars.append(source)

    def _import_from(self, step: dis.Instruction) -> None:
        self._stack.append(_attribute(self._stack[-1], step.argval))

    def _copy(self, step: dis.Instruction) -> None:
        depth = step.arg or 1
        self._reach(depth)
        self._stack.append(self._stack[-depth])

    def _swap(self, step: dis.Instruction) -> None:
        depth = step.arg or 2
        self._reach(depth)
        stack = self._stack
        stack[-1], stack[-depth] = stack[-depth], stack[-1]

    def _rotate(self, _: dis.Instruction) -> None:
        self._reach(3)
        self._stack.insert(-2, self._stack.pop())

    def _reach(self, depth: int) -> None:
        self._stack[:0] = [_UNKNOWN] * (depth - len(self._stack))


def _attribute(values: _Values, name: str) -> _Values:
    return frozenset(
        one._replace(names=(*one.names, name)) if isinstance(one, Source) else None
        for one in values
    )


def _constant(values: _Values) -> Any:
    return next((one.constant for one in values if isinstance(one, Made)), None)


def _merged(one: list[_Values], other: list[_Values]) -> list[_Values]:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return [ours | theirs for ours, theirs in pairs][::-1]


def _codes(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


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
    steps = list(dis.get_instructions(code))
    stores = [at for at, one in enumerate(steps) if one.opname == "STORE_ATTR"]
    return any(steps[at].argval == name and not _loads_self(steps[at - 1].argval) for at in stores)


def _loads_self(loaded: object) -> bool:
    return (loaded[-1] if isinstance(loaded, tuple) else loaded) == "self"
