"""Tells which functions of a pile's module run as it is imported, and what no row can do."""

import ast

from patchkit.authoring.piles.placements import Placement, StatementContext
from patchkit.authoring.source.calls_at_import import (
    called_at_import,
    called_by_statements,
    called_repeatedly,
    made_in_function,
)
from patchkit.authoring.source.definitions import names_in
from patchkit.authoring.source.loops import made_in

_DIFFERS_BY_TURN = "what it sets differs from turn to turn of a loop, and has no name"
_DIFFERS_BY_CALL = "what it sets is made anew by each call of its function"
_CONDITIONAL_LOOP = "it is a loop that runs under a condition, or in a function"


class RunsAtImport:
    """The functions of a module that run as it is imported.

    Args:
        tree: The module.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.functions = called_at_import(tree)
        """The names of the functions that may run then."""
        # "" stands for the module itself.
        self._unconditional = {"", *called_by_statements(tree)}
        self._repeated = called_repeatedly(tree)

    def has(self, function: str) -> bool:
        """Return whether a function may run as the module is imported.

        Args:
            function: Its name; '' for the module itself.
        """
        return not function or function in self.functions

    def reason(
        self, placement: Placement, context: StatementContext, *, is_named: bool
    ) -> str:
        """Return why no row can do what a statement does; '' where one can.

        Args:
            placement: The placement of the statement.
            context: The code around it.
            is_named: Whether the value has a name even without the loop around the statement.
        """
        function = context.function
        if not self.has(function):
            return f"it is set when {function} runs, not as the module is imported"
        is_conditional = bool(context.conditions) or function not in self._unconditional
        if placement.text == "pass" and is_conditional:
            return _CONDITIONAL_LOOP
        # Where the whole loop is replaced, only a value with a name is left.
        loses_value = placement.node is context.loop and not is_named
        if loses_value or context.depends_on_loop:
            return _DIFFERS_BY_TURN
        used = names_in(placement.value)
        if context.loop is not None and made_in(context.loop.body) & used:
            return _DIFFERS_BY_TURN
        if function in self._repeated:
            made_by_call = made_in_function(self._tree, function)
            if made_by_call.intersection(used):
                return _DIFFERS_BY_CALL
        return ""
