"""Turns the conditions under which a pile imports a module into requirements and a `when`.

A pile is a package that patches upstream as it is imported. Where it imports a module as in
`if version_is("0.9.0"): from . import patch_lib`, the rows for that module need the same condition.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import dedent, indent
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES
from patchkit.analysis.uses.scopes import stored
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.asked_modules import waiting_of_guard
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import PileImport
from patchkit.authoring.piles.version_expressions import Upstream
from patchkit.authoring.piles.version_tests import VersionTests, parts_of
from patchkit.authoring.scaffold.rows import from_import
from patchkit.authoring.source.definitions import names_in
from patchkit.core.rows.declaration import BeforeImport, Change, Patch, Role

_GUARDED = '''# {title}
"""Takes what the row needs of `{code}`, as {place} imports it."""


{waiting}def when():
    """Ask what {place} asks."""
{known}
    if {test}:
        return True
    return {reason!r}


if when() is True:
{first}    from {pack} import {name} as code{imported}
'''
_BEGUN = '''# {title}
"""Imports `{code}` after the pile's package, as whoever imports the pile's module does."""

{first}from {pack} import {name} as code{imported}
'''
_OLD_PILE = '''"""Whoever imports a module of {bases} gets the pack's: the pile patches nothing."""

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

    def __setattr__(self, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(importlib.import_module(MODULES[self.__name__]), name, value)

    def __delattr__(self, name):
        delattr(importlib.import_module(MODULES[self.__name__]), name)


def put_into(base):
    """Put the modules of a package there before it is; returns what takes that back."""
    start = f"{{base}}."
    names = [name for name in MODULES if name.startswith(start) and name not in sys.modules]
    places = []
    for name in names:
        module = StandIn(name)
        places.append((sys.modules, name, module))
        inner = name.removeprefix(start)
        if "." not in inner:
            places.append((vars(sys.modules[base]), inner, module))
    for held, name, module in places:
        held[name] = module

    def undo():
        for held, name, module in places:
            if held.get(name) is module:
                del held[name]

    return undo
'''
_STAND_IN = '''

def {name}():
    """Be there before the modules of {base} are; returns what takes that back."""
    return put_into("{base}")
'''

_UNCLEAR = (
    "it asks for the version, and no bounds say the same: the rows ask it at run time"
)
_MOVED = frozenset({"__file__", "__name__", "__package__", "__path__", "__spec__"})
_MOVED_REASON = (
    "the body asks it, and there it is that of the body: the rows may not be applied"
)
CODE = "code."
"""The prefix of names in a guarded body: it imports the module with the code as `code`."""


class Guard(NamedTuple):
    """The conditions under which the other modules of a pile import one.

    Args:
        requires: The conditions on the version of upstream, as requirements.
        is_required: Whether the import is in no `try`, so that the pile fails if it fails.
        test: All other conditions, as an expression; '' for none.
        statements: The statements of the importing module that bind the names of the test.
        place: The file and the line of the import, such as `pile/__init__.py:3`.
        remarks: What a person has to look at, and why.
    """

    requires: Sequence[str] = ()
    is_required: bool = True
    test: str = ""
    statements: Sequence[str] = ()
    place: str = ""
    remarks: Sequence[tuple[str, str]] = ()

    def body(self, code: str, names: Sequence[str], title: str, first: str) -> str:
        """Return the text of a body that imports the module's code only if the test holds.

        Args:
            code: The module of the pack that has the code.
            names: The functions of the code to which the rows refer, for `when` and `verify`.
            title: The comment of the first line.
            first: The import that comes first, with an empty line; '' for none.
        """
        imports = indent(f"\n{from_import(code, names)}", "    ") if names else ""
        if not self.test:
            return _BEGUN.format(
                title=title,
                code=code,
                first=first,
                pack=code.rpartition(".")[0],
                name=last_of(code),
                imported=dedent(imports),
            )
        return _GUARDED.format(
            title=title,
            code=code,
            place=self.place,
            waiting=waiting_of_guard(self.statements),
            known=indent("\n".join(self.statements), "    "),
            test=self.test,
            reason=f"{self.test} does not hold ({self.place})",
            first=indent(first, "    "),
            pack=code.rpartition(".")[0],
            name=last_of(code),
            imported=imports,
        )


def guarded(row: Patch, *, has_test: bool) -> Patch:
    """Return a row that refers to a guarded body: `by="code.f"` in place of `by="f"`.

    A guarded body imports the module with the code: only if the guard's test holds, or after the
    pile's outermost package.

    Args:
        row: The row as it refers to the module with the code.
        has_test: Whether the guard has a test.
    """
    changes = tuple(
        change.__replace__(by=CODE + change.body_name) for change in row.changes
    )
    # "when" is the function of the guarded body that asks the guard's test.
    own_when = "when" if has_test else None
    return row.__replace__(changes=changes, when=row.when or own_when)


def common_package(modules: Iterable[str]) -> str:
    """Return the innermost package that contains all of some modules; '' where there is none.

    Args:
        modules: The dotted names of the modules.
    """
    packages = [module.split(".")[:-1] for module in modules]
    shared_parts = list[str]()
    # The first part of each package, then the second of each, up to the end of the shortest.
    for parts in zip(*packages, strict=False):
        if len(set(parts)) > 1:
            break
        shared_parts.append(parts[0])
    return ".".join(shared_parts)


def last_of(module: str) -> str:
    """Return the name of a module without its package.

    Args:
        module: The dotted name of the module.
    """
    return module.rpartition(".")[2]


def guard_of(
    reader: PileReader, readers: Iterable[PileReader], upstream: Upstream
) -> Guard:
    """Return the conditions under which the other modules of a pile import one.

    If one of them imports it unconditionally, there are none; else the first import counts.

    Args:
        reader: The reader of the module that is imported.
        readers: The readers of all modules.
        upstream: The package that the pile patches.
    """
    conditional_guard = None
    for importer in readers:
        if importer is reader:
            continue
        for pile_import in importer.imports:
            if pile_import.module != reader.module.name:
                continue
            if not pile_import.conditions:
                return Guard()
            if conditional_guard is None:
                conditional_guard = _guard(importer, pile_import, upstream)
    return conditional_guard or Guard()


def _guard(importer: PileReader, pile_import: PileImport, upstream: Upstream) -> Guard:
    """Turn the conditions of an import into a guard: requirements where they test a version."""
    versions = VersionTests(importer.scope, importer.module, upstream)
    bounds = list[str]()
    tests = list[ast.expr]()
    remarks = list[tuple[str, str]]()
    is_required = True
    for condition in parts_of(pile_import.conditions):
        own_bounds = versions.bounds(condition)
        if own_bounds:
            bounds += own_bounds
        elif _is_block(condition):
            is_required = False  # the pile may go on without the module, as in a `try`
        else:
            tests.append(condition)
            if versions.is_unclear(condition):
                remarks.append((ast.unparse(condition), _UNCLEAR))
    requires = list[str]()
    if bounds:
        # Several conditions may give the same bound.
        requires.append(upstream.project + ",".join(dict.fromkeys(bounds)))
    if not tests:
        return Guard(requires, is_required)
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    statements = _statements_for(importer, names_in(test))
    place = f"{importer.module.path}:{pile_import.line}"
    test_text = ast.unparse(test)
    for text in (*statements, test_text):
        if not _MOVED.isdisjoint(names_in(ast.parse(text))):
            remarks.append((text, _MOVED_REASON))
    return Guard(requires, is_required, test_text, statements, place, remarks)


def remarks_on(guard: Guard, module: str) -> Iterator[UnexpressedCode]:
    """Yield what a person has to look at in conditions, for the list.

    Args:
        guard: The conditions under which a module is imported.
        module: The name of the module.
    """
    path, _, line = guard.place.rpartition(":")
    for code, reason in guard.remarks:
        yield UnexpressedCode(path, int(line), code, reason, module, kind=TO_LOOK_AT)


def _is_block(condition: ast.expr) -> bool:
    """Return whether a condition stands for a block that is no `if`, such as `"try"`."""
    return isinstance(condition, ast.Constant)


def _statements_for(importer: PileReader, names: Iterable[str]) -> list[str]:
    """Return the statements of a module that bind some names, and those that these need.

    Relative imports in them become absolute.

    Args:
        importer: The reader of the module.
        names: The names.
    """
    needed_names = set(names)
    texts = list[str]()
    # From the end, as a statement uses names that are bound above it.
    for node in reversed(importer.module.tree.body):
        if bound(node).isdisjoint(needed_names):
            continue
        copied = ast.parse(ast.unparse(node))
        for part in ast.walk(copied):
            if isinstance(part, ast.ImportFrom):
                part.module = importer.module.absolute(part.module, part.level)
                part.level = 0
        texts.append(ast.unparse(copied))
        needed_names |= names_in(node)
    return texts[::-1]


def bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds, even if only under a condition.

    Args:
        node: The statement.
    """
    if isinstance(node, SCOPES):
        return {node.name}
    return stored(node)


def packages_of(modules: Iterable[str]) -> list[str]:
    """Return the packages that contain modules: one for each top-level package.

    Args:
        modules: The dotted names of the modules.

    Returns:
        The packages; '' is among them if a module lies in none.
    """
    by_top: dict[str, list[str]] = {}
    for module in modules:
        top = module.partition(".")[0]
        by_top.setdefault(top, []).append(module)
    return [common_package(inner) for inner in by_top.values()]


def old_pile(
    modules: Mapping[str, str], packages: Iterable[str], project: str, origin: str
) -> tuple[Patch, str]:
    """Return the row and the body that keep a pile from patching upstream beside its rows.

    The body puts stand-ins into `sys.modules`, so that an import of the pile gets the pack's code.

    Args:
        modules: By module of the pile, the module of the pack that has its code.
        packages: The names of those modules that are packages.
        project: The name of upstream's distribution.
        origin: The name of the pile in texts.

    Returns:
        The row, and the text of its body.
    """
    lines = "".join(f'    "{name}": "{code}",\n' for name, code in modules.items())
    bases = packages_of(modules)
    body = _OLD_PILE.format(
        bases=", ".join(bases), modules=lines, packages=sorted(packages)
    )
    changes = list[BeforeImport]()
    for base in bases:
        name = "stand_in"
        if changes:
            name = f"stand_in_{len(changes) + 1}"
        body += _STAND_IN.format(name=name, base=base)
        changes.append(BeforeImport(base, call=name))
    why = f"The rows of this pack make the changes of {origin}: they must not be made twice."
    return old_pile_row(changes, why, project, origin), body


def old_pile_row(
    changes: Iterable[Change], why: str, project: str, origin: str
) -> Patch:
    """Return the row that keeps a pile off.

    Args:
        changes: Its changes.
        why: Its reason.
        project: The name of upstream's distribution.
        origin: The name of the pile in texts.
    """
    return Patch(
        name="old-pile",
        body="patch_old_pile",
        requires=(f"{project}>=0,<9999",),  # any release
        roles=frozenset(Role),
        changes=tuple(changes),
        why=why,
        upstream=f"none: adopted from {origin}",
        sunset="the pile is gone",
    )
