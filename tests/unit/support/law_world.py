"""Generated upstream packages, patches of every kind for them, and what plain Python says of both.

The oracle knows no patchkit: it computes what each name answers from the names of the patches
that are on.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.packages import row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

Answer = list[Any]


@dataclass(frozen=True)
class Shape:
    """What a generated package holds.

    Args:
        functions: how many functions; those with an even number are replaced, others edited.
        depth: how many classes derive from each other, each method calling `super()`.
        users: for each module that imports by name, the functions that it takes.
    """

    functions: int
    depth: int
    users: tuple[tuple[int, ...], ...]


# -- upstream -------------------------------------------------------------------------------------


def base_source(shape: Shape) -> str:
    """The module that patches are for."""
    parts = ["import dataclasses", "NUMBER = 1000"]
    parts += [_function(number) for number in range(shape.functions)]
    parts += [_class(level) for level in range(shape.depth)]
    parts.append("def entry(): return ['entry']")
    parts.append("TABLE = {'first': None, 'k': entry}")
    parts.append("class Thing:\n    def tell(self): return ['thing']")
    parts.append("@dataclasses.dataclass\nclass Data:\n    a: int = 1")
    return "\n".join(parts) + "\n"


def _function(number: int) -> str:
    return (
        f"def f{number}(*_, one='one', two='two'): return ['f{number}', one, 'x', 'y']"
    )


def _class(level: int) -> str:
    base = f"(L{level - 1})" if level else ""
    below = ", *super().{}()" if level else ""
    return f"""class L{level}{base}:
    def m(self):
        return ['L{level}.m', 'x'{below.format("m")}]
    @classmethod
    def c(cls):
        return ['L{level}.c', 'x'{below.format("c")}]
    @staticmethod
    def s():
        return ['L{level}.s', 'x']
    @property
    def p(self):
        return ['L{level}.p', 'x']
"""


RE_EXPORT = "from up.base import *\n"
"""The module `up.again`."""


def user_source(taken: tuple[int, ...]) -> str:
    """A module that imports by name: as a global, under another name, and into a class.

    What is taken first comes from where it is, the rest by way of a re-export.
    """
    lines = ["from up.again import Thing, entry as taken_entry"]
    for number in taken:
        origin = "up.base" if number == taken[0] else "up.again"
        lines += [f"from {origin} import f{number}, f{number} as other{number}"]
    lines.append("class Holder:\n    nothing = None")
    lines += [f"    held{number} = f{number}" for number in taken]
    return "\n".join(lines) + "\n"


# -- patches --------------------------------------------------------------------------------------

BODY = """
from up.base import Thing, entry

def wrap(word):
    def by(wrapped, instance, args, kwargs):
        return [word, *wrapped(*args, **kwargs)]
    return by

class NewThing(Thing):
    def tell(self): return ['new', *super().tell()]

def added(): return ['added']
NUMBER = 2000

def mark(module):
    module.TABLE['first'] = 'marked'
    def undo():
        module.TABLE['first'] = None
    return undo

class Extra:
    value = 'extra'
"""


def patches(shape: Shape) -> dict[str, list[str]]:
    """The pool: by name, in the order of their rows, the sources of a patch's changes."""
    pool: dict[str, list[str]] = {}
    for number in range(shape.functions):
        place = f"up.base:f{number}"
        pool[f"w1-f{number}"] = [f"Wrap({place!r}, by='w1_f{number}')"]
        if number % 2:
            pool[f"e1-f{number}"] = [f"Edit({place!r}, old=\"'x'\", new=\"'X'\")"]
            pool[f"e2-f{number}"] = [f"Edit({place!r}, old=\"'y'\", new=\"'Y'\")"]
        else:
            pool[f"r1-f{number}"] = [f"Replace({place!r}, by='r1_f{number}')"]
            pool[f"r2-f{number}"] = [f"Replace({place!r}, by='r2_f{number}')"]
        pool[f"w2-f{number}"] = [f"Wrap({place!r}, by='w2_f{number}')"]
    for level in range(shape.depth):
        pool |= _of_class(level)
    return {**pool, **_OTHERS}


def _of_class(level: int) -> dict[str, list[str]]:
    cls = f"up.base:L{level}"
    every = [f"Wrap('{cls}.{kind}', by='w_{kind}{level}')" for kind in "mcsp"]
    edits = [f"Edit('{cls}.{kind}', old=\"'x'\", new=\"'X'\")" for kind in "mcsp"]
    return {f"w-l{level}": every, f"e-l{level}": edits}


