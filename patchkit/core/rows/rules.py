"""Checks of rows and packs: one error for each fault, which names its place and the field."""

import os
import re
from collections.abc import Collection
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NoReturn

from patchkit.core.record import Record
from patchkit.core.rows.canonical import canonical
from patchkit.core.rows.declaration import AddField, Change, Edit, Patch, Role
from patchkit.core.rows.processes import BY, NAMED, ProcessRow
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import check_requirement
from patchkit.errors import CanonicalError, DeclarationError, ProcessRowError, RequirementError

_KEBAB = r"[a-z0-9]+(-[a-z0-9]+)*"
_BODY = r"patch_\w+"
_ENV = r"[A-Za-z_]\w*(=(?s:.*))?"
_SEVERAL = (tuple, list, set, frozenset)


class _Refusals(Record):
    pack: str
    patch: str | None = None

    def refuse(
        self, field: str, found: str, expected: str, cause: Exception | None = None
    ) -> NoReturn:
        raise DeclarationError(self.pack, self.patch, field, found, expected) from cause

    def unless(self, holds: object, field: str, value: object, expected: str) -> None:
        if not holds:
            found = "nothing" if value is None else f"{type(value).__name__} {value!r}"
            self.refuse(field, found, expected)

    def unless_text(self, form: str, field: str, value: object, expected: str) -> None:
        self.unless(isinstance(value, str) and re.fullmatch(form, value), field, value, expected)

    def unless_texts(self, field: str, values: Any) -> None:
        self.unless(isinstance(values, _SEVERAL), field, values, "a tuple of texts")
        for value in values:
            self.unless(isinstance(value, str), field, value, "a text")

    def unless_requirements(self, field: str, values: Any) -> None:
        self.unless_texts(field, values)
        for text in values:
            try:
                check_requirement(text)
            except RequirementError as error:
                found, _, expected = str(error).removeprefix("found ").rpartition(", expected ")
                self.refuse(field, found, expected, error)

    def unless_in_body(self, patch: Patch, field: str, name: object) -> None:
        if patch.body is None:
            self.refuse("body", "none", f"the module that holds {name!r}")
        is_name = isinstance(name, str) and all(map(str.isidentifier, name.split(".")))
        self.unless(is_name, field, name, "the name of an object in the body")

    def unless_same_everywhere(self, field: str, value: object) -> None:
        try:
            canonical(value)
        except CanonicalError as error:
            what = "what is the same in every process"
            expected = f"{what}: a literal, or what a module calls by a name"
            self.refuse(field, str(error), expected, error)


def check_pack(pack: str, module: ModuleType) -> tuple[Patch, ...]:
    """Return the patches of an imported pack; DeclarationError where its files do not fit them."""
    row = _Refusals(pack)
    patches: Any = getattr(module, "PATCHES", None)
    row.unless(isinstance(patches, (tuple, list)), "PATCHES", patches, "a tuple of Patch")
    for patch in patches:
        row.unless(isinstance(patch, Patch), "PATCHES", patch, "a Patch")
    _match_bodies(pack, list(getattr(module, "__path__", ())), patches)
    for patch in patches:
        _check_data(_Refusals(pack, patch.name), module, patch)
    return tuple(patches)


def _match_bodies(pack: str, folders: list[str], patches: Collection[Patch]) -> None:
    declared = {patch.body: patch.name for patch in patches if patch.body is not None}
    for body, name in declared.items():
        expected = "the name of a module 'patch_<module>'"
        _Refusals(pack, name).unless_text(_BODY, "body", body, expected)
    if declared and not folders:
        _Refusals(pack).refuse("package", "a plain module", "a package, which can hold bodies")
    names = [name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]  # noqa: PTH112, PTH208
    there = {name[:-3] for name in names if name.startswith("patch_") and name.endswith(".py")}
    for body, name in declared.items():
        if body not in there and PathFinder.find_spec(f"{pack}.{body}", folders) is None:
            expected = f"a file {body}.py in the pack"
            _Refusals(pack, name).refuse("body", f"{body!r}, which is not there", expected)
    if loose := sorted(there - declared.keys()):
        _Refusals(pack).refuse("PATCHES", f"no row for {loose[0]}.py", "a row for every body")


def _check_data(row: _Refusals, module: ModuleType, patch: Patch) -> None:
    row.unless_texts("data", patch.data)
    for name in patch.data:
        if not name or name.startswith("/") or ".." in name.split("/"):
            row.refuse(
                "data", repr(name), "a file's path, relative to the pack's folder and inside it"
            )
        files = [f"{folder}/{name}" for folder in getattr(module, "__path__", ())]
        if not any(map(os.path.isfile, files)):
            row.refuse("data", f"{name!r}, which is not there", "a file of the pack")


def check_patch(pack: str, patch: Patch) -> None:
    """Check every field of one row; DeclarationError names the first at fault."""
    row = _Refusals(pack, patch.name)
    expected = "kebab-case, such as 'ray-worker-torch-npu'"
    _Refusals(pack, str(patch.name)).unless_text(_KEBAB, "name", patch.name, expected)
    row.unless_requirements("requires", patch.requires)
    if not patch.requires:
        row.refuse("requires", "none", "at least one requirement, such as 'vllm>=0.11'")
    _check_roles(row, patch.roles)
    _check_changes(row, patch)
    row.unless_texts("after", patch.after)
    row.unless_texts("conflicts", patch.conflicts)
    for field in ("why", "upstream", "sunset"):
        text = getattr(patch, field)
        row.unless(isinstance(text, str), field, text, "text")
    row.unless(isinstance(patch.required, bool), "required", patch.required, "True or False")
    if patch.env is not None:
        row.unless_text(_ENV, "env", patch.env, "'NAME' or 'NAME=value'")
    for field in ("when", "verify"):
        if (name := getattr(patch, field)) is not None:
            row.unless_in_body(patch, field, name)


