"""Turns the dotted names that a pile sets into targets, and looks them up in a release.

`up.lib.Engine.step` is the target `up.lib:Engine.step`, if `up.lib` is a module of the release.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import FunctionType

from patchkit.analysis.check.opening import installed
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.special_places import PARTS_OF_FUNCTIONS
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.authoring.piles.hooks import HOOK_OF_CLASS, REPLACE
from patchkit.authoring.piles.pile_imports import is_used_elsewhere
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.piles.replaced_kinds import (
    FUNCTIONS,
    KINDS_OF_METHODS,
    METHODS,
    kind_fault,
)
from patchkit.core.rows.target import Target
from patchkit.core.versions.installed import Versions
from patchkit.errors import UpstreamError, VersionError

_PARTS_OF_FUNCTIONS = PARTS_OF_FUNCTIONS | {"__annotations__"}


@dataclass
class PlacedTarget:
    """A dotted name as a target, and what a release has there.

    Args:
        target: The target.
        facts: The facts of the target in the release; None where it is of another package.
        has_owner: Whether the release has what the target is an attribute of.
    """

    target: Target
    facts: Facts | None
    has_owner: bool = True

    @property
    def is_present(self) -> bool:
        """Whether the release has the target."""
        return self.facts is not None and self.facts.is_present

    @property
    def is_absent(self) -> bool:
        """Whether it is certain that the release does not have the target."""
        return self.facts is not None and self.facts.state == "absent"


def placed_targets(
    release: CheckedRelease, placement: Placement
) -> dict[str, PlacedTarget]:
    """Look up the attributes of a placement in a release.

    Args:
        release: The release.
        placement: The placement.

    Returns:
        The target of each dotted name.

    Raises:
        ValueError: A name is no target, or it is unclear which of several is set.
    """
    targets = {
        name: placed_target(release, name, is_definition=placement.rebinds)
        for name in placement.dotted_names
    }
    present = {placed.target for placed in targets.values() if placed.is_present}
    if placement.is_either and len(present) > 1 and not placement.key:
        raise ValueError("it is one of several places")
    return targets


def placed_target(
    release: CheckedRelease, dotted_name: str, *, is_definition: bool
) -> PlacedTarget:
    """Find the target that a dotted name means, and look it up in a release.

    Args:
        release: The release.
        dotted_name: An attribute or an item, such as `up.lib.TABLE['a']`.
        is_definition: Whether a name that was imported from elsewhere means its definition there.

    Raises:
        ValueError: It cannot be written as a target, or no row can set it.
    """
    head, bracket, item = dotted_name.partition("[")
    item_part = bracket + item  # such as `['a']`
    parts = head.split(".")
    module_length = _length_of_module(release, parts)
    qualname = ".".join(parts[module_length:]) + item_part
    target = Target(".".join(parts[:module_length]), qualname)
    Target.parse(str(target))  # raises ValueError where it is no valid target
    _refuse_parts_of_functions(target)
    if not release.covers(parts[:1]):  # the top package
        return _of_other_package(target)
    owner = release.facts(target.holder)
    # '' stands for what is unknown: where the class is defined.
    if owner.kind == str(Kind.CLASS) and owner.qualname:
        # The pile may name the class by an import elsewhere; the target is where it is defined.
        target = Target(owner.module, f"{owner.qualname}.{parts[-1]}{item_part}")
    facts = release.facts(target)
    if facts.storage:
        raise ValueError(f"{target} is {facts.storage}")
    name = parts[-1]
    if owner.kind in FUNCTIONS | METHODS | KINDS_OF_METHODS and not item_part:
        # `lib.f._patched = True`: a function has what Python gives it, and what somebody sets.
        if hasattr(FunctionType, name):
            raise ValueError(f"{name} is a part of a function: Replace that")
        is_unknown = facts.state == "undecidable"
        if is_unknown and not _sets_attribute(release, owner, name):
            facts = Facts("absent")
    if is_definition and facts.qualname:  # '' where no definition is known
        target = Target(facts.module, facts.qualname)
    return PlacedTarget(target, facts, release.has(target.holder))


def _sets_attribute(release: CheckedRelease, function: Facts, attribute: str) -> bool:
    """Return whether the module of a function seems to set an attribute of it.

    Args:
        release: The release.
        function: The facts of the function.
        attribute: The name of the attribute.
    """
    source = release.source.read(function.path) or b""
    name = function.qualname.rpartition(".")[2]
    pattern = rf"\b{re.escape(name)}\.{re.escape(attribute)}\b"
    return re.search(pattern, source.decode(errors="replace")) is not None


def canonical_name(release: CheckedRelease, dotted_name: str) -> str:
    """Return the dotted name that all paths of one attribute have in common.

    A class may be named by an import elsewhere; its attributes are those of its definition.

    Args:
        release: The release.
        dotted_name: The attribute, as a statement names it.

    Returns:
        The dotted name; the given one where the release does not tell another.
    """
    try:
        placed = placed_target(release, dotted_name, is_definition=False)
    except ValueError:
        return dotted_name
    return f"{placed.target}".replace(":", ".", 1)


def _refuse_parts_of_functions(target: Target) -> None:
    """Raise ValueError for what Python reads of a function whenever it is called."""
    for step in target.steps:
        if step in _PARTS_OF_FUNCTIONS:
            raise ValueError(f"{step} is a part of a function: Replace or Edit that")


def _of_other_package(target: Target) -> PlacedTarget:
    """Look up a target of a package other than upstream, in what is installed here.

    Facts are given only of a target that the installed package lacks, so that of alternatives the
    one that is there is chosen.
    """
    release = _installed_release(target.module.partition(".")[0])
    if release is None or not release.has(target.holder):
        return PlacedTarget(target, facts=None)
    facts = release.facts(target)
    if facts.state == "absent":
        return PlacedTarget(target, facts)
    return PlacedTarget(target, facts=None)


@cache
def _installed_release(package: str) -> CheckedRelease | None:
    """Open an installed package; None where there is none, or where it says no version."""
    try:
        releases, _missing = installed([package], Versions())
    except (UpstreamError, VersionError):
        return None
    return releases[0] if releases else None


def _length_of_module(release: CheckedRelease, parts: Sequence[str]) -> int:
    """Count the parts of a dotted name that are a module, of which the others are a name in it.

    These are as many as may be; 1 where none are known to be a module.
    """
    for length in range(len(parts) - 1, 0, -1):
        if _is_module(release, parts[:length]):
            return length
    return 1


def _is_module(release: CheckedRelease, parts: Sequence[str]) -> bool:
    """Return whether the parts of a dotted name are a module.

    Outside of the release's packages, that is judged by case: classes begin with a capital.
    """
    if release.covers(parts[:1]):
        return release.has(Target(".".join(parts)))
    return not any(part.lstrip("_")[:1].isupper() for part in parts)


def can_be_wrapped(
    reader: PileReader,
    readers: Sequence[PileReader],
    placement: Placement,
    facts: Facts,
) -> bool:
    """Return whether a placement replaces one function, and nothing else uses its names or sets it.

    Args:
        reader: The reader of the module that sets the replacement.
        readers: The readers of all modules of the pile.
        placement: The placement of the replacement.
        facts: The facts of the original.
    """
    if facts.kind not in FUNCTIONS | METHODS:
        return False
    if len(placement.dotted_names) != 1 or placement.key:
        return False
    (dotted_name,) = placement.dotted_names
    # A function of the pile may set it again, in the place of this replacement. A row can call the
    # function, but what that sets lies below a Wrap.
    for any_reader in readers:
        for other_placement in any_reader.placements:
            is_set_again = dotted_name in other_placement.dotted_names
            if is_set_again and not other_placement.is_expressible:
                return False
    # The names of the replacement and of the saved original.
    names = {ast.unparse(placement.value)}
    for name, original in reader.saved.items():
        if original.dotted_name == dotted_name:
            names.add(name)
    return not is_used_elsewhere(reader, readers, names)


def fault_of(reader: PileReader, placement: Placement, placed: PlacedTarget) -> str:
    """Return why no row does what a placement does to a target that may be there; '' for none.

    Args:
        reader: The reader of the module that sets it.
        placement: The placement.
        placed: The target.
    """
    if placement.hook:
        return _hook_fault(placement, placed)
    if placed.facts is None:
        return ""
    return kind_fault(reader, placement, placed.facts)


def _hook_fault(placement: Placement, placed: PlacedTarget) -> str:
    """Return why SGLang's registry hooks nothing, or not what a placement says; '' if it does."""
    if placed.is_absent:
        return f"the release has no {placed.target}: SGLang logs that, and goes on"
    is_class = placed.facts is not None and placed.facts.kind == str(Kind.CLASS)
    if is_class and placement.hook != REPLACE:
        return HOOK_OF_CLASS
    return ""
