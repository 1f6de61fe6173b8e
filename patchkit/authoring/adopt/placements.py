"""Describes what a statement of a pile sets: attributes of other modules, and what they become."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from patchkit.authoring.adopt.name_scopes import NameScope


class StatementContext(NamedTuple):
    """The code around a statement: what its names stand for, and when it runs.

    Args:
        scope: What names stand for.
        conditions: The conditions that it runs under; a constant, such as `"try"`, for a block
            that is no `if`.
        function: The name of the function that it is in; '' at the top of the module.
        loop: The loop that it is in, where that is read one turn after another.
    """

    scope: NameScope
    conditions: Sequence[ast.expr] = ()
    function: str = ""
    loop: ast.For | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the statement runs in any case, at the top of the module."""
        return not self.conditions and not self.function

    def under(self, condition: ast.expr) -> "StatementContext":
        """Return the context of what runs under one more condition.

        Args:
            condition: The condition.
        """
        return self._replace(conditions=(*self.conditions, condition))

    def under_block(self, kind: str) -> "StatementContext":
        """Return the context of what is in a block such as `with`.

        Args:
            kind: The kind of the block.
        """
        return self.under(ast.Constant(kind))

    def unless(self, condition: ast.expr) -> "StatementContext":
        """Return the context of what runs if a condition does not hold.

        Args:
            condition: The condition.
        """
        return self.under(ast.UnaryOp(ast.Not(), condition))


@dataclass(eq=False)
class Placement:
    """An object of the pile, the attributes that it becomes, and the code that sets them.

    Args:
        statement: The statement that sets them.
        dotted_names: The attributes, such as `vllm.v1.request.Request.append`, or items.
        value: What they become, in names of the module.
        node: The code that is replaced in the body.
        text: What replaces it there, with `{}` for the name of the value.
        is_plain: Whether they are set in any case.
        is_new: Whether the module has checked that there is no such attribute yet.
        is_either: Whether one of the attributes is set, whichever there is.
        function: The name of the function that sets them; '' for the module itself.
        reason: Why no row can set them; '' where one can.
        rebinds: Whether copies of what they were are set, too.
        key: What names a row of its own; '' where the changes of a module are one row.
        why: The `why` of that row, in the pile's words.
        condition: The pile's condition, which becomes the `when` of the row.
        verify: The pile's check, which becomes the `verify` of the row.
        priority: The order among the rows of a module; the smallest comes first.
        builds: Whether the attributes become what the value returns when it is called.
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

    @property
    def is_expressible(self) -> bool:
        """Whether a row can set the attributes."""
        return not self.reason


class SavedOriginal(NamedTuple):
    """A statement such as `original = lib.f`, by which a module saves what it replaces.

    Args:
        statement: The assignment.
        dotted_name: What it saves.
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