def _check_roles(row: _Refusals, roles: Any) -> None:
    if roles is None:
        return
    known = [role.value for role in Role]
    expected = f"some of {', '.join(map(repr, known))}"
    row.unless(isinstance(roles, _SEVERAL) and roles, "roles", roles, expected)
    for role in roles:
        if role not in known:
            row.refuse("roles", f"the unknown role {role!r}", expected)


def _check_changes(row: _Refusals, patch: Patch) -> None:
    if patch.changes in ((), []):
        row.refuse("changes", "none", "at least one change, such as Replace(…)")
    changes: Any = patch.changes
    row.unless(isinstance(changes, (tuple, list)), "changes", changes, "a tuple of changes")
    for number, change in enumerate(changes):
        field = f"changes[{number}]"
        is_change = isinstance(change, Change) and type(change) is not Change
        row.unless(is_change, field, change, "a change, such as Replace(…)")
        _check_change(row, patch, f"{field} {change.kind}", change)


def _check_change(row: _Refusals, patch: Patch, field: str, change: Change) -> None:
    _check_target(row, f"{field} {change.target_field}", change)
    if change.body_field:
        name = getattr(change, change.body_field)
        row.unless_in_body(patch, f"{field} {change.body_field}", name)
    if change.when is not None:
        row.unless_in_body(patch, f"{field} when", change.when)
    if isinstance(change, Edit):
        row.unless_text(r"(?s:.+)", f"{field} old", change.old, "a text")
        row.unless(isinstance(change.new, str), f"{field} new", change.new, "a text")
        is_count = type(change.count) is int and change.count >= 1
        row.unless(is_count, f"{field} count", change.count, "a number from 1 on")
    if isinstance(change, AddField):
        row.unless_text(r"(?s:.+)", f"{field} name", change.name, "a text")
        row.unless_same_everywhere(f"{field} type", change.type)
        row.unless_same_everywhere(f"{field} default", change.default)
    row.unless_requirements(f"{field} requires", change.requires)
    if not isinstance(change.rebind, bool):
        field, several = f"{field} rebind", isinstance(change.rebind, _SEVERAL)
        row.unless(several, field, change.rebind, "True, False or a tuple of texts")
        for name in change.rebind:
            package = _parsed(name)
            if package is None or package.qualname:
                row.refuse(
                    field, repr(name), "a package; an item of a container is a target itself"
                )


def _check_target(row: _Refusals, field: str, change: Change) -> None:
    text = getattr(change, change.target_field)
    target = _parsed(text)
    if target is None or bool(target.qualname) is not change.inside_module:
        row.refuse(field, repr(text), "'module:qualname'" if change.inside_module else "'module'")
    if target.module == "__main__":
        row.refuse(field, repr(text), "the name of the module that is run, as in 'python -m NAME'")


def _parsed(text: Any) -> Target | None:
    try:
        return Target.parse(text)
    except (ValueError, AttributeError):
        return None


def check_processes(where: str, rows: Any, others: Collection[ProcessRow]) -> tuple[Any, ...]:
    """Check what an entry point tells of processes, beside what others do; ProcessRowError."""
    several = rows if isinstance(rows, (tuple, list)) else [rows]
    taken = {(row.by, row.what) for row in others}
    for at, row in enumerate(several):
        if (fault := _fault(row, taken)) is not None:
            field, found, expected = fault
            text = f"{where}, PROCESSES[{at}]{field}: found {found}, expected {expected}"
            raise ProcessRowError(text)
        taken.add((row.by, row.what))
    return tuple(several)


def _fault(row: Any, taken: Collection[tuple[str, str]]) -> tuple[str, str, str] | None:
    """Find what is wrong with a row of a process: the field, its value, and what is expected."""
    if not isinstance(row, ProcessRow):
        return "", repr(row), "a ProcessRow"
    if row.by not in BY:
        return ".by", repr(row.by), f"one of {', '.join(BY)}"
    if not _is_nameable(row):
        return ".what", repr(row.what), "'module:qualname', or a text"
    role: Any = row.role  # a package may have put anything there
    if role is not None and not isinstance(role, Role):
        return ".role", repr(role), "None or a Role"
    if not (row.why or role):
        return ".why", repr(row.why), "the reason why it has no role"
    if not isinstance(row.instead_of, _SEVERAL):
        return ".instead_of", repr(row.instead_of), "a tuple of modules"
    if (row.by, row.what) in taken:
        return ".what", f"{row.what!r}, which another row has", "another"
    return None


def _is_nameable(row: ProcessRow) -> bool:
    """Whether `what` is a place in code, or a text where the way to know a process takes one."""
    is_place = re.fullmatch(r"[^:]+:[^:]+", str(row.what)) is not None  # with `<locals>` perhaps
    return is_place or (bool(row.what) and row.by not in NAMED)
