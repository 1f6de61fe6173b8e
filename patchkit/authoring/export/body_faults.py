"""Refuses changes whose code would do something else in a module of upstream than in the body."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.export.exported_places import Place
from patchkit.authoring.source.body_effects import BodyEffects
from patchkit.authoring.source.definitions import (
    IMPORTS,
    PARTS_OF_PROPERTY,
    Definitions,
    imports_of,
    names_in,
    origin_of,
)
from patchkit.authoring.source.field_text import annotation_of
from patchkit.authoring.source.global_names import (
    has_lazy_annotations,
    names_at_import,
    private_name,
    reached,
    used_in,
    used_names,
)
from patchkit.core.rows.declaration import AddField, Change
from patchkit.errors import ScaffoldError

_OF_MODULE = frozenset({"eval", "exec", "globals", "locals"})
"""Builtins that read the module that they are called in."""
_OF_SCOPE = frozenset({"dir", "vars"})
"""Builtins that read it if they are called without an argument."""
_ATTRIBUTES_OF_MODULE = frozenset({"__globals__", "__module__", "f_globals"})
_MADE_ANEW = (ast.Call, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set)
"""Expressions whose value is a new object each time that they are evaluated."""


@dataclass(frozen=True)
class BodyFaults:
    """A body, of which changes put code into modules of upstream.

    Args:
        definitions: what the body defines and imports.
        pack: the name of the pack that it is of.
    """

    definitions: Definitions
    pack: str

    def refuse(
        self,
        change: Change,
        place: Place,
        changes: Iterable[Change],
    ) -> None:
        """Refuse a change whose code would do something else in a module of upstream.

        Args:
            change: the change.
            place: where it is made.
            changes: all changes of its row.

        Raises:
            ScaffoldError: the reason.
        """
        if not self._roots(change):
            return  # the change takes nothing from the body
        if "*" in self.definitions.binders:
            raise ScaffoldError("its body imports all names of another module")
        for fault in self._faults(change, place):
            raise ScaffoldError(f"it {fault}")  # one reason is enough
        # Anywhere in the body, `globals()` may set a name that the change takes.
        if "globals" in names_in(self.definitions.tree.tree):
            raise ScaffoldError("its body may set any name by globals()")
        by = change.body_name
        names_in_row = [other.body_name for other in changes]
        # A class that two changes name is one object in the body, and would be two upstream.
        if by in self._single_objects(change) and names_in_row.count(by) > 1:
            raise ScaffoldError(f"{by} would be made more than once")
        moved = set[str]().union(*map(self.names_of, changes))
        # Statements of the body that do not define what moves, but act when it is imported.
        for statement in BodyEffects(self.definitions, moved).statements():
            raise ScaffoldError(
                f"{statement!r} runs as the body is imported, which no diff does"
            )

    def refuse_copies(
        self, change: Change, place: Place, homes: dict[str, str]
    ) -> None:
        """Refuse objects that would be in two files, a copy in each.

        The code of a body may mean one and the same class or cache in both.

        Args:
            change: the change that brings them.
            place: where it is made.
            homes: the files that such objects are in so far, by their names; the objects of the
                change are added.

        Raises:
            ScaffoldError: the reason.
        """
        for name in sorted(self._single_objects(change)):
            label = f"{self.definitions.tree.name}.{name}"
            home = homes.setdefault(label, place.path)
            if home != place.path:
                raise ScaffoldError(f"{name} would be in both {home} and {place.path}")

    def refuse_module(self, module: str) -> None:
        """Refuse a body that becomes a module, and imports what upstream does not have.

        Args:
            module: the name of the module.

        Raises:
            ScaffoldError: the reason.
        """
        for fault in self._of_imports(self.definitions.tree.tree, module):
            raise ScaffoldError(f"it {fault}")

    @property
    def own_words(self) -> list[str]:
        """The words of the body that mean another thing in each module, such as `__name__`.

        For the remarks of `export`, where the whole body becomes a module.
        """
        names = used_names(ast.unparse(self.definitions.tree.tree))
        unbound = names - self.definitions.binders.keys()
        return sorted(filter(_is_of_module, unbound))

    def names_of(self, change: Change) -> set[str]:
        """Return the names that a change takes from the body, and those that they use.

        Args:
            change: the change.
        """
        return reached(self.definitions.named, self._roots(change))

    def _single_objects(self, change: Change) -> set[str]:
        """List what a change brings that there may be only one of: classes, caches and the like."""
        named = self.definitions.named
        return {name for name in self._reached(change) if _is_one_object(named[name])}

    def _roots(self, change: Change) -> list[str]:
        """List the names of the body that a change itself has.

        Of an AddField, these are the names in the type of the field. Any other change names one
        definition; if that is a property, its setter and its deleter belong to it.
        """
        if isinstance(change, AddField):
            names = names_in(ast.parse(annotation_of(change)))
            return sorted(names & self.definitions.binders.keys())
        by = change.body_name
        if not by:
            return []
        accessors = [f"{by}{part}" for part in PARTS_OF_PROPERTY.values()]
        return [by, *accessors]

    def _reached(self, change: Change) -> set[str]:
        """List the definitions that a change takes from the body, with all that they use."""
        return self.names_of(change) & self.definitions.named.keys()

    def _faults(self, change: Change, place: Place) -> Iterator[str]:
        """Yield the reasons why what a change takes from the body cannot be moved.

        Each is the rest of a sentence that begins with “it”, the definition that the change names.
        """
        roots = self._roots(change)
        module = place.module
        yield from self._of_several_setters(roots)
        imported = self.definitions.imports.keys() - self.definitions.named.keys()
        # A change may name what the body only imports.
        yield from self._of_names(imported & set(roots), module)
        definitions = self._reached(change)
        # Python evaluates no lazy annotations, so names in them do not count.
        is_lazy = has_lazy_annotations(self.definitions.tree.tree)
        helpers = sorted(definitions - set(roots))
        for name in [*roots, *helpers]:
            if name not in definitions:
                continue
            node = self.definitions.named[name]
            prefix = f"uses {name}, which "
            if name in roots:
                prefix = ""
                # The definition is in a class of the body, or comes into one of upstream.
                is_member = "." in name or "." in place.qualname
                if is_member:
                    yield from self._of_member(node, change.body_name)
            # A definition may read its own name, as a setter reads `x` in `@x.setter`.
            names = used_in(node, with_annotations=not is_lazy)
            names.difference_update(name.split("."))
            faults = list(self._of_code(node, module))
            faults += self._of_names(names, module)
            for fault in faults:
                yield f"{prefix}{fault}"

    def _of_several_setters(self, roots: Iterable[str]) -> Iterator[str]:
        """Say which definitions of a change are not set by one statement alone.

        Args:
            roots: the qualified names that the change itself has.
        """
        for name in sorted(self._set_by_several):
            for root in roots:
                # `name` is the root itself, a class around it, or a member of it.
                is_same_or_around = f"{root}.".startswith(f"{name}.")
                is_member = name.startswith(f"{root}.")
                if is_same_or_around or is_member:
                    yield f"needs {name}, which no statement of the body alone sets"

    def _of_names(self, names: Iterable[str], module: str) -> Iterator[str]:
        """Say which names mean nothing, or something else, in another module.

        Args:
            names: the names that code of the body reads.
            module: the module of upstream that is to have the code.
        """
        definitions = self.definitions
        for name in sorted(names):
            is_import = name in definitions.imports
            is_definition = name in definitions.named
            is_bound = name in definitions.binders
            # Bound by something else, such as the target of a `for`.
            is_no_definition = is_bound and not is_import and not is_definition
            if name in self._set_by_several or is_no_definition:
                yield f"uses {name}, which no statement of the body alone sets"
            elif is_import:
                statement = definitions.imports[name]
                yield from self._of_import(name, statement, module)
            elif is_definition:
                continue  # it moves along
            elif _is_of_module(name):
                yield f"uses {name}, which is of its module"
            elif not hasattr(builtins, name):
                yield f"reads {name}, which the body does not bind"

    def _of_import(self, name: str, statement: str, module: str) -> Iterator[str]:
        """Say if an import is of patchkit or of the pack, on which upstream does not depend.

        Args:
            name: the name that it binds.
            statement: the import.
            module: the module of upstream that is to have it.
        """
        origin = origin_of(statement)
        package = origin.partition(".")[0]
        strangers = {"patchkit", self.pack.partition(".")[0]}
        # The pack itself may lie in the package that it patches.
        strangers.discard(module.partition(".")[0])
        if package in strangers:
            yield f"uses {name} of {origin}, which upstream does not have"

    def _of_imports(self, node: ast.AST, module: str) -> Iterator[str]:
        """Say which imports in code of the body a module of upstream cannot make."""
        for part in ast.walk(node):
            if isinstance(part, IMPORTS):
                for name, statement in imports_of(part, self.definitions.tree):
                    yield from self._of_import(name, statement, module)
                    # A relative import, which starts from the package of its module.
                    if getattr(part, "level", 0):
                        yield f"imports {name} from where the body is"

    def _of_code(self, node: ast.AST, module: str) -> Iterator[str]:
        """Say what else in a definition means another thing in another module."""
        for part in ast.walk(node):
            if isinstance(part, ast.Global):
                yield f"sets {part.names[0]}, a global of the body"
            if isinstance(part, ast.Attribute) and part.attr in _ATTRIBUTES_OF_MODULE:
                yield f"uses {part.attr}, which is of its module"
        for function in _OF_SCOPE & _called_bare(node):
            yield f"uses {function}, which is of its module"
        yield from self._of_imports(node, module)

    def _of_member(self, node: ast.stmt, by: str) -> Iterator[str]:
        """Say what in a function or a value means another thing in another class.

        Args:
            node: the definition; nothing is said of a class, as it means the same in another one.
            by: the qualified name of the definition in the body.
        """
        if isinstance(node, ast.ClassDef):
            return
        private = private_name(node)
        if private:
            yield f"uses {private}, which is private to its class"
        if "super" in _called_bare(node):
            yield "uses super() of its class"
        if "__class__" in names_in(node):
            yield "uses __class__, which is another one there"
        owner, _, own_name = by.rpartition(".")
        # Decorators and defaults are evaluated in the class: they may read its other members. A
        # setter reads its property by its own name, which is the same in the other class.
        for name in sorted(names_at_import(node) - {own_name}):
            if f"{owner}.{name}" in self.definitions.binders:
                yield f"uses {name} of its class"

    @cached_property
    def _set_by_several(self) -> set[str]:
        """The qualified names that more than one statement, or none of the top level, sets.

        Two statements bind such a name, or one import twice, as `import a.b, a.c` binds `a`; or a
        function sets it by `global`, or an expression by `:=`.
        """
        names: set[str] = set()
        for node in ast.walk(self.definitions.tree.tree):
            if isinstance(node, ast.Global):
                names.update(node.names)
            elif isinstance(node, ast.NamedExpr):
                names.update(names_in(node.target))
            elif isinstance(node, ast.Import):
                bound = [name for name, _ in imports_of(node, self.definitions.tree)]
                for name in bound:
                    if bound.count(name) > 1:
                        names.add(name)
        for name, nodes in self.definitions.binders.items():
            if len(nodes) > 1:
                names.add(name)
        return names


def _called_bare(node: ast.AST) -> set[str]:
    """List what code calls without a positional argument, such as `super` in `super().f(x)`.

    `super()`, `vars()` and `dir()` ask where they are called, so they cannot be moved.
    """
    functions: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and not part.args:
            functions.add(dotted(part.func))
    return functions


def _is_of_module(name: str) -> bool:
    """Whether a name, if no statement binds it, is of its module: `__name__`, `globals`."""
    return name in _OF_MODULE or name.startswith("__")


def _is_one_object(node: ast.stmt) -> bool:
    """Whether a copy of what a statement defines would be another object: a class, a cache."""
    if isinstance(node, DEFS):
        return bool(node.decorator_list)
    if isinstance(node, ast.ClassDef):
        return True
    return any(isinstance(part, _MADE_ANEW) for part in ast.walk(node))
