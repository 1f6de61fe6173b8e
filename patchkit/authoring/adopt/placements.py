"""What a module of a pile puts where: assignments to what others' modules and classes have."""

import ast
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Signature,
    dotted,
    expressions,
    signature_of,
    statements,
)
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.adopt.definitions import is_check, names_in

Read = Callable[["PileReader", ast.stmt, "Around"], Iterable["Placement"]]
"""A dialect: what a statement or a call says of placements, in its own way."""

_SET = (ast.Attribute, ast.Subscript)
_IN_PLACE = {*dir(list), *dir(dict), *dir(set)} - {*dir(tuple), *dir(frozenset), *dir(Mapping)}
_MODULES = ("sys.modules.get", "importlib.import_module", "import_module")


class Around(NamedTuple):
    """The code around a statement: what its names stand for, and when it runs."""

    scope: "Names"
    tests: Sequence[ast.expr] = ()  # the conditions that it is under; a text for what is no `if`
    function: str = ""  # the function that it is in
    loop: ast.For | None = None  # which is taken apart, a turn at a time

    @property
    def is_plain(self) -> bool:
        """Whether it runs in any case, at the top of the module."""
        return not self.tests and not self.function

    def under(self, test: ast.expr) -> "Around":
        """Say what is around the code of a block."""
        return self._replace(tests=(*self.tests, test))


@dataclass(eq=False)
class Placement:
    """One object of the pile, the places that get it, and the code that puts it there.

    Args:
        places: dotted names, such as `vllm.v1.request.Request.append`.
        value: what comes there, in names of the module.
        node: the code that a body has no more; it has `text` instead, with `{}` for the name of
            the value there.
        is_plain: whether it is put there in any case.
        key: what names a row of its own; '' for one row of a module.
    """

    statement: ast.stmt
    places: Sequence[str]
    value: ast.expr
    node: ast.AST
    text: str
    is_plain: bool = True
    is_new: bool = False  # whether the module has seen that nothing is there yet
    is_either: bool = False  # whether it is put in one of the places
    function: str = ""
    reason: str = ""  # why no row says it
    rebinds: bool = False  # whether it follows the copies of what it replaces
    key: str = ""
    why: str = ""
    condition: ast.expr | None = None
    verify: ast.expr | None = None
    priority: int = 0
    builds: bool = False  # whether the value is called for what comes there


