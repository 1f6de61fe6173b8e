"""What makes a row or a pack malformed: one clear error each, naming pack, patch and field."""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, NoReturn

from patchkit.errors import CanonicalError, DeclarationError, RequirementError
from patchkit.rows.canonical import canonical
from patchkit.rows.declaration import AddField, Change, Patch, Role
from patchkit.rows.target import Target
from patchkit.versions.requirements import check_requirement

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import ModuleType

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_BODY = re.compile(r"patch_\w+")
_ENV = re.compile(r"[A-Za-z_]\w*(=.*)?", re.DOTALL)
_FIELDS: dict[str, dict[str, type]] = {
    "Edit": {"old": str, "new": str, "count": int},
    "AddField": {"name": str},
}
_EXPECTED = {str: "a text", int: "a number from 1 on"}
_TEXTS = ("why", "upstream", "sunset")


def check_pack(pack: str, module: ModuleType) -> tuple[Patch, ...]:
    """
    Return the patches of an imported pack.

    Raises:
        DeclarationError: no `PATCHES`, something in it that is no Patch, a body without a row, or
            a row without a body.

    """
    patches = getattr(module, "PATCHES", None)
    if not isinstance(patches, (tuple, list)):
        _refuse(pack, None, "PATCHES", _show(patches), "a tuple of Patch")
    for patch in patches:
        if not isinstance(patch, Patch):
            _refuse(pack, None, "PATCHES", _show(patch), "a Patch")
    _match_bodies(pack, module, patches)
    return tuple(patches)


def check_patch(pack: str, patch: Patch) -> None:
    """
    Check every field of one row.

    Raises:
        DeclarationError: naming the first field at fault.

    """
    name = patch.name
    _text(pack, name, "name", name, _KEBAB, "kebab-case, such as 'ray-worker-torch-npu'")
    _requirements(pack, name, "requires", patch.requires)
    if not patch.requires:
        _refuse(pack, name, "requires", "none", "at least one requirement, such as 'vllm>=0.11'")
    _check_roles(pack, patch)
    _check_changes(pack, patch)
    _names(pack, name, "after", patch.after)
    _names(pack, name, "conflicts", patch.conflicts)
    for field in _TEXTS:
        if not isinstance(getattr(patch, field), str):
            _refuse(pack, name, field, _show(getattr(patch, field)), "text")
    if not isinstance(patch.required, bool):
        _refuse(pack, name, "required", _show(patch.required), "True or False")
    if patch.env is not None:
        _text(pack, name, "env", patch.env, _ENV, "'NAME' or 'NAME=value'")
    if patch.when is not None:
        _check_in_body(pack, patch, "when", patch.when)


def _match_bodies(pack: str, module: ModuleType, patches: Collection[Patch]) -> None:
    folders = list(getattr(module, "__path__", ()))
    declared = {patch.body for patch in patches if _has_body(pack, patch)}
    if declared and not folders:
        _refuse(pack, None, "package", "a plain module", "a package, which can hold bodies")
    there = _body_files(folders)
    missing = declared - there
    for patch in patches:
        if patch.body in missing and not _importable(f"{pack}.{patch.body}", folders):
            expected = f"a file {patch.body}.py in the pack"
            _refuse(pack, patch.name, "body", f"{patch.body!r}, which is not there", expected)
        _check_data(pack, module, patch)
    if loose := sorted(there - declared):
        _refuse(pack, None, "PATCHES", f"no row for {loose[0]}.py", "a row for every body")


def _check_data(pack: str, module: ModuleType, patch: Patch) -> None:
    _names(pack, patch.name, "data", patch.data)
    for name in patch.data:
        steps = name.split("/")
        if not name or not steps[0] or ".." in steps:
            expected = "a file's path, relative to the pack's folder and inside it"
            _refuse(pack, patch.name, "data", repr(name), expected)
        if not _is_file_of(module, name):
            _refuse(pack, patch.name, "data", f"{name!r}, which is not there", "a file of the pack")


def _is_file_of(module: ModuleType, name: str) -> bool:
    files = [f"{folder}/{name}" for folder in getattr(module, "__path__", ())]
    if any(map(os.path.isfile, files)):
        return True
    read: Any = getattr(module.__loader__, "get_data", None)  # of a zip
    for file in files if read is not None else ():
        try:
            read(file)
        except OSError:
            continue
        return True
    return False


def _has_body(pack: str, patch: Patch) -> bool:
    if patch.body is None:
        return False
    _text(pack, patch.name, "body", patch.body, _BODY, "the name of a module 'patch_<module>'")
    return True


def _body_files(folders: Collection[str]) -> set[str]:
    names = (name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder))  # noqa: PTH112, PTH208
    return {name[:-3] for name in names if name.startswith("patch_") and name.endswith(".py")}


def _importable(name: str, folders: list[str]) -> bool:
    return PathFinder.find_spec(name, folders) is not None


