"""Under which conditions a pile imports a module: as requirements, or as a `when` of a row."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from textwrap import indent
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.adopt.definitions import names_in
from patchkit.authoring.adopt.pile_reader import PileReader
from patchkit.authoring.scaffold.rows import from_import
from patchkit.core.rows.declaration import BeforeImport, Patch, Role

_GUARDED = '''# {title}
"""Takes what the row needs of `{code}`, as {place} imports it."""


def when():
    """Ask what {place} asks."""
{known}
    if {test}:
        return True
    return {reason!r}


if when() is True:
    from {pack} import {name} as code{imported}
'''
_OLD_PILE = '''"""Whoever imports a module of {base} gets the pack's: the pile patches nothing."""

import importlib
import sys
from types import ModuleType

MODULES = {{
{modules}}}
PACKAGES = {packages!r}


class StandIn(ModuleType):
    """A module of the pile; what it holds is the pack's."""

    def __getattr__(self, name):
        if name == "__path__" and self.__name__ in PACKAGES:
            outer, _, last = self.__name__.rpartition(".")
            return [f"{{place}}/{{last}}" for place in importlib.import_module(outer).__path__]
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        module = importlib.import_module(MODULES[self.__name__])
        public = [one for one in vars(module) if one[:1] != "_"]
        return getattr(module, name, public) if name == "__all__" else getattr(module, name)


def stand_in():
    """Be there before the pile is; returns what takes that back."""
    new = {{name: StandIn(name) for name in MODULES if name not in sys.modules}}
    package, start = vars(sys.modules["{base}"]), len("{base}.")
    places = [(sys.modules, name, one) for name, one in new.items()]
    places += [(package, name[start:], one) for name, one in new.items() if "." not in name[start:]]
    for held, name, module in places:
        held[name] = module

    def undo():
        for held, name, module in places:
            if held.get(name) is module:
                del held[name]

    return undo
'''


CODE = "code."
"""What a guarded body calls the module whose code it stands before, `code_….py`."""


class Guard(NamedTuple):
    """What has to hold for a module of a pile to be imported by the others."""

    requires: Sequence[str] = ()
    is_required: bool = True
    test: str = ""  # the condition that is no requirement
    known: Sequence[str] = ()  # statements that say what its names are
    place: str = ""

    def body(self, code: str, names: Sequence[str], title: str) -> str:
        """Write the body that stands before the module's code."""
        return _GUARDED.format(
            title=title,
            code=code,
            place=self.place,
            known=indent("\n".join(self.known), "    "),
            test=self.test,
            reason=f"{self.test} does not hold ({self.place})",
            pack=code.rpartition(".")[0],
            name=last_of(code),
            imported=indent(f"\n{from_import(code, names)}", "    ") if names else "",
        )


def guarded(row: Patch) -> Patch:
    """Have a row take what it needs by way of a body that stands before the module's code."""
    changes = tuple(one.__replace__(by=CODE + one.body_name) for one in row.changes)
    return row.__replace__(changes=changes, when=row.when or "when")


def common_package(modules: Iterable[str]) -> str:
    """Name the innermost package that some modules are in."""
    several = zip(*(one.split(".")[:-1] for one in modules), strict=False)
    return ".".join(parts[0] for parts in takewhile(lambda one: len({*one}) == 1, several))


def last_of(module: str) -> str:
    """Name a module without its package."""
    return module.rpartition(".")[2]


def guard_of(reader: PileReader, readers: Iterable[PileReader], project: str) -> Guard:
    """Find the conditions under which the other modules import one."""
    found = None
    for other in readers:
        for name, tests, line in other.imports:
            if name == reader.module.name and other is not reader and not (found and tests):
                found = other, tests, line
    return _guard(*found, project) if found else Guard()


def _guard(importer: PileReader, tests: Sequence[ast.expr], line: int, project: str) -> Guard:
    versions = [found for one in tests if (found := _version(one))]
    others = [one for one in tests if not _version(one) and not _is_try(one)]
    requires = [f"{project}{one}" for one in versions]
    is_required = not any(map(_is_try, tests))
    if not others:
        return Guard(requires, is_required)
    test = others[0] if len(others) == 1 else ast.BoolOp(ast.And(), others)
    place = f"{importer.module.path}:{line}"
    return Guard(requires, is_required, ast.unparse(test), _known(importer, names_in(test)), place)


def _is_try(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant)


def _version(test: ast.expr) -> str:
    """Read `…version_is("1.0")` as a requirement; '' for another condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = _version(test.operand)
        return f">={found[2:]},!={found[2:]}" if found[:2] == "==" else ""
    is_call = isinstance(test, ast.Call) and dotted(test.func).endswith("version_is")
    first = test.args[:1] if is_call and isinstance(test, ast.Call) else []
    texts = [one.value for one in first if isinstance(one, ast.Constant)]
    return f"=={texts[0]}" if texts and isinstance(texts[0], str) else ""


def _known(importer: PileReader, wanted: Iterable[str]) -> list[str]:
    """Quote the statements that say what names are, from the last on."""
    names, found = set(wanted), list[str]()
    for node in reversed(importer.module.tree.body):
        if bound(node) & names:
            whole = ast.parse(ast.unparse(node))
            for one in ast.walk(whole):
                if isinstance(one, ast.ImportFrom):
                    one.module, one.level = importer.module.absolute(one.module, one.level), 0
            found.append(ast.unparse(whole))
            names |= names_in(node)
    return found[::-1]


def bound(node: ast.stmt) -> set[str]:
    """Name what a statement of a module binds there, in whatever case."""
    return {node.name} if isinstance(node, SCOPES) else stored(node)


def old_pile(
    base: str, modules: Mapping[str, str], packages: Iterable[str], project: str, origin: str
) -> tuple[Patch, str]:
    """Make the row and the body that keep a pile switched off while its rows run."""
    lines = "".join(f'    "{name}": "{code}",\n' for name, code in modules.items())
    patch = Patch(
        name="old-pile",
        body="patch_old_pile",
        requires=(f"{project}>=0,<9999",),
        roles=frozenset(Role),
        changes=(BeforeImport(base, call="stand_in"),),
        why=f"The rows of this pack make the changes of {origin}: they must not be made twice.",
        upstream=f"none: adopted from {origin}",
        sunset="the pile is gone",
    )
    return patch, _OLD_PILE.format(base=base, modules=lines, packages=sorted(packages))
