"""Tells what the names of a body mean in a release."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.export.body_faults import BodyFaults
from patchkit.authoring.export.exported_places import Place, Places
from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import Definitions
from patchkit.core.rows.declaration import Change
from patchkit.core.rows.target import Target


@dataclass
class BodyNames:
    """The names of a body, as a release understands them.

    Args:
        definitions: what the body defines and imports.
        release: the release.
        pack: the name of the pack that the body is of.
    """

    definitions: Definitions
    release: CheckedRelease
    pack: str

    @cached_property
    def meanings(self) -> dict[str, Target]:
        """By name that the body imports: the module, or the name in one, that it stands for."""
        meanings: dict[str, Target] = {}
        for name, statement in self.definitions.imports.items():
            (node,) = ast.parse(statement).body
            for _, target, _ in imported(node, self.definitions.tree):
                meanings[name] = target
        return meanings

    def code_for(
        self, change: Change, place: Place, siblings: Places, replaced: Iterable[Place]
    ) -> BodyCode:
        """Return the body as the source of code for one change.

        Args:
            change: the change.
            place: where it is made.
            siblings: all changes that the row makes, by where they are made.
            replaced: what rows replace in the release, those of this row included.

        Returns:
            The body, with what its names mean in the module of the change.
        """
        target_names = frozenset(self._names_for([place]))
        other_places = [other for other in replaced if other != place]
        # A name can stand for the target and for another place, which has the same definition.
        replaced_names = frozenset(self._names_for(other_places)) - target_names
        return BodyCode(
            self.definitions,
            new_names=self._new_names(place, siblings),
            target_names=target_names,
            replaced_names=replaced_names,
            derives=self._derives(change.body_name, place),
            submodules=frozenset(filter(self._is_module, self.meanings)),
            keeps_kind=True,  # as `Replace` does at run time
        )

    def _is_module(self, name: str) -> bool:
        """Whether a name stands for a module of the release."""
        module = str(self.meanings[name]).replace(":", ".")
        path = module.replace(".", "/")
        files = (f"{path}.py", f"{path}/__init__.py")
        return any(map(self.release.source.has, files))

    @cached_property
    def faults(self) -> BodyFaults:
        """What judges whether code of the body may stand in upstream."""
        return BodyFaults(self.definitions, self.pack)

    def _names_for(self, places: Iterable[Place]) -> Iterator[str]:
        """List the names of the body that stand for what the release has in some places."""
        last_parts = {place.qualname.rpartition(".")[2] for place in places}
        keys = {(place.module, place.qualname) for place in places}
        for name, target in self.meanings.items():
            # This is quick to tell; `_keys` looks the target up in the release.
            if target.qualname.rpartition(".")[2] not in last_parts:
                continue
            if not keys.isdisjoint(self._keys(target)):
                yield name

    def _keys(self, target: Target) -> list[tuple[str, str]]:
        """Return the places that a target names: its own, and that of its definition."""
        facts = self.release.facts(target)
        named = (target.module, target.qualname)
        defined = (facts.module, facts.qualname)
        return [named, defined]

    def _derives(self, by: str, place: Place) -> bool:
        """Whether a class of the body derives from what is in a place."""
        node = self.definitions.named.get(by)
        if not isinstance(node, ast.ClassDef):
            return False
        for base in node.bases:
            imported_name, _, attributes = dotted(base).partition(".")
            meaning = self.meanings.get(imported_name)
            if meaning is None:
                continue  # the body does not import the base
            full_name = str(meaning).replace(":", ".")
            if attributes:
                full_name = f"{full_name}.{attributes}"
            if self._is_in(full_name, place):
                return True
        return False

    def _is_in(self, name: str, place: Place) -> bool:
        """Whether a dotted name stands for what is in a place."""
        parts = name.split(".")
        # Where the module's name ends is not known: all ways are tried, the longest name first.
        for count in reversed(range(1, len(parts))):
            module = ".".join(parts[:count])
            qualname = ".".join(parts[count:])
            target = Target(module, qualname)
            if (place.module, place.qualname) in self._keys(target):
                return True
        return False

    def _new_names(self, place: Place, siblings: Places) -> dict[str, str]:
        """Return what the body's names become in a module that has the same things already.

        These are what the body imports from that module, and the definitions that the row's changes
        put into it.

        Args:
            place: a place in the module.
            siblings: all changes that the row makes, by where they are made.

        Returns:
            The names in the module, by those in the body.
        """
        names: list[tuple[str, str]] = []
        for name, target in self.meanings.items():
            if target.module == place.module:
                names.append((name, target.qualname))
        for other, change in siblings:
            by = change.body_name
            is_plain = by in self.definitions.named and "." not in by
            if is_plain and other.module == place.module and other.is_top_level:
                names.append((by, other.qualname))
        new_names: dict[str, str] = {}
        for name, new_name in names:
            # If the body has another thing of that name, code would mean that by it.
            is_free = new_name not in self.definitions.binders
            if new_name and is_free:
                new_names[name] = new_name
        return new_names