def _check_roles(pack: str, patch: Patch) -> None:
    if patch.roles is None:
        return
    roles: object = patch.roles
    if not isinstance(roles, (tuple, list, set, frozenset)) or not roles:
        _refuse(pack, patch.name, "roles", _show(roles), _some_roles())
    for role in roles:
        if not isinstance(role, Role) and role not in [str(known) for known in Role]:
            _refuse(pack, patch.name, "roles", f"the unknown role {role!r}", _some_roles())


def _some_roles() -> str:
    return f"some of {', '.join(repr(str(role)) for role in Role)}"


def _check_changes(pack: str, patch: Patch) -> None:
    if patch.changes in ((), []):
        _refuse(pack, patch.name, "changes", "none", "at least one change, such as Replace(…)")
    if not isinstance(patch.changes, (tuple, list)):
        _refuse(pack, patch.name, "changes", _show(patch.changes), "a tuple of changes")
    for number, change in enumerate(patch.changes):
        field = f"changes[{number}]"
        if type(change) is Change or not isinstance(change, Change):
            _refuse(pack, patch.name, field, _show(change), "a change, such as Replace(…)")
        _check_change(pack, patch, f"{field} {change.kind}", change)


def _check_change(pack: str, row: Patch, field: str, change: Change) -> None:
    patch, text = row.name, getattr(change, change.target_field)
    expected = "'module:qualname'" if change.inside_module else "'module'"
    try:
        target = Target.parse(text)
    except (ValueError, AttributeError):
        _refuse(pack, patch, f"{field} {change.target_field}", repr(text), expected)
    if bool(target.qualname) is not change.inside_module:
        _refuse(pack, patch, f"{field} {change.target_field}", repr(text), expected)
    if target.module == "__main__":
        found, expected = repr(text), "the name of the module that is run, as in 'python -m NAME'"
        _refuse(pack, patch, f"{field} {change.target_field}", found, expected)
    if change.body_field:
        name = getattr(change, change.body_field)
        _check_in_body(pack, row, f"{field} {change.body_field}", name)
    if change.when is not None:
        _check_in_body(pack, row, f"{field} when", change.when)
    for name, kind in _FIELDS.get(change.kind, {}).items():
        _check_plain(pack, patch, f"{field} {name}", getattr(change, name), kind)
    if isinstance(change, AddField):
        _check_same_everywhere(pack, patch, f"{field} type", change.type)
        _check_same_everywhere(pack, patch, f"{field} default", change.default)
    _requirements(pack, patch, f"{field} requires", change.requires)
    if not isinstance(change.rebind, bool):
        _check_rebind(pack, patch, f"{field} rebind", change.rebind)


def _check_in_body(pack: str, patch: Patch, field: str, name: object) -> None:
    if patch.body is None:
        _refuse(pack, patch.name, "body", "none", f"the module that holds {name!r}")
    _identifier(pack, patch.name, field, name)


def _check_plain(pack: str, patch: str, field: str, value: Any, kind: type[object]) -> None:
    empty = isinstance(value, str) and not value and not field.endswith(" new")
    if type(value) is not kind or empty or (isinstance(value, int) and value < 1):
        _refuse(pack, patch, field, _show(value), _EXPECTED[kind])


def _check_same_everywhere(pack: str, patch: str, field: str, value: object) -> None:
    try:
        canonical(value)
    except CanonicalError as error:
        expected = "what is the same in every process: a literal, or what a module calls by a name"
        _refuse(pack, patch, field, str(error), expected, error)


def _check_rebind(pack: str, patch: str, field: str, rebind: object) -> None:
    if not isinstance(rebind, (tuple, list, set, frozenset)):
        _refuse(pack, patch, field, _show(rebind), "True, False or a tuple of texts")
    for name in rebind:
        try:
            Target.parse(name)
        except (ValueError, AttributeError):
            _refuse(pack, patch, field, repr(name), "'package' or 'module:container'")


def _requirements(pack: str, patch: str, field: str, requires: object) -> None:
    _names(pack, patch, field, requires)
    for text in requires:  # type: ignore[attr-defined]  # _names has refused the rest
        try:
            check_requirement(text)
        except RequirementError as error:
            found, _, expected = str(error).removeprefix("found ").rpartition(", expected ")
            _refuse(pack, patch, field, found, expected, error)


def _names(pack: str, patch: str, field: str, names: object) -> None:
    if not isinstance(names, (tuple, list, set, frozenset)):
        _refuse(pack, patch, field, _show(names), "a tuple of texts")
    for name in names:
        if not isinstance(name, str):
            _refuse(pack, patch, field, _show(name), "a text")


def _identifier(pack: str, patch: str, field: str, name: object) -> None:
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        _refuse(pack, patch, field, _show(name), "the name of an object in the body")


def _text(
    pack: str, patch: object, field: str, value: object, form: re.Pattern[str], expected: str
) -> None:
    if not isinstance(value, str) or not form.fullmatch(value):
        _refuse(pack, str(patch), field, _show(value), expected)


def _show(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r}"


def _refuse(
    pack: str,
    patch: str | None,
    field: str,
    found: str,
    expected: str,
    cause: Exception | None = None,
) -> NoReturn:
    raise DeclarationError(pack, patch, field, found, expected) from cause