_OTHERS = {
    "number": ["Replace('up.base:NUMBER', by='NUMBER')"],
    "item": ["Wrap(\"up.base:TABLE['k']\", by='w_item')"],
    "class": ["Replace('up.base:Thing', by='NewThing')"],
    "added": [
        "Add('up.base:added', by='added')",
        "Add(\"up.base:TABLE['new']\", by='added')",
    ],
    "mark": ["AfterImport('up.base', call='mark')"],
    "extra": ["Provide('up.extra', by='Extra')"],
    "field-b": ["AddField('up.base:Data', 'b', 'int', 2)"],
    "field-c": ["AddField('up.base:Data', 'c', 'list', [3])"],
}


def rows(shape: Shape) -> Iterator[str]:
    """The pool as sources of rows."""
    return (
        row(name, "patch_base", *changes) for name, changes in patches(shape).items()
    )


def body_source(shape: Shape) -> str:
    """The body that the rows of the pool share."""
    lines = [BODY, "w_item = wrap('item')"]
    for number in range(shape.functions):
        lines += [f"w{nth}_f{number} = wrap('w{nth}-f{number}')" for nth in (1, 2)]
        lines += [
            f"def r{nth}_f{number}(*_, **__): return ['r{nth}-f{number}']"
            for nth in (1, 2)
        ]
    for level in range(shape.depth):
        lines += [f"w_{kind}{level} = wrap('w-l{level}')" for kind in "mcsp"]
    return "\n".join(lines) + "\n"


# -- the oracle -----------------------------------------------------------------------------------


def function_answer(number: int, on: Collection[str]) -> Answer:
    """What `f<number>()` answers."""
    answer = [f"f{number}", "one", _edited("x", f"e1-f{number}", on), "y"]
    answer[-1] = _edited("y", f"e2-f{number}", on)
    for name in (f"r1-f{number}", f"r2-f{number}"):
        answer = [name] if name in on else answer
    for name in (f"w1-f{number}", f"w2-f{number}"):
        answer = [name, *answer] if name in on else answer
    return answer


def method_answer(kind: str, level: int, on: Collection[str]) -> Answer:
    """What a method, property, static or class method of class L<level> answers."""
    answer = [f"L{level}.{kind}", _edited("x", f"e-l{level}", on)]
    if kind in "mc" and level:
        answer += method_answer(kind, level - 1, on)
    return [f"w-l{level}", *answer] if f"w-l{level}" in on else answer


def others_answer(on: Collection[str]) -> dict[str, Any]:
    """What the names of the pool's other patches answer: those of `_OTHERS`."""
    added = ["added"] if "added" in on else None
    return {
        "number": 2000 if "number" in on else 1000,
        "item": ["item", "entry"] if "item" in on else ["entry"],
        "keys": ["first", "k", "new"] if "added" in on else ["first", "k"],
        "class": ["new", "thing"] if "class" in on else ["thing"],
        "mark": "marked" if "mark" in on else None,
        "extra": "extra" if "extra" in on else None,
        "added": added,
        "fields": ["a", *[name for name in "bc" if f"field-{name}" in on]],
    }


def _edited(letter: str, patch: str, on: Collection[str]) -> str:
    return letter.upper() if patch in on else letter


# -- what upstream says ---------------------------------------------------------------------------


def others_seen(base: Any) -> dict[str, Any]:
    """Ask upstream what `others_answer` computes."""
    data = base.Data()
    added: Callable[[], Answer] = getattr(base, "added", lambda: None)
    return {
        "number": base.NUMBER,
        "item": base.TABLE["k"](),
        "keys": list(base.TABLE),
        "class": base.Thing().tell(),
        "mark": base.TABLE["first"],
        "extra": _extra(),
        "added": added(),
        "fields": sorted(vars(data)),
    }


def _extra() -> Any:
    try:
        return importlib.import_module("up.extra").value
    except ModuleNotFoundError:
        return None


def method_seen(base: Any, kind: str, level: int) -> Any:
    """Ask a class of upstream what `method_answer` computes."""
    cls = getattr(base, f"L{level}")
    return cls().p if kind == "p" else getattr(cls(), kind)()


def picture(*modules: Any) -> dict[str, int]:
    """Everything that a change could leave behind: names, and the identities of what they hold."""
    identities: dict[str, int] = {}
    for module in modules:
        for name, value in vars(module).items():
            if name == "__builtins__":
                continue
            where = f"{module.__name__}:{name}"
            identities[where] = id(value)
            identities |= _inside(where, value)
    return identities


def _inside(where: str, value: Any) -> dict[str, int]:
    if isinstance(value, dict):
        return {f"{where}[{key!r}]": id(item) for key, item in value.items()}
    if isinstance(value, type):
        identities = {}
        for name, attribute in vars(value).items():
            place = f"{where}.{name}"
            if not name.endswith("__weakref__"):
                identities[place] = id(attribute)
            code = _code(attribute)
            if code is not None:
                identities[f"{place} code"] = id(code)
        return identities
    code = _code(value)
    if code is None:
        return {}
    return {f"{where} code": id(code)}


def _code(value: Any) -> Any:
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    return getattr(function, "__code__", None)
