"""Compares two versions of a module: which changes of a row turn the old one into the new one."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS, Def
from patchkit.authoring.diffs.changed_imports import (
    binds,
    changed_imports,
    new_imports,
)
from patchkit.authoring.diffs.compared_names import (
    definition_hash,
    made_alike,
    outermost,
)
from patchkit.authoring.diffs.default_values import with_literal_defaults
from patchkit.authoring.diffs.derived_items import with_derived
from patchkit.authoring.diffs.difference_body import DifferenceBody
from patchkit.authoring.diffs.present_members import is_field, is_present, new_field
from patchkit.authoring.diffs.stale_uses import ChangedNames, StaleUse, stale_uses
from patchkit.authoring.diffs.table_items import ChangedItem, changed_items
from patchkit.authoring.diffs.unexpressed import UnexpressedCode
from patchkit.authoring.source.decorators import kept_decorators, makes_descriptor
from patchkit.authoring.source.definitions import Definitions, is_for_types, names_in
from patchkit.authoring.source.edits import edits
from patchkit.authoring.source.subclasses import does_nothing
from patchkit.core.rows.declaration import Add, Change, Edit, Replace
from patchkit.errors import ScaffoldError

_AT_IMPORT = "it runs as the module is imported, or defines something under a condition"
_CLASS = "bases, decorators or keywords of a class are those that it was made with"
_GONE = "it is gone there, and stays here: no row takes it away"


class Verdicts(NamedTuple):
    """What `check` says of changes, as they were made at first.

    Args:
        refused: By target, why its change cannot be made.
        unrelated: The targets whose new functions do not take what the old ones take.
    """

    refused: Mapping[str, str]
    unrelated: Collection[str]


NO_VERDICTS = Verdicts({}, ())


def difference(
    path: str,
    old: bytes,
    new: bytes,
    release: CheckedRelease | None = None,
    verdicts: Verdicts = NO_VERDICTS,
) -> "ModuleDifference":
    """Return the changes, and their body, that turn one version of a module into another.

    Args:
        path: the path of the file in its release.
        old: the text in the release.
        new: the text that the changes shall result in.
        release: the release, which knows what classes inherit; None to do without it.
        verdicts: what `check` says of the changes.

    Raises:
        UpstreamError: one of the texts cannot be parsed.
    """
    module = ModuleDifference(
        Definitions.of(path, old), Definitions.of(path, new), release, verdicts
    )
    module.run()
    return module


@dataclass
class ModuleDifference:
    """The changes that turn one version of a module into another, and the body that they need.

    Args:
        before: the definitions of the old text.
        after: the definitions of the new text.
        release: the release of the old text, if it is known.
        verdicts: what `check` says of the changes.
        changes: the changes; this and the following field are filled in by `run`.
        left: what differs and no change can express.
    """

    before: Definitions
    after: Definitions
    release: CheckedRelease | None = None
    verdicts: Verdicts = NO_VERDICTS
    changes: list[Change] = field(default_factory=list)
    left: list[UnexpressedCode] = field(default_factory=list)
    _names_in_edits: set[str] = field(default_factory=set)
    _items: dict[str, list[ChangedItem]] = field(default_factory=dict)  # by table
    _stale: dict[str, StaleUse] = field(default_factory=dict)  # by what the use defines

    @property
    def module(self) -> str:
        """The name of both modules."""
        return self.before.tree.name

    @cached_property
    def code(self) -> DifferenceBody:
        """What the body has."""
        return DifferenceBody(self.before, self.after)

    @property
    def body(self) -> str:
        """The text of the body; '' where no change takes anything from it."""
        return self.code.text

    def run(self) -> None:
        """Fill in `changes` and `left`."""
        old = self.before.named
        new = self.after.named
        changed = self._find_changed()
        uses = stale_uses(self.before, self.after, self._changed_names(changed))
        self._stale = {use.name: use for use in uses if use.name}
        # A function that becomes a class, or the reverse, takes what is in it along.
        remade = {name for name in changed if type(old[name]) is not type(new[name])}
        # New definitions first, as changed ones may use them.
        for name in [*outermost(new, old, remade), *changed]:
            self._express(name, new[name])
        for use in uses:
            self._express_use(use, is_changed=use.name in changed)
        for name in outermost(old, new, remade):
            if name not in self.after.imports:  # it may come from elsewhere by now
                self._list_unexpressed(name, old[name], _GONE)
        self._list_unnamed()
        self._bind_imports()

    def _find_changed(self) -> list[str]:
        """Return the names whose definitions differ; fill in the changed items of tables."""
        changed: list[str] = []
        for name, node in self.after.named.items():
            old = self.before.named.get(name)
            if old is None or definition_hash(old) == definition_hash(node):
                continue
            changed.append(name)
            old_value = getattr(old, "value", None)
            items = changed_items(old_value, getattr(node, "value", None))
            if items:
                self._items[name] = items
        derived = with_derived(self.before, self.after, self._items, changed)
        # Tables whose text is the same, and that are made from changed ones.
        changed += [name for name in derived if name not in self._items]
        self._items = derived
        return changed

    @cached_property
    def _changed_imports(self) -> list[str]:
        return changed_imports(self.before, self.after, self.release)

    def _changed_names(self, changed: Iterable[str]) -> ChangedNames:
        """Sort what differs: values, functions, tables. Imports may be of values or functions."""
        names = ChangedNames(
            values=set(self._changed_imports),
            functions=set(self._changed_imports),
            items=set(self._items),
        )
        for name in changed:
            if isinstance(self.after.named[name], (ast.Assign, ast.AnnAssign)):
                if name not in self._items:
                    names.values.add(name)
            else:
                names.functions.add(name)
        return names

    def _express(self, name: str, node: ast.stmt) -> None:
        """Make the changes of a definition, or list it as one that no change can express."""
        try:
            self.changes += self._changes_of(name, node)
        except ScaffoldError as error:
            self._list_unexpressed(name, node, str(error))

    def _express_use(self, use: StaleUse, *, is_changed: bool) -> None:
        """Change what an unchanged statement made of a changed value, or list the statement.

        If `LIMIT` has changed, `TABLE = [LIMIT]` has to be made anew.

        Args:
            use: the statement.
            is_changed: whether its own text has changed, too; then its change is made already.
        """
        if not self._can_be_remade(use):
            self._list_unexpressed(use.name, use.node, use.reason)
        elif not is_changed:
            self._express(use.name, use.node)

    def _can_be_remade(self, use: StaleUse) -> bool:
        """Whether a change can give what was made the new values that it was made from."""
        if not use.name or use.called:
            return False
        # The body has the new values of these names, or imports them.
        names_with_new_values = {*self.code.parts, *self._changed_imports}
        if not use.values <= names_with_new_values:
            return False
        if isinstance(use.node, DEFS):
            return self._with_new_defaults(use.name, use.node) is not None
        return use.calls_only_builtins

    def _with_new_defaults(self, name: str, node: ast.stmt) -> str | None:
        """Return the new text of a function, with changed constants in its defaults by value.

        Where no default uses one, that is its text as it stands. None where a value is no literal.
        """
        text = self.after.text(node)
        use = self._stale.get(name)
        if use is None or use.called:
            return text
        return with_literal_defaults(text, use.values, self._values)

    @cached_property
    def _values(self) -> dict[str, ast.expr]:
        """The values of the new module that one statement alone sets, by name."""
        values: dict[str, ast.expr] = {}
        for name, node in self.after.named.items():
            value = getattr(node, "value", None)
            if value is not None and len(self.after.binders[name]) == 1:
                values[name] = value
        return values

    def _list_unnamed(self) -> None:
        """List new statements that define nothing, such as a call: no change can express them."""
        old_hashes = {of_nodes([node]) for node in self.before.unnamed}
        inside = set(self._nodes_of_new_classes())
        for node in self.after.unnamed:
            # Nothing under `if TYPE_CHECKING:` runs, so that nothing is lost.
            is_idle = is_for_types(node) or does_nothing(node)
            if is_idle or node in inside or of_nodes([node]) in old_hashes:
                continue
            self._list_unexpressed(name="", node=node, reason=_AT_IMPORT)

    def _nodes_of_new_classes(self) -> Iterator[ast.AST]:
        """Yield the parts of classes that are new, which have all that is in their text."""
        for name in outermost(self.after.named, self.before.named):
            node = self.after.named[name]
            if isinstance(node, ast.ClassDef):
                yield from ast.walk(node)

    def _list_unexpressed(self, name: str, node: ast.stmt, reason: str) -> None:
        """List a statement that no change can express.

        Args:
            name: the qualified name that it defines; '' for none.
            node: the statement.
            reason: why no change can express it.
        """
        target = self.module
        if name:
            target = f"{self.module}:{name}"
        first_line = ast.unparse(node).partition("\n")[0]
        self.left.append(
            UnexpressedCode(
                self.after.tree.path, node.lineno, first_line, reason, target
            )
        )

    def _refuse(self, target: str) -> None:
        """Raise ScaffoldError for a target whose change cannot be made."""
        if target in self.verdicts.refused:
            raise ScaffoldError(self.verdicts.refused[target])

    def _changes_of(self, name: str, node: ast.stmt) -> list[Change]:
        """Return the changes for a definition that is new or has changed.

        Args:
            name: its qualified name.
            node: its statement in the new text.

        Raises:
            ScaffoldError: no change can express it.
        """
        target = f"{self.module}:{name}"
        self._refuse(target)
        old = self.before.named.get(name)
        if "." in name and isinstance(node, ast.AnnAssign):
            is_new = old is None
            if is_field(self.release, target, node, is_new=is_new):
                return [self._field(name, node, is_new=is_new)]
        if old is None:
            return [self._added(name, node)]
        if name in self._items:
            return self._changes_of_items(name)
        # Members of a class are compared one by one: what differs are its bases or decorators.
        if isinstance(node, ast.ClassDef) and isinstance(old, ast.ClassDef):
            raise ScaffoldError(_CLASS)
        # Edits are shortest; where they cannot do it, the body gets the new definition.
        text_edits = None
        if isinstance(node, DEFS) and isinstance(old, DEFS):
            text = self._with_new_defaults(name, node) or self.after.text(node)
            text_edits = edits(self.before.text(old), text)
        if text_edits is None:
            if isinstance(node, DEFS) and isinstance(old, DEFS):
                _refuse_lost_kind(old, node)
            by = self.code.write(name)
            return [self._replaced(target, by, unrelated=not made_alike(old, node))]
        self._names_in_edits |= names_in(node)
        return [Edit(target, old=edit.old, new=edit.new) for edit in text_edits]

    def _field(self, name: str, node: ast.AnnAssign, *, is_new: bool) -> Change:
        """Return the change that adds a field to its dataclass, and import what its type names."""
        owner = name.rpartition(".")[0]
        self._refuse(f"{self.module}:{owner}")
        change = new_field(
            f"{self.module}:{name}",
            self.after.named[owner],
            node,
            self._values,
            self.after.imports,
            is_new=is_new,
        )
        self.code.import_names(names_in(node.annotation))
        return change

    def _added(self, name: str, node: ast.stmt) -> Change:
        """Return the change for a new definition; a Replace of what its class inherits.

        Args:
            name: its qualified name.
            node: its statement in the new text.

        Raises:
            ScaffoldError: it cannot be in a body.
        """
        target = f"{self.module}:{name}"
        is_there = binds(self.before, name) or is_present(self.release, target, node)
        by = self.code.write(name)
        if is_there:
            return self._replaced(target, by)
        return Add(target, by=by)

    def _replaced(self, target: str, by: str, *, unrelated: bool = False) -> Replace:
        """Return a Replace, `unrelated` for an object of another kind or with other decorators."""
        # Or for one that takes other arguments: the diff changes its callers, too.
        is_unrelated = unrelated or target in self.verdicts.unrelated
        return Replace(target, by=by, unrelated=is_unrelated)

    def _changes_of_items(self, name: str) -> list[Change]:
        """Return the changes of the items by which a table differs.

        Args:
            name: the qualified name of the table.

        Raises:
            ScaffoldError: an item cannot be changed.
        """
        changes: list[Change] = []
        for item in self._items[name]:
            target = item.target(f"{self.module}:{name}")
            self._refuse(target)
            by = self.code.write_value(f"{name}{item.path}", item.keys, item.value)
            changes.append(
                Add(target, by=by) if item.is_new else Replace(target, by=by)
            )
        return changes

    def _bind_imports(self) -> None:
        """Add changes that bind, in the module, imported names that are new or from elsewhere.

        An Edit changes the text of a function, and not the imports at the top of its module.
        """
        new = new_imports(self.before, self.after, self._names_in_edits)
        for name in sorted({*self._changed_imports, *new}):
            target = f"{self.module}:{name}"
            statement = self.after.imports[name]
            if target in self.verdicts.refused:
                reason = self.verdicts.refused[target]
                node = ast.parse(statement).body[0]
                self._list_unexpressed(name, node, reason)
                continue
            change: Change = Add(target, by=name)
            if binds(self.before, name):
                change = Replace(target, by=name, unrelated=True)
            self.code.imports[name] = statement
            self.changes.insert(0, change)  # before the Edits that use the name


def _refuse_lost_kind(old: Def, new: Def) -> None:
    """Raise ScaffoldError if a plain method takes the place of a static method or the like.

    Args:
        old: The method of the release.
        new: What the diff makes of it.
    """
    for decorator in kept_decorators(old, new, unrelated=True):
        if makes_descriptor([decorator]):
            kind = ast.unparse(decorator)
            raise ScaffoldError(
                f"it is no {kind} any more, and a row's function would stay one"
            )
