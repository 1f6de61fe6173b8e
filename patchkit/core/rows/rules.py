"""Checks rows and packs, and refuses the first fault, with its pack, row, field and value."""

import os
import re
from collections.abc import Collection, Sequence
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NoReturn

from patchkit.core.record import Record
from patchkit.core.rows.declaration import (
    AddField,
    AfterImport,
    Change,
    Edit,
    Patch,
    Role,
)
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import check_requirement
from patchkit.errors import CanonicalError, DeclarationError, RequirementError

_KEBAB = r"[a-z0-9]+(-[a-z0-9]+)*"
_BODY = r"patch_\w+"
_ENV = r"[A-Za-z_]\w*(=(?s:.*))?"
_MOST_EDITS = 100_000
"""How often an Edit may find its text; no function is so long."""
_LONGEST = 10_000
"""Characters of the longest requirement that is read: some take seconds to refuse."""
_COLLECTIONS = (tuple, list, set, frozenset)


class _FieldChecks(Record):
    """Checks of the fields of one row, or of a pack if `patch` is None, that raise its errors."""

    pack: str
    patch: str | None = None

    def refuse(
        self, field: str, found: str, expected: str, cause: Exception | None = None
    ) -> NoReturn:
        """Raise the error of a field."""
        raise DeclarationError(
            self.pack,
            self.patch,
            field,
            found,
            expected,
        ) from cause

    def require(self, holds: object, field: str, value: object, expected: str) -> None:
        """Refuse the value of a field unless a condition is true."""
        if holds:
            return
        if value is None:
            self.refuse(field, "nothing", expected)
        kind = type(value).__name__
        shown = f"{kind} {_text_of(value)}"
        self.refuse(field, shown, expected)

    def refuse_missing_comma(self, kind: type, field: str, value: object) -> None:
        """Refuse one object of a kind in place of a tuple: `(Patch(…))` is none."""
        if isinstance(value, kind):
            name = type(value).__name__
            found = f"one {name}, as a comma is missing behind it"
            self.refuse(field, found, f"a tuple, ({name}(…),)")

    def require_match(
        self, pattern: str, field: str, value: object, expected: str
    ) -> None:
        """Refuse a value that is no string, or does not match a pattern as a whole."""
        matches = isinstance(value, str) and re.fullmatch(pattern, value)
        self.require(matches, field, value, expected)

    def require_string(self, field: str, value: object) -> None:
        """Refuse what is no string."""
        is_string = isinstance(value, str)
        self.require(is_string, field, value, "a string")

    def require_filled(self, field: str, value: object) -> None:
        """Refuse what is no string, or is empty."""
        self.require_match(r"(?s:.+)", field, value, "a string")

    def require_strings(self, field: str, values: Any) -> None:
        """Refuse what is no collection of strings."""
        is_collection = isinstance(values, _COLLECTIONS)
        self.require(is_collection, field, values, "a tuple of strings")
        for value in values:
            self.require_string(field, value)

    def require_requirements(self, field: str, values: Any) -> None:
        """Refuse what is no collection of valid requirements."""
        self.require_strings(field, values)
        for text in values:
            if len(text) > _LONGEST:
                found = f"a requirement of {len(text):,} characters"
                self.refuse(field, found, f"one of up to {_LONGEST:,}")
            try:
                check_requirement(text)
            except RequirementError as error:
                # The message is `found …, expected …`, of which both parts are used again.
                message = str(error).removeprefix("found ")
                problem, _, expected = message.rpartition(", expected ")
                self.refuse(field, problem, expected, error)

    def require_in_body(self, patch: Patch, field: str, name: object) -> None:
        """Refuse what cannot be the name of an object in the body, or a patch without a body."""
        if patch.body is None:
            expected = f"the module that holds {name!r}"
            self.refuse("body", "none", expected)
        is_name = isinstance(name, str) and _is_dotted(name)
        self.require(is_name, field, name, "the name of an object in the body")

    def require_expression(self, field: str, value: object) -> None:
        """Refuse a string that is no Python expression."""
        if not isinstance(value, str):
            return
        try:
            compile(value.strip(), field, "eval", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.refuse(field, repr(value), "a type, or the text of one", error)

    def require_canonical(self, field: str, value: object) -> None:
        """Refuse a value whose text differs between processes, such as an object's address."""
        from patchkit.core.rows.canonical import canonical  # noqa: PLC0415 - an AddField's fields alone

        try:
            canonical(value)
        except CanonicalError as error:
            problem = str(error)
            same = "what is the same in every process"
            expected = f"{same}: a literal, or what a module calls by a name"
            self.refuse(field, problem, expected, error)


def _text_of(value: object) -> str:
    """Write a value for a message, also one that cannot be written."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - the pack's own code, or a number of 5,000 digits
        return f"whose repr raises {type(error).__name__}"


def _is_dotted(name: str) -> bool:
    """Whether a text is one or several identifiers, with dots between them."""
    parts = name.split(".")
    return all(part.isidentifier() for part in parts)


def check_pack(pack: str, module: ModuleType) -> tuple[Patch, ...]:
    """Check the declaration of an imported pack and the files that it needs.

    Args:
        pack: The dotted name of the pack.
        module: The pack.

    Returns:
        The patches of the pack, whose other fields are not checked.

    Raises:
        DeclarationError: `PATCHES` is malformed, or a body or a file of data is missing.
    """
    checks = _FieldChecks(pack)
    patches: Any = getattr(module, "PATCHES", None)
    if patches is None and getattr(module, "__file__", None) is None:
        found = f"nothing, as {pack} has no __init__.py"
        checks.refuse("PATCHES", found, "a tuple of Patch")
    checks.refuse_missing_comma(Patch, "PATCHES", patches)
    is_sequence = isinstance(patches, (tuple, list))
    checks.require(is_sequence, "PATCHES", patches, "a tuple of Patch")
    for patch in patches:
        is_patch = isinstance(patch, Patch)
        checks.require(is_patch, "PATCHES", patch, "a Patch")
    search_path = getattr(module, "__path__", ())
    folders = list(search_path)
    _match_bodies(pack, folders, patches)
    for patch in patches:
        row_checks = _FieldChecks(pack, str(patch.name))
        _check_data(row_checks, folders, patch)
    return tuple(patches)


def _match_bodies(
    pack: str, folders: Sequence[str], patches: Collection[Patch]
) -> None:
    """Refuse a row without its body, and a body without a row."""
    declared: dict[str, str] = {}
    for patch in patches:
        body: Any = patch.body
        if body is None:
            continue
        expected = "the name of a module 'patch_<module>'"
        if isinstance(body, str) and body.startswith(f"{pack}."):
            expected = f"{body.removeprefix(pack)[1:]!r}, without the pack's name"
        row_checks = _FieldChecks(pack, str(patch.name))
        row_checks.require_match(_BODY, "body", body, expected)
        declared[body] = str(patch.name)
    pack_checks = _FieldChecks(pack)
    if declared and not folders:
        expected = "a package (a folder with __init__.py), which can hold bodies"
        pack_checks.refuse("package", "a plain module", expected)
    present = _bodies_in(folders)
    for body, name in declared.items():
        if body in present:
            continue
        module = f"{pack}.{body}"
        if PathFinder.find_spec(module, folders) is None:  # no compiled one either
            missing = f"{body!r}, which is not there"
            expected = f"a file {body}.py in the pack"
            row_checks = _FieldChecks(pack, name)
            row_checks.refuse("body", missing, expected)
    undeclared = sorted(present - declared.keys())
    if undeclared:
        missing = f"no row for {undeclared[0]}.py"
        pack_checks.refuse("PATCHES", missing, "a row for every body")


def _bodies_in(folders: Sequence[str]) -> set[str]:
    """Return the names of the modules `patch_<module>` in folders."""
    bodies = set()
    for folder in folders:
        if not os.path.isdir(folder):  # noqa: PTH112
            continue
        for name in os.listdir(folder):  # noqa: PTH208
            if name.startswith("patch_") and name.endswith(".py"):
                body = name.removesuffix(".py")
                bodies.add(body)
    return bodies


def _check_data(checks: _FieldChecks, folders: Sequence[str], patch: Patch) -> None:
    """Refuse a path in `data` that leads out of the pack's folders, or to no file."""
    checks.require_strings("data", patch.data)
    for name in patch.data:
        is_absolute = name.startswith("/")
        leads_up = ".." in name.split("/")
        if not name or is_absolute or leads_up:
            shown = repr(name)
            expected = "a file's path, relative to the pack's folder and inside it"
            checks.refuse("data", shown, expected)
        files = [f"{folder}/{name}" for folder in folders]
        is_present = any(map(os.path.isfile, files))
        if not is_present:
            missing = f"{name!r}, which is not there"
            checks.refuse("data", missing, "a file of the pack")


def check_patch(pack: str, patch: Patch) -> None:
    """Check every field of one row.

    Args:
        pack: The dotted name of the pack that has the row.
        patch: The row.

    Raises:
        DeclarationError: A field is malformed; the error names the first one.
    """
    checks = _FieldChecks(pack, str(patch.name))  # the name may be of any type
    expected = "kebab-case, such as 'ray-worker-torch-npu'"
    checks.require_match(_KEBAB, "name", patch.name, expected)
    checks.require_requirements("requires", patch.requires)
    if not patch.requires:
        expected = "at least one requirement, such as 'vllm>=0.11'"
        checks.refuse("requires", "none", expected)
    _check_roles(checks, patch.roles)
    _check_changes(checks, patch)
    checks.require_strings("after", patch.after)
    checks.require_strings("conflicts", patch.conflicts)
    if patch.name in patch.conflicts:
        checks.refuse("conflicts", repr(patch.name), "names of other patches")
    for field in ("why", "upstream", "sunset"):
        text = getattr(patch, field)
        checks.require_string(field, text)
    is_bool = isinstance(patch.required, bool)
    checks.require(is_bool, "required", patch.required, "True or False")
    if patch.env is not None:
        checks.require_match(_ENV, "env", patch.env, "a string, 'NAME' or 'NAME=value'")
    for field in ("when", "verify"):
        name = getattr(patch, field)
        if name is not None:
            checks.require_in_body(patch, field, name)


def _check_roles(checks: _FieldChecks, roles: Any) -> None:
    """Refuse roles that are no collection, empty, or not all known; None means the folder's."""
    if roles is None:
        return
    names = [role.value for role in Role]
    quoted = ", ".join(map(repr, names))
    expected = f"a set such as {{Role.MAIN}}, of some of {quoted}"
    is_filled = isinstance(roles, _COLLECTIONS) and roles
    checks.require(is_filled, "roles", roles, expected)
    for role in roles:
        if role not in names:  # a Role equals its text
            shown = f"the unknown role {role!r}"
            checks.refuse("roles", shown, expected)


def _check_changes(checks: _FieldChecks, patch: Patch) -> None:
    """Refuse `changes` unless it has at least one change, and all of them are well-formed."""
    if patch.changes in ((), []):
        checks.refuse("changes", "none", "at least one change, such as Replace(…)")
    changes: Any = patch.changes
    checks.refuse_missing_comma(Change, "changes", changes)
    is_sequence = isinstance(changes, (tuple, list))
    checks.require(is_sequence, "changes", changes, "a tuple of changes")
    for number, change in enumerate(changes):
        field = f"changes[{number}]"
        is_base = type(change) is Change  # it is only the base of every kind
        is_change = isinstance(change, Change) and not is_base
        checks.require(is_change, field, change, "a change, such as Replace(…)")
        described = f"{field} {change.kind}"
        _check_change(checks, patch, described, change)


def _check_change(
    checks: _FieldChecks, patch: Patch, field: str, change: Change
) -> None:
    """Check the fields of one change; `field` names it in errors: `changes[0] Replace`."""
    target_field = f"{field} {change.target_field}"
    _check_target(checks, target_field, change)
    if change.body_field:
        body_field = f"{field} {change.body_field}"
        name = getattr(change, change.body_field)
        checks.require_in_body(patch, body_field, name)
    if change.when is not None:
        checks.require_in_body(patch, f"{field} when", change.when)
    if isinstance(change, Edit):
        checks.require_filled(f"{field} old", change.old)
        checks.require_string(f"{field} new", change.new)
        count = change.count
        is_count = type(count) is int and 1 <= count <= _MOST_EDITS  # no bool
        expected = f"a number from 1 to {_MOST_EDITS:,}"
        checks.require(is_count, f"{field} count", count, expected)
    if isinstance(change, AddField):
        is_name = isinstance(change.name, str) and change.name.isidentifier()
        checks.require(is_name, f"{field} name", change.name, "a name for a field")
        checks.require_canonical(f"{field} type", change.type)
        checks.require_expression(f"{field} type", change.type)
        checks.require_canonical(f"{field} default", change.default)
    if isinstance(change, AfterImport):
        _check_sets(checks, f"{field} sets", change)
    checks.require_requirements(f"{field} requires", change.requires)
    rebind = change.rebind
    if not isinstance(rebind, bool):
        _check_packages(checks, f"{field} rebind", rebind)


def _check_sets(checks: _FieldChecks, field: str, change: AfterImport) -> None:
    """Refuse a `sets` that is no collection of targets, or names one twice."""
    checks.require_strings(field, change.sets)
    named: set[Target] = set()
    _, *parts = change.parts
    for part in parts:
        _check_target(checks, field, part)
        if part.place in named:
            checks.refuse(field, f"{part.place} twice", "each target once")
        named.add(part.place)


def _check_packages(checks: _FieldChecks, field: str, names: Any) -> None:
    """Refuse a `rebind` that is no collection of packages, given as dotted names."""
    expected = "True, False or a tuple of strings"
    is_collection = isinstance(names, _COLLECTIONS)
    checks.require(is_collection, field, names, expected)
    for name in names:
        package = _parsed(name)
        if package is None or package.qualname:  # as in `module:TABLE['key']`
            shown = repr(name)
            expected = "a package; an item of a container is a target itself"
            checks.refuse(field, shown, expected)


def _check_target(checks: _FieldChecks, field: str, change: Change) -> None:
    """Refuse a target that is not of the form that its kind of change needs."""
    text = getattr(change, change.target_field)
    target = _parsed(text)
    expected = "'module'"
    if change.inside_module:
        expected = "'module:qualname'"
    if target is None:
        checks.refuse(field, repr(text), expected)
    has_qualname = bool(target.qualname)
    if has_qualname is not change.inside_module:
        checks.refuse(field, repr(text), expected)
    if target.module == "__main__":
        expected = "the name of the module that is run, as in 'python -m NAME'"
        checks.refuse(field, repr(text), expected)


def _parsed(text: Any) -> Target | None:
    """Parse a target; None if it is malformed, or no string at all."""
    try:
        return Target.parse(text)
    except (ValueError, AttributeError):
        return None
