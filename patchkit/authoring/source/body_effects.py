"""Finds what a body does as it is imported, beside binding names.

`patchkit export` makes a diff of upstream from a body's definitions, and refuses a body that does
more than the diff can say.
"""

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    dotted,
    expressions,
)
from patchkit.authoring.source.definitions import (
    IMPORTS,
    PARTS_OF_PROPERTY,
    Definitions,
    imports_of,
    is_for_types,
    name_of,
    names_in,
    origin_of,
)
from patchkit.authoring.source.global_names import inner_statements, reached
from patchkit.authoring.source.main_programs import is_main_program
from patchkit.authoring.source.members import ASSIGNMENTS

_BLOCKS = (ast.If, ast.Try, ast.With)
"""Statements that only run the statements inside of them: those are judged instead."""
_REGISTERS_NOTHING = frozenset(
    {"abc", "contextlib", "dataclasses", "enum", "functools", "typing"}
)
"""Modules whose decorators change nothing but what they decorate."""


@dataclass(frozen=True)
class BodyEffects:
    """A body, some definitions of which are to stand in modules of upstream.

    Args:
        definitions: what the body defines and imports.
        moved: the qualified names of what moves, and the names that it uses.
    """

    definitions: Definitions
    moved: Set[str]

    def statements(self) -> Iterator[str]:
        """Yield the statements that stay in the body and do more than bind names.

        They are for `BodyFaults.refuse`: a diff has the definitions that move, and would lose what
        these statements do.

        Yields:
            The first line of each of them.
        """
        for node in self._staying(self.definitions.tree.tree.body, prefix=""):
            if self._acts(node) or self._touches(node):
                yield ast.unparse(node).partition("\n")[0]

    def _staying(self, body: Iterable[ast.stmt], prefix: str) -> Iterator[ast.stmt]:
        """List the statements that do not move, and those in their blocks and classes.

        What runs in a main program alone, or for type checkers, is left out.

        Args:
            body: the statements of the body, or of a class or block in it.
            prefix: the qualified name of the class and a dot; '' outside of classes.
        """
        for node in body:
            name = f"{prefix}{name_of(node)}"
            if name in self.moved or is_main_program(node) or is_for_types(node):
                continue
            yield node
            if isinstance(node, ast.ClassDef):
                yield from self._staying(node.body, f"{name}.")
            elif isinstance(node, _BLOCKS):
                yield from self._staying(inner_statements(node), prefix)

    def _acts(self, node: ast.stmt) -> bool:
        """Whether a statement itself does more than bind names, by its kind.

        It imports a module for its effects, decorates with what may register the definition
        somewhere, or sets an attribute or an item. Of blocks, the statements inside are asked.
        """
        if isinstance(node, IMPORTS):
            return self._is_for_effects(node)
        if isinstance(node, ast.Expr):
            return not isinstance(node.value, ast.Constant)
        if isinstance(node, SCOPES):
            return not all(map(self._registers_nothing, node.decorator_list))
        if isinstance(node, ASSIGNMENTS):
            return _sets_part(node)
        # An assertion only checks; what a call in it does is for `_touches` to find.
        return not isinstance(node, (ast.Assert, ast.Pass, *_BLOCKS))

    def _is_for_effects(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a module is imported for what it does then, as nothing reads its names."""
        for name, statement in imports_of(node, self.definitions.tree):
            if self._is_read(name, statement):
                return False
        return True

    def _is_read(self, name: str, statement: str) -> bool:
        """Whether the body uses an imported name, in code or in a text such as an annotation.

        A name of the standard library always counts as used: its import does nothing else.

        Args:
            name: the name.
            statement: the import that binds it.
        """
        if origin_of(statement).partition(".")[0] in sys.stdlib_module_names:
            return True
        if name in self.moved:  # the code that moves uses it
            return True
        mentions = re.findall(rf"\b{name}\b", self.definitions.tree.source.decode())
        return len(mentions) > 1  # one is in the import itself

    def _registers_nothing(self, decorator: ast.expr) -> bool:
        """Whether a decorator is known to change nothing but what it decorates."""
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = dotted(function)
        if name.rpartition(".")[2] in PARTS_OF_PROPERTY:
            return True
        top = name.partition(".")[0]
        if top in self.definitions.imports:
            return origin_of(self.definitions.imports[top]) in _REGISTERS_NOTHING
        # A builtin such as `property`, if the body has no other thing of that name.
        return top not in self.definitions.binders and hasattr(builtins, top)

    def _touches(self, node: ast.stmt) -> bool:
        """Whether a statement runs, as the body is imported, code that uses what moves.

        A call, a decorator and a base class run code. What they run is in upstream then, and no
        longer in the body.
        """
        # `moved` also has imported names that the moved code uses; these stay in the body, too.
        moved_definitions = self.moved & self.definitions.named.keys()
        for part in _running_parts(node):
            used = reached(self.definitions.named, names_in(part))
            if not moved_definitions.isdisjoint(used):
                return True
        return False


def _sets_part(node: ast.stmt) -> bool:
    """Whether an assignment sets an attribute or an item of something."""
    for part in ast.walk(node):
        is_set = isinstance(getattr(part, "ctx", None), ast.Store)
        if is_set and isinstance(part, (ast.Attribute, ast.Subscript)):
            return True
    return False


def _running_parts(node: ast.stmt) -> Iterator[ast.AST]:
    """List the parts of a statement that run code of functions and classes: calls and the like."""
    for field in ("decorator_list", "bases", "keywords"):
        yield from getattr(node, field, ())
    parts = list(expressions(node))
    if isinstance(node, DEFS):
        parts += ast.walk(node.args)  # the defaults of parameters are evaluated, too
    yield from (part for part in parts if isinstance(part, ast.Call))
