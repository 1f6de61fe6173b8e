"""Describes the statements by which a pile patches upstream: attributes, and their new values.

A pile is a package that patches upstream as it is imported, by assignments such as
`vllm.engine.Engine.step = step`. Each such statement is a placement.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.name_scopes import NameScope


class StatementContext(NamedTuple):
    """The code around a statement: what names mean there, and when the statement runs.

    Args:
        scope: What names mean.
        conditions: The conditions that it runs under; a constant such as `"try"` for a block that
            is no `if`.
        function: The name of the function that it is in; '' at the top of the module.
        loop: The loop that it is in, if the values that the loop goes through are known; else None,
            and the loop is one of the conditions, as `"for"`.
    """

    scope: NameScope
    conditions: Sequence[ast.expr] = ()
    function: str = ""
    loop: ast.For | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the statement is at the top of the module, under no condition."""
        return not self.conditions and not self.function

    @property
    def depends_on_loop(self) -> bool:
        """Whether a condition uses a variable of a loop whose values are known."""
        for condition in self.conditions:
            if not names_in(condition).isdisjoint(self.scope.loop_values):
                return True
        return False

    def under(self, condition: ast.expr) -> "StatementContext":
        """Return the context of statements under one more condition.

        Args:
            condition: The condition.
        """
        return self._replace(conditions=(*self.conditions, condition))

    def under_block(self, kind: str) -> "StatementContext":
        """Return the context of statements in a block that is no `if`.

        Args:
            kind: The kind of the block, such as `with`.
        """
        return self.under(ast.Constant(kind))

    def unless(self, condition: ast.expr) -> "StatementContext":
        """Return the context of statements that run only if a condition is false.

        Args:
            condition: The condition.
        """
        return self.under(ast.UnaryOp(ast.Not(), condition))


@dataclass(eq=False)
class Placement:
    """A statement by which a pile sets attributes of other modules, as a row can express it.

    A row's body is the text of the pile's module in which such statements are replaced: the body
    only names the value, and the row says which attributes are set to it.

    Args:
        statement: The statement.
        dotted_names: The attributes, such as `vllm.v1.request.Request.append`, or items.
        value: Their new value, as an expression of the pile's module.
        node: The code that is replaced in the body.
        text: The code that replaces it, with `{}` for the name of the value; '' for a decorator,
            which is deleted.
        is_plain: Whether the statement runs whenever the module is imported.
        is_new: Whether the module checks that the attribute does not exist yet.
        is_either: Whether only one of the attributes is set: the one that exists.
        function: The name of the function that sets them; '' at the top of the module.
        reason: Why no row can set them; '' where one can.
        rebinds: Whether the statement also sets copies of the original in other modules.
        key: A name for a row of its own; '' where the changes of a module are one row.
        why: The `why` of that row, in the pile's words.
        condition: The pile's condition, which becomes the `when` of the row.
        verify: The pile's check, which becomes the `verify` of the row.
        priority: The order among the rows of a module; the smallest comes first.
        builds: Whether the value is a factory, and the attributes become what it returns.
        context: The code around the statement, if a condition of it may ask for the version.
        requires: The versions of upstream that it runs for, as requirements; () for all.
        hook: The type of the hook that the value is: `before`, `after`, `around` or `replace`; ''
            where it is none.
        is_by_class: Whether it is an attribute of a class such as `class P(ArcticPatch[Engine])`,
            whose base sets it.
        is_own: Whether it sets nothing but attributes of the pile itself: it is not listed.
    """

    statement: ast.stmt
    dotted_names: Sequence[str]
    value: ast.expr
    node: ast.AST
    text: str
    is_plain: bool = True
    is_new: bool = False
    is_either: bool = False
    function: str = ""
    reason: str = ""
    rebinds: bool = False
    key: str = ""
    why: str = ""
    condition: ast.expr | None = None
    verify: ast.expr | None = None
    priority: int = 0
    builds: bool = False
    context: StatementContext | None = None
    requires: Sequence[str] = ()
    hook: str = ""
    is_by_class: bool = False
    is_own: bool = False

    @property
    def is_expressible(self) -> bool:
        """Whether a row can set the attributes."""
        return not self.reason


class SavedOriginal(NamedTuple):
    """A statement such as `original = lib.f`, by which a module saves what it replaces.

    Args:
        statement: The assignment.
        dotted_name: The attribute that it saves, such as `lib.f`.
    """

    statement: ast.Assign
    dotted_name: str


class PileImport(NamedTuple):
    """A module that a module of a pile imports.

    Args:
        module: The name of what is imported: a module, or perhaps a name in one.
        conditions: The conditions that the import runs under, as in a `StatementContext`.
        line: The line of the import.
    """

    module: str
    conditions: Sequence[ast.expr]
    line: int


def is_check(node: ast.AST) -> bool:
    """Whether a statement is an assertion such as `assert lib.f is f`.

    Args:
        node: The statement.
    """
    if not isinstance(node, ast.Assert):
        return False
    test = node.test
    if not isinstance(test, ast.Compare):
        return False
    operator = test.ops[0]
    return isinstance(operator, ast.Is)
