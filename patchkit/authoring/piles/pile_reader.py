"""Reads which attributes of other modules and classes a module of a pile sets, and to what.

A pile is a package that patches upstream as it is imported. Its code is parsed, and never run.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    dotted,
)
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.piles.changed_again import refuse_what_is_changed_again
from patchkit.authoring.piles.other_changes import (
    changed_by_calls,
    foreign,
    is_settable,
    stores,
)
from patchkit.authoring.piles.placements import (
    PileImport,
    Placement,
    SavedOriginal,
    StatementContext,
)
from patchkit.authoring.piles.read_again import refuse_what_is_read_again
from patchkit.authoring.piles.runs_at_import import RunsAtImport
from patchkit.authoring.source.calls_at_import import needs_no_arguments
from patchkit.authoring.source.loops import swept, value_in_turn
from patchkit.authoring.source.main_programs import is_main_program
from patchkit.authoring.source.name_scopes import NameScope, parameters_of

Dialect = Callable[["PileReader", ast.stmt, StatementContext], Iterable[Placement]]
"""Reads placements from a statement that sets attributes by other means than an assignment."""

# Why no row can do what a statement does, for the report of `patchkit adopt`.
_MUTATES = "it changes or deletes what is there, or sets it as no row does"
_NAME_UNKNOWN = "the name that it sets is not told"


class PileReader:
    """Reads the placements of one module: statements that set attributes of other modules.

    Args:
        module: The module.
        dialects: The readers of statements other than assignments.
    """

    def __init__(self, module: ModuleTree, dialects: Sequence[Dialect] = ()) -> None:
        self.module = module
        self.saved: dict[str, SavedOriginal] = {}
        """The originals that the module saves before it replaces them, by its names for them."""
        self.placements: list[Placement] = []
        self.imports: list[PileImport] = []
        self.scope = NameScope()
        self._dialects = dialects
        self._runs_at_import = RunsAtImport(module.tree)
        # Any of these may be called to patch, also by the decorator that registers it.
        self._perhaps_called = {
            node.name
            for node in module.tree.body
            if isinstance(node, DEFS) and needs_no_arguments(node)
        }
        self._unread_functions = deque[
            tuple[ast.FunctionDef | ast.AsyncFunctionDef, StatementContext]
        ]()

    def read(self) -> None:
        """Read the module's statements, then its functions, which may use any of its names."""
        self._read_block(self.module.tree.body, StatementContext(self.scope))
        while self._unread_functions:
            function, context = self._unread_functions.popleft()
            parameters = parameters_of(function)
            scope = context.scope.inner(parameters)
            is_method = context.function.endswith(f".{function.name}")
            name = context.function if is_method else function.name
            self._read_block(function.body, StatementContext(scope, function=name))
        refuse_what_is_read_again(self.placements, self.module, self.scope)
        refuse_what_is_changed_again(self.placements, self._runs_at_import)

    @property
    def expressible(self) -> list[Placement]:
        """The placements that a row can make."""
        return [placement for placement in self.placements if placement.is_expressible]

    def _read_block(self, body: Iterable[ast.stmt], context: StatementContext) -> None:
        """Read the statements of a block one after another."""
        for statement in body:
            self._read_statement(statement, context)
            if isinstance(statement, ast.If) and isinstance(
                statement.body[-1], ast.Return
            ):
                # What follows runs only if the test is false.
                context = context.unless(statement.test)

    def _read_statement(self, node: ast.stmt, context: StatementContext) -> None:
        """Read one statement by its kind, and the blocks in it; dialects are asked first."""
        from_dialects = list[Placement]()
        for dialect in self._dialects:
            from_dialects.extend(dialect(self, node, context))
        self.placements += from_dialects
        if not from_dialects:
            self._refuse_mutations(node, context)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._read_import(node, context)
        elif isinstance(node, DEFS):
            self._unread_functions.append((node, context))
        elif isinstance(node, ast.Assign):
            self._read_assignment(node, context)
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.value
        ):
            context.scope.bind(node.target, node.value, is_plain=not context.conditions)
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and not from_dialects
        ):
            self._read_call(node, node.value, context)
        else:
            self._read_compound(node, context)

    def _refuse_mutations(
        self, node: ast.stmt, context: StatementContext, *, is_read: bool = True
    ) -> None:
        """Record what the calls in a statement change, such as `lib.NAMES.append(1)`."""
        function = context.function
        is_run = self._runs_at_import.has(function) or function in self._perhaps_called
        for part, names in changed_by_calls(
            node, context.scope, is_run=is_run, is_read=is_read
        ):
            self._refuse(node, part, names, context)

    def _read_import(
        self, node: ast.Import | ast.ImportFrom, context: StatementContext
    ) -> None:
        """Read an import: what its names stand for, and which modules the module imports."""
        context.scope.bind_import(node, self.module, is_plain=not context.conditions)
        if context.function:
            return
        modules: dict[str, None] = {}
        for _name, _stands_for, target in imported(node, self.module):
            modules[target.module] = None
            # `from package import name` may import the module `package.name`.
            modules[str(target).replace(":", ".")] = None
        for module in modules:
            self.imports.append(PileImport(module, context.conditions, node.lineno))

    def _read_compound(self, node: ast.stmt, context: StatementContext) -> None:
        """Read the blocks of a compound statement; of another one, refuse what it sets."""
        if isinstance(node, ast.For):
            self._read_loop(node, context)
        elif isinstance(node, ast.If) and is_main_program(node):
            # Nothing runs a module of a pile, or a body, as a program.
            self._read_block(node.orelse, context)
        elif isinstance(node, ast.If):
            self._read_block(node.body, context.under(node.test))
            self._read_block(node.orelse, context.unless(node.test))
        elif isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self._refuse_stores(node, item.optional_vars, context)
            self._read_block(node.body, context.under_block("with"))
        elif isinstance(node, ast.Try):
            inner = context.under_block("try")
            self._read_block(node.body, inner)
            for handler in node.handlers:
                self._read_block(handler.body, inner)
            self._read_block(node.orelse, inner)
            self._read_block(node.finalbody, inner)
        elif isinstance(node, ast.ClassDef):
            self._read_class(node, context)
        else:
            self._refuse_within(node, context)

    def _read_class(self, node: ast.ClassDef, context: StatementContext) -> None:
        """Read the methods of a class, and refuse what its body sets."""
        inner = context._replace(scope=context.scope.inner())
        for statement in node.body:
            if isinstance(statement, DEFS):
                method = inner._replace(function=f"{node.name}.{statement.name}")
                self._unread_functions.append((statement, method))
            elif isinstance(statement, ast.ClassDef):
                self._read_class(statement, inner)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                inner.scope.bind_import(statement, self.module, is_plain=True)
            else:
                self._refuse_mutations(statement, inner, is_read=False)
                self._refuse_within(statement, inner)

    def _read_assignment(self, node: ast.Assign, context: StatementContext) -> None:
        """Read an assignment: it binds names, or sets attributes of other modules."""
        names_by_target = [
            self._foreign(context.scope.dotted_names_of(target))
            for target in node.targets
        ]
        # `a.x = b.x = value` is one placement of two attributes.
        are_settable = all(map(is_settable, node.targets))
        if len(node.targets) > 1 and are_settable and all(names_by_target):
            dotted_names = [name for names in names_by_target for name in names]
            text = f"{{}} = {ast.unparse(node.value)}"
            placement = self.make_placement(
                node, dotted_names, node.value, node, text, context
            )
            self.placements.append(placement)
            return
        for target, dotted_names in zip(node.targets, names_by_target, strict=True):
            if isinstance(target, ast.Name):
                self._bind(node, target, context)
            elif is_settable(target) and dotted_names:
                # In the body, `lib.f = value` becomes `name = value`.
                placement = self.make_placement(
                    node, dotted_names, node.value, target, "{}", context
                )
                self.placements.append(placement)
            else:
                # `a, b = lib.C, lib.D` may bind names, too.
                context.scope.bind(target, node.value, is_plain=context.is_plain)
                self._refuse_stores(node, target, context)

    def _bind(
        self, node: ast.Assign, target: ast.Name, context: StatementContext
    ) -> None:
        """Read an assignment to a name; `original = lib.f` saves an original."""
        if context.is_plain:
            originals = self._foreign(context.scope.dotted_names_of(node.value))
            if originals:
                self.saved[target.id] = SavedOriginal(node, originals[0])
        context.scope.bind(target, node.value, is_plain=not context.conditions)

    def _refuse_stores(
        self, statement: ast.stmt, node: ast.AST, context: StatementContext
    ) -> None:
        """Record what a part of a statement sets or deletes in a way that no row can express."""
        for part, names in stores(node, context.scope):
            self._refuse(statement, part, names, context)

    def _refuse_within(self, node: ast.stmt, context: StatementContext) -> None:
        """Record what a statement sets, and what the calls in its blocks change."""
        self._refuse_stores(node, node, context)
        for statement in ast.walk(node):
            if isinstance(statement, ast.stmt) and statement is not node:
                self._refuse_mutations(statement, context, is_read=False)

    def _refuse(
        self,
        statement: ast.stmt,
        node: ast.expr,
        names: Iterable[str],
        context: StatementContext,
    ) -> None:
        """Record attributes that a part of a statement changes as ones that no row can set."""
        dotted_names = self._foreign(names)
        if dotted_names:
            placement = self.make_placement(
                statement, dotted_names, node, statement, text="", context=context
            )
            self.placements.append(placement)
            placement.reason = placement.reason or _MUTATES

    def _read_call(
        self, node: ast.Expr, call: ast.Call, context: StatementContext
    ) -> None:
        """Read a call of `setattr(owner, name, value)`; other calls set nothing."""
        if dotted(call.func) != "setattr" or len(call.args) != 3:
            return
        owner_node, name_node, value = call.args
        owners = context.scope.dotted_names_of(owner_node)
        names = context.scope.strings_of(name_node)
        dotted_names = self._foreign(
            # `?` stands for a name that is not told, in the report.
            f"{owner}.{name}"
            for owner in owners
            for name in names or ["?"]
        )
        if dotted_names:
            text = f"{{}} = {ast.unparse(value)}"
            placement = self.make_placement(
                node, dotted_names, value, node, text, context
            )
            self.placements.append(placement)
            if not names:
                placement.reason = _NAME_UNKNOWN

    def _read_loop(self, node: ast.For, context: StatementContext) -> None:
        """Read a `for` loop: turn by turn if it goes through a tuple or list that it spells out."""
        self._refuse_stores(node, node.target, context)
        if "sys.modules" in ast.unparse(node.iter):
            self._read_sweep(node, context)
            return
        values = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else []
        for value in values:
            scope = context.scope.of_turn(node.target, value)
            self._read_block(node.body, context._replace(loop=node, scope=scope))
        if not values:
            context.scope.bind(node.target, node.iter)
            self._read_block(node.body, context.under_block("for"))

    def _read_sweep(self, node: ast.For, context: StatementContext) -> None:
        """Read a loop over `sys.modules` that replaces an original wherever a module has it."""
        for statement, originals in swept(node, context.scope):
            dotted_names = self._foreign(originals)
            if dotted_names:
                value = statement.value
                placement = self.make_placement(
                    statement, dotted_names, value, node, "pass", context
                )
                self.placements.append(placement)
                placement.rebinds = True

    def make_placement(
        self,
        statement: ast.stmt,
        dotted_names: Sequence[str],
        value: ast.expr,
        node: ast.AST,
        text: str,
        context: StatementContext,
    ) -> Placement:
        """Return the placement of a statement, with the reason if no row can express it.

        Args:
            statement: The statement.
            dotted_names: The attributes that it sets.
            value: Their new value; variables of a loop in it are replaced by their values.
            node: The code that is replaced in the body.
            text: The code that replaces it, with `{}` for the name of the value.
            context: The code around the statement.
        """
        turn_value = value_in_turn(value, context.scope.loop_values)
        placement = Placement(statement, dotted_names, turn_value, node, text)
        placement.is_plain = context.is_plain
        placement.context = context
        conditions = [ast.unparse(condition) for condition in context.conditions]
        # A loop, or an assignment with several targets, sets each of the attributes.
        sets_all = isinstance(node, (ast.For, ast.Assign)) or "'for'" in conditions
        placement.is_either = len(dotted_names) > 1 and not sets_all
        # A condition such as `"f" not in vars(lib)` asks whether the attribute exists.
        placement.is_new = any(" not in " in condition for condition in conditions)
        placement.function = context.function
        is_named = isinstance(turn_value, ast.Name)
        # The value depends on the turn: the loop is cut out of the body. So the value needs a name
        # of its own, and no other statement may be in the loop, as it would be lost.
        if context.loop is not None and ast.dump(turn_value) != ast.dump(value):
            placement.node = context.loop
            placement.text = "pass"
            loop_statements = len(context.loop.body) + len(context.loop.orelse)
            is_named = is_named and loop_statements == 1
        placement.reason = self._runs_at_import.reason(
            placement, context, is_named=is_named
        )
        return placement

    def _foreign(self, dotted_names: Iterable[str]) -> list[str]:
        """Keep the dotted names of other modules' attributes."""
        return foreign(dotted_names, self.module.name)