@dataclass
class Names:
    """What names stand for, as far as imports and plain assignments tell.

    Args:
        places: dotted names; several where a name is bound in several ways.
        texts: strings, likewise.
        values: what names of a loop stand for in one of its turns.
    """

    places: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)

    def inner(self, names: Iterable[str] = ()) -> "Names":
        """Make the scope of code that has names of its own; it begins with what is known."""
        own = set(names)
        places, texts = (
            {name: list(several) for name, several in known.items() if name not in own}
            for known in (self.places, self.texts)
        )
        return Names(places, texts, dict(self.values))

    def bind(self, node: ast.expr, value: ast.expr, *, is_plain: bool = True) -> None:
        """Take note of what an assignment gives a name; a plain one forgets what that was."""
        if isinstance(node, ast.Name):
            _add(self.places, node.id, self.dotted(value), is_plain=is_plain)
            _add(self.texts, node.id, self.strings(value), is_plain=is_plain)

    def turn(self, node: ast.expr, value: ast.expr) -> "Names":
        """Make the scope of one turn of a loop."""
        pairs = [(node, value)]
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            pairs = list(zip(node.elts, value.elts, strict=False))
        inner = self.inner(one.id for one, _ in pairs if isinstance(one, ast.Name))
        for one, given in pairs:
            if isinstance(one, ast.Name):
                inner.values[one.id] = given
                inner.bind(one, given)
        return inner

    def bind_import(self, node: ast.stmt, module: ModuleTree, *, is_plain: bool) -> None:
        """Take note of what an import binds."""
        for name, place, _ in imported(node, module):
            _add(self.places, name, [str(place).replace(":", ".")], is_plain=is_plain)

    def dotted(self, node: ast.expr) -> list[str]:
        """Name the places that an expression may stand for."""
        if isinstance(node, ast.Name):
            return self.places.get(node.id, [])
        if isinstance(node, ast.Attribute):
            return [f"{place}.{node.attr}" for place in self.dotted(node.value)]
        if isinstance(node, ast.IfExp):
            return [*self.dotted(node.body), *self.dotted(node.orelse)]
        if isinstance(node, (ast.Tuple, ast.List)):
            return [place for one in node.elts for place in self.dotted(one)]
        if isinstance(node, ast.Call):
            is_module = dotted(node.func) in _MODULES and bool(node.args)
            return self.strings(node.args[0]) if is_module else []
        if isinstance(node, ast.Subscript):
            return self._item(node)
        return []

    def _item(self, node: ast.Subscript) -> list[str]:
        keys, owner = self.strings(node.slice), dotted(node.value)
        if owner == "sys.modules":
            return keys
        if owner.endswith(".__dict__"):
            assert isinstance(node.value, ast.Attribute)
            return [f"{one}.{key}" for one in self.dotted(node.value.value) for key in keys]
        return [f"{one}[{key!r}]" for one in self.dotted(node.value) for key in keys]

    def strings(self, node: ast.expr) -> list[str]:
        """Tell the strings that an expression may be."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self.texts.get(node.id, [])
        if isinstance(node, ast.FormattedValue):
            return self.strings(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [self.strings(one) for one in node.values]
            return ["".join(one[0] for one in parts)] if all(parts) else []
        if isinstance(node, (ast.Tuple, ast.List)):
            return [text for one in node.elts for text in self.strings(one)]
        return []


def _add(known: dict[str, list[str]], name: str, more: Iterable[str], *, is_plain: bool) -> None:
    known[name] = list(dict.fromkeys([*(() if is_plain else known.get(name, ())), *more]))


class PileReader:
    """Reads one module of a pile; nothing of it is run."""

    def __init__(self, module: ModuleTree, dialects: Sequence[Read] = ()) -> None:
        self.module = module
        self.saved: dict[str, tuple[ast.Assign, str]] = {}
        """Names of originals that the module keeps: the statement, and whose original it is."""
        self.placements: list[Placement] = []
        self.imports: list[tuple[str, Sequence[ast.expr], int]] = []
        """Modules that it imports, under which conditions, and in which line."""
        self.scope = Names()
        self._dialects = dialects
        self._called = _called(module.tree)
        plain = (one.value for one in module.tree.body if isinstance(one, ast.Expr))
        self._begun = {"", *(dotted(one.func) for one in plain if isinstance(one, ast.Call))}
        self._functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Around]] = []

    def read(self) -> None:
        """Go through the module, then through its functions, which know all its names."""
        self._block(self.module.tree.body, Around(self.scope))
        for function, around in self._functions:  # it grows
            arguments = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            inner = Around(around.scope.inner(arguments), function=function.name)
            self._block(function.body, inner)
        self._read_again()

    def _read_again(self) -> None:
        """Leave places that the module reads once it has set them: a row sets them later."""
        early = set[str]()
        several = [one for one in statements(self.module.tree.body) if not is_check(one)]
        for one in (each for statement in several for each in expressions(statement)):
            if isinstance(one, _SET) and isinstance(one.ctx, ast.Load):
                ends = ((p, p.statement.end_lineno or 0) for p in self.placements if not p.reason)
                places = {place for each, end in ends if end < one.lineno for place in each.places}
                early |= places & {*self.scope.dotted(one)}
        for each in self.placements:
            if early & {*each.places}:
                each.reason = each.reason or "the module reads it again, before a row sets it"

    def _block(self, body: Iterable[ast.stmt], around: Around) -> None:
        for node in body:
            self._statement(node, around)
            if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return):
                around = around.under(ast.UnaryOp(ast.Not(), node.test))

    def _statement(self, node: ast.stmt, around: Around) -> None:
        by_dialect = [one for read in self._dialects for one in read(self, node, around)]
        self.placements += by_dialect
        calls = (one.func for one in expressions(node) if isinstance(one, ast.Call))
        for one in calls if not around.function or around.function in self._called else ():
            if isinstance(one, ast.Attribute) and one.attr in _IN_PLACE and not by_dialect:
                self._leave(node, one.value, around)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            around.scope.bind_import(node, self.module, is_plain=not around.tests)
            if not around.function:
                wholes = [(one.module, str(one)) for _, _, one in imported(node, self.module)]
                found = dict.fromkeys(name.replace(":", ".") for both in wholes for name in both)
                self.imports += [(one, around.tests, node.lineno) for one in found]
        elif isinstance(node, DEFS):
            self._functions.append((node, around))
        elif isinstance(node, ast.Assign):
            self._assignment(node, around)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            around.scope.bind(node.target, node.value, is_plain=not around.tests)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not by_dialect:
            self._call(node, node.value, around)
        else:
            self._compound(node, around)

    def _compound(self, node: ast.stmt, around: Around) -> None:
        if isinstance(node, ast.For):
            self._loop(node, around)
        elif isinstance(node, ast.If):
            self._block(node.body, around.under(node.test))
            self._block(node.orelse, around.under(ast.UnaryOp(ast.Not(), node.test)))
        elif isinstance(node, ast.With):
            self._block(node.body, around.under(ast.Constant("with")))
        elif isinstance(node, ast.Try):
            inner = around.under(ast.Constant("try"))
            handlers = (one.body for one in node.handlers)
            for block in (node.body, *handlers, node.orelse, node.finalbody):
                self._block(block, inner)
        elif not isinstance(node, ast.ClassDef):
            self._odd(node, node, around)

    def _assignment(self, node: ast.Assign, around: Around) -> None:
        several = [self._foreign(around.scope.dotted(one)) for one in node.targets]
        if len(several) > 1 and all(several):  # `a.x = b.x = value`
            places = [place for some in several for place in some]
            text = f"{{}} = {ast.unparse(node.value)}"
            self.placements.append(self.placed(node, places, node.value, node, text, around))
            return
        for target, places in zip(node.targets, several, strict=True):
            if isinstance(target, ast.Name):
                if around.is_plain and (saved := self._foreign(around.scope.dotted(node.value))):
                    self.saved[target.id] = node, saved[0]
                around.scope.bind(target, node.value, is_plain=not around.tests)
            elif places and isinstance(target, _SET) and dotted(target.value) != "sys.modules":
                self.placements.append(self.placed(node, places, node.value, target, "{}", around))
            else:
                self._odd(node, target, around)

    def _odd(self, statement: ast.stmt, node: ast.AST, around: Around) -> None:
        """List what is set or deleted by code that no row is made of."""
        for one in ast.walk(node):
            if isinstance(one, _SET) and not isinstance(one.ctx, ast.Load):
                self._leave(statement, one if around.scope.dotted(one) else one.value, around)

    def _leave(self, statement: ast.stmt, node: ast.expr, around: Around) -> None:
        if places := self._foreign(around.scope.dotted(node)):
            found = self.placed(statement, places, node, statement, "", around)
            found.reason = "it changes or deletes what is there, or sets it as no row does"
            self.placements.append(found)

    def _call(self, node: ast.Expr, call: ast.Call, around: Around) -> None:
        if dotted(call.func) == "setattr" and len(call.args) == 3:
            owners, names = around.scope.dotted(call.args[0]), around.scope.strings(call.args[1])
            text = f"{{}} = {ast.unparse(call.args[2])}"
            places = [f"{one}.{name}" for one in owners for name in names or ["?"]]
            if places := self._foreign(places):
                found = self.placed(node, places, call.args[2], node, text, around)
                found.reason = found.reason if names else "the name that it sets is not told"
                self.placements.append(found)

    def _loop(self, node: ast.For, around: Around) -> None:
        if self._sweep(node, around):
            return
        turns = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else ()
        for one in turns:
            turn = around._replace(loop=node, scope=around.scope.turn(node.target, one))
            self._block(node.body, turn)
        if not turns:
            around.scope.bind(node.target, node.iter)
            self._block(node.body, around.under(ast.Constant("for")))

    def _sweep(self, node: ast.For, around: Around) -> bool:
        """Read a loop over all modules: where one holds an original, it gets something else."""
        if "sys.modules" not in ast.unparse(node.iter):
            return False
        for one in ast.walk(node):
            if not (isinstance(one, ast.If) and isinstance(one.body[0], ast.Assign)):
                continue
            statement = one.body[0]
            asked = ast.walk(one.test)
            originals = [each.comparators[0] for each in asked if isinstance(each, ast.Compare)]
            several = (place for each in originals for place in around.scope.dotted(each))
            if places := self._foreign(several):
                found = self.placed(statement, places, statement.value, node, "pass", around)
                found.rebinds = True
                self.placements.append(found)
        return True

    def placed(
        self,
        statement: ast.stmt,
        places: Sequence[str],
        value: ast.expr,
        node: ast.AST,
        text: str,
        around: Around,
    ) -> Placement:
        """Make a placement of what some code says; where that runs later, it has a reason."""
        turned = _Turned(around.scope.values).visit(ast.parse(ast.unparse(value), mode="eval").body)
        found = Placement(statement, places, turned, node, text, around.is_plain)
        asked = {name for test in around.tests for name in names_in(test)}
        tests = [*map(ast.unparse, around.tests)]
        is_each = isinstance(node, (ast.For, ast.Assign)) or "'for'" in tests
        found.is_either = len(places) > 1 and not is_each
        found.is_new = any(" not in " in one for one in tests)
        found.function = around.function
        is_named = isinstance(turned, ast.Name)
        if around.loop is not None and ast.dump(turned) != ast.dump(value):
            found.node, found.text = around.loop, "pass"
            is_named &= len([*around.loop.body, *around.loop.orelse]) == 1
        if (not is_named and found.node is around.loop) or asked & {*around.scope.values}:
            found.reason = "what it sets differs from turn to turn of a loop, and has no name"
        if found.text == "pass" and (around.tests or around.function not in self._begun):
            found.reason = "it is a loop that runs under a condition, or in a function"
        if around.function and around.function not in self._called:
            found.reason = f"it is set when {around.function} runs, not as the module is imported"
        return found

    def signature(self, found: Placement) -> Signature | None:
        """Read the parameters of what comes there; None where that is no `def` of the module."""
        name = dotted(found.value)
        several = [one for one in ast.walk(self.module.tree) if isinstance(one, DEFS)]
        given = [signature_of(one.args) for one in several if one.name == name]
        return given[0] if len(given) == 1 else None

    def derives(self, found: Placement) -> bool:
        """Whether a class of the module derives from the one whose place it takes."""
        return any(
            isinstance(one, ast.ClassDef)
            and one.name == dotted(found.value)
            and any(set(self.scope.dotted(base)) & set(found.places) for base in one.bases)
            for one in self.module.tree.body
        )

    def _foreign(self, places: Iterable[str]) -> list[str]:
        """Leave out what is the module's own, and what is Python's."""
        named = [one for one in places if "." in one or "[" in one]
        others = [one for one in named if not one.startswith(f"{self.module.name}.")]
        return [one for one in others if one.partition(".")[0] not in sys.stdlib_module_names]


def _called(tree: ast.Module) -> set[str]:
    """Name the functions that run as a module is imported, with those that they call."""
    functions = {one.name: one for one in tree.body if isinstance(one, SCOPES)}
    nodes: list[ast.AST] = [one for one in tree.body if not isinstance(one, SCOPES)]
    nodes += [mark for one in functions.values() for mark in one.decorator_list]
    found: set[str] = set()
    for node in nodes:  # it grows
        calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
        names = {one.id for one in (node, *calls) if isinstance(one, ast.Name)}
        nodes += [functions[name] for name in names - found if name in functions]
        found |= names
    return found


class _Turned(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put in what a name stands for in one turn of a loop."""
        return self._values.get(node.id, node)
