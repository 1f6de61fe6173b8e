"""Writes what keeps functions of a pile off that rows call in their place.

A pile is a package that patches upstream. Its functions that do so are called by others: by the
plugin loader of upstream, for an entry point. Where a row calls one, nobody else may.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from patchkit.authoring.piles.guards import last_of, old_pile_row
from patchkit.authoring.piles.row_names import unused
from patchkit.core.rows.declaration import AfterImport, Patch

_HEAD = '''"""Keeps functions of {origin} off: rows of this pack call them."""

import importlib
import sys
'''
_OFF = '''

def put_off(module, path, body=""):
    """Put a function that does nothing in the place of one; returns what takes that back.

    If a body is named, the function returns what the body's call has returned; None if that body
    is being loaded, as by the import of a module that calls the function.
    """
    owner = sys.modules[module]
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    original = getattr(owner, name)

    def nothing(*args, **kwargs):
        """Do nothing: a row has called the function, or will."""
        if body:
            taken = getattr(importlib.import_module(body), "taken", None)
            return getattr(taken, "returned", None)

    nothing.adopted = original
    setattr(owner, name, nothing)
    return lambda: setattr(owner, name, original)
'''
_KEEP_OFF = '''

def {name}():
    """Keep {call} off."""
    return put_off("{module}", "{path}"{body})
'''
_OFF_IN_CODE = '''

def {name}(*args, **kwargs):
    """Do nothing: a row has called {path}, or will."""
    {statement}


{name}.adopted = {path}
{path} = {name}
'''
_RETURNED = """\
from importlib import import_module

    taken = getattr(import_module("{body}"), "taken", None)
    return getattr(taken, "returned", None)"""
_GET = "    def __getattr__(self, name):\n"
"""The header of a method of stand-ins, as `guards` writes it in the body of the row `old-pile`."""
_GET_NOTHING = """\
        if f"{{self.__name__}}:{{name}}" == "{call}":
            return lambda *args, **kwargs: {result}
"""
_GET_AFTER = """\
        if self.__name__ == "{module}":
            importlib.import_module("{body}")
"""


def served_after(stand_ins: str, module: str, body: str) -> str:
    """Have a stand-in import a body before it serves the text of its module.

    The body runs that text, and puts back what it sets, so nobody else may be first.

    Args:
        stand_ins: The body of the row `old-pile`.
        module: The module of the pile.
        body: The body, with the pack's name.

    Returns:
        The changed text.
    """
    getter = _GET_AFTER.format(module=module, body=body)
    return stand_ins.replace(_GET, f"{_GET}{getter}", 1)


class PileFunction(NamedTuple):
    """A function of a pile that patches upstream as it is called.

    Args:
        module: Its module.
        path: Its name there; a method has that of its class before it, with a dot.
    """

    module: str
    path: str

    @classmethod
    def of(cls, call: str) -> "PileFunction":
        """Read `module:name`.

        Args:
            call: The text.

        Returns:
            The function.
        """
        module, _, path = call.partition(":")
        return cls(module, path)

    @property
    def word(self) -> str:
        """A word that names the function in rows and bodies, such as `pile_register`."""
        return f"{self.module}.{self.path}".replace(".", "_").lower().strip("_")

    def __str__(self) -> str:
        return f"{self.module}:{self.path}"


def keep_off(
    rows: list[Patch],
    bodies: dict[str, str],
    functions: Mapping[PileFunction, str],
    codes: Mapping[str, str],
    *,
    origin: str,
    project: str,
) -> None:
    """Add to the row `old-pile` what keeps functions of the pile off, or make that row.

    Args:
        rows: The rows, the row `old-pile` first; are changed.
        bodies: By name, the texts of their bodies; are changed.
        functions: The functions, each with the body of its row where its caller may use what it
            returns, else ''.
        codes: The modules of the pile that have a stand-in.
        origin: The name of the pile.
        project: The name of upstream's distribution.
    """
    body = bodies.get("patch_old_pile", "")
    has_stand_ins = bool(body)
    if not body:
        body = _HEAD.format(origin=origin)
    changes = list[AfterImport]()
    for function, used_body in functions.items():
        if has_stand_ins and function.module in codes:
            # Who imports the module gets its stand-in: that gives a function that does nothing.
            result = "None"
            if used_body:
                result = f"importlib.import_module('{used_body}').taken.returned"
            getter = _GET_NOTHING.format(call=function, result=result)
            body = body.replace(_GET, f"{_GET}{getter}", 1)
            code = last_of(codes[function.module])
            bodies[code] += _off_in_code(bodies[code], function, used_body)
            continue
        if not changes:  # once, for all functions
            body += _OFF
        name = f"keep_off_{function.word}"
        body += _KEEP_OFF.format(
            name=name,
            call=function,
            module=function.module,
            path=function.path,
            body=used_body and f', "{used_body}"',
        )
        changes.append(AfterImport(function.module, call=name))
    bodies["patch_old_pile"] = body
    if has_stand_ins:
        row = rows[0]
        rows[0] = row.__replace__(changes=(*row.changes, *changes))
    else:
        why = f"The rows of this pack call functions of {origin}: nobody else may."
        row = old_pile_row(changes, why, project, origin)
        rows.insert(0, row)


def _off_in_code(text: str, function: PileFunction, used_body: str) -> str:
    """Return what keeps a function off in the text that the pack has of its module.

    Other code of the pack imports the function from there.

    Args:
        text: The text.
        function: The function.
        used_body: The body of its row where its caller may use what it returns; else ''.
    """
    statement = "return None"
    if used_body:
        statement = _RETURNED.format(body=used_body)
    words = re.findall(r"\w+", text)
    name = unused(f"off_{function.word}", words)
    return _OFF_IN_CODE.format(name=name, path=function.path, statement=statement)
