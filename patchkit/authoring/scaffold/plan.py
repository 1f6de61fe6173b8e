"""Plans the files of a new patch: its row, body and test, and its pack if there is none yet."""

import keyword
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scaffold.body import body_text, test_text
from patchkit.authoring.scaffold.files import Drafts, PlannedFile
from patchkit.authoring.scaffold.first_change import UpstreamTarget, first_change
from patchkit.authoring.scaffold.row_edits import with_row
from patchkit.authoring.scaffold.rows import is_named, new_pack, row_text
from patchkit.core.rows.declaration import Change, Patch, Role
from patchkit.core.versions.requirements import (
    FoundVersion,
    canonical,
    parse_requirement,
    written_bounds,
)
from patchkit.errors import ScaffoldError
from patchkit.registry import row_of

INIT = "__init__.py"
_MOST_LETTERS = 100
"""How much of a name is quoted in an error about it, which may be its length."""


class Plan(NamedTuple):
    """A new patch, and the files to write for it.

    Args:
        patch: the row.
        place: the pack that it is for.
        row: the text of the row.
        files: the files to write.
        refusal: why the row cannot be written into the pack's file, so that its author has to paste
            it; None where that file is among the files.
    """

    patch: Patch
    place: "PackLocation"
    row: str
    files: Sequence[PlannedFile]
    refusal: ScaffoldError | None = None


class PatchRequest(NamedTuple):
    """What the command line of `patchkit new` asks for.

    Args:
        name: the name of the patch.
        kind: the kind of its changes, as in `--kind`; None to choose it by the target.
        roles: the roles that it is for; () for the default of its pack.
        body: the name of its body; None to choose one.
        bounds: requirements on the releases that it is for; () for those like the newest.
    """

    name: str
    kind: str | None = None
    roles: Collection[Role] = ()
    body: str | None = None
    bounds: Sequence[str] = ()


def plan(
    request: PatchRequest,
    targets: Sequence[UpstreamTarget],
    place: "PackLocation",
    tests: Path,
    drafts: Drafts,
) -> Plan:
    """Return the plan of a new patch; nothing is written.

    Args:
        request: what is asked for.
        targets: what the patch changes, at least one.
        place: the pack that it is for.
        tests: the folder of its test.
        drafts: the files that are planned for other patches; those of this one are added.

    Raises:
        ScaffoldError: A target cannot be changed so, or a file or the name exists already.
        PatchkitError: The row would be invalid.
    """
    changes: list[tuple[UpstreamTarget, Change]] = []
    for upstream in targets:
        taken = {change.body_name for _, change in changes}
        changes.append((upstream, first_change(upstream, request.kind, taken)))
    requirements = [_requirement(upstream, request.bounds) for upstream in targets]
    body = body_text(changes)
    body_name = None
    bodies: dict[str, str] = {}
    if body:
        body_name = _body_name(request, targets[0], place, drafts)
        bodies[body_name] = body
    patch = Patch(
        name=request.name,
        body=body_name,
        requires=tuple(dict.fromkeys(requirements)),
        roles=frozenset(request.roles) if request.roles else None,
        changes=tuple(change for _, change in changes),
    )
    row_of(place.module, patch)  # raises an error if the row is invalid
    test_name = f"test_{_identifier(request.name)}.py"
    test_content = test_text(patch, place.module, targets).encode()
    # Packages around the pack that exist, or are planned for an earlier patch, are left out. A body
    # that exists is an error, which `_with_row` raises, so it stays.
    files = [
        file
        for file in place.files(bodies)
        if file.what == "body" or not drafts.has(file.path)
    ]
    files.append(PlannedFile("test", tests / test_name, test_content))
    planned = _with_row(Plan(patch, place, row_text(patch), files), drafts)
    drafts.add(planned.files)
    return planned


def _identifier(name: str) -> str:
    """Turn the name of a patch into part of a module's name: `my_patch` for `my-patch`."""
    return name.replace("-", "_")


def _body_name(
    request: PatchRequest,
    first: UpstreamTarget,
    place: "PackLocation",
    drafts: Drafts,
) -> str:
    """Choose the name of a body: the one asked for, else after the first target's module.

    If that file exists, the name is that of the patch, or both.
    """
    if request.body:
        return request.body
    module = first.target.module.rpartition(".")[2].strip("_")
    own_name = _identifier(request.name)
    candidates = [f"patch_{module}", f"patch_{own_name}", f"patch_{module}_{own_name}"]
    for candidate in candidates:
        if not drafts.has(place.folder / f"{candidate}.py"):
            return candidate
    return candidates[-1]  # `_with_row` says that this file exists


def _with_row(plan: Plan, drafts: Drafts) -> Plan:
    """Add the file with the rows to a plan, or the reason why the row cannot be written into it.

    Raises:
        ScaffoldError: A file, or a row of this name, exists already.
    """
    file = plan.place.file
    patch = plan.patch
    old = drafts.content(file)
    if old and is_named(old, patch):
        raise ScaffoldError(f"{file}: found a row {patch.name!r}, expected a new name")
    for planned in plan.files:
        if drafts.has(planned.path):
            way_out = "; --body names another" if planned.what == "body" else ""
            raise ScaffoldError(f"found {planned.path}, expected no such file{way_out}")
    if old is None or not old.strip():
        new = new_pack(plan.place.module, patch)
    else:
        try:
            new = with_row(file, old, patch)
        except ScaffoldError as error:
            return plan._replace(refusal=error)
    return plan._replace(files=[*plan.files, PlannedFile("row", file, new, old)])


def _requirement(upstream: UpstreamTarget, bounds: Sequence[str]) -> str:
    """Write the requirement on a target's package.

    Args:
        upstream: the target.
        bounds: requirements that were asked for, on any distributions. If none is on this one, the
            requirement is the minor version of the newest release, `vllm>=0.32,<0.33`.
    """
    package = upstream.target.module.partition(".")[0]
    newest = upstream.newest
    for text in bounds:
        if canonical(parse_requirement(text).name) != newest.project:
            continue
        bound = written_bounds(text)
        if bound:
            return f"{package}{bound}"
    # `counts_as`: a nightly build of 0.33.0 counts as 0.33.0.
    version = FoundVersion(package, newest.version, newest.name).counts_as
    # Of `0.32.1.post1`, the first two numbers: 0 and 32. Of `2`, which has one, `major` is empty.
    *major, last = version.partition(".post")[0].split(".")[:2]
    lower = ".".join([*major, last])
    upper = ".".join([*major, str(int(last) + 1)])
    return f"{package}>={lower},<{upper}"


class PackLocation(NamedTuple):
    """Where a pack is, or is to be.

    Args:
        module: the name of its module.
        folder: the folder of its package.
    """

    module: str
    folder: Path

    @property
    def file(self) -> Path:
        """The file that has the rows."""
        return self.folder / INIT

    @property
    def root(self) -> Path:
        """The folder that contains the top package: `src` for `src/my_package/my_pack`."""
        return self.folder.parents[self.module.count(".")]

    @property
    def new_parents(self) -> list[Path]:
        """The `__init__.py` files that packages around the pack lack, the outermost first."""
        outer = list(self.folder.parents)[: self.module.count(".")]
        return [
            folder / INIT for folder in reversed(outer) if not (folder / INIT).exists()
        ]

    def files(self, bodies: Mapping[str, str]) -> list[PlannedFile]:
        """Return the files of the pack beside that of its rows: packages around it, and bodies.

        Args:
            bodies: the texts of bodies, by name.
        """
        files = [PlannedFile("package", file, b"") for file in self.new_parents]
        for name, text in bodies.items():
            files.append(PlannedFile("body", self.folder / f"{name}.py", text.encode()))
        return files


def place_of(text: str, here: Path, find: Callable[[str], Path | None]) -> PackLocation:
    """Return where a pack is, or where it will be made.

    Args:
        text: a folder, or the name of a module, as on the command line.
        here: the folder that a relative folder, or a new package, is in.
        find: returns the file of an importable module; None where there is none.

    Raises:
        ScaffoldError: It is no package, and none can be made there.
    """
    try:
        pack = _package_at(text, here, find)
        with suppress(FileNotFoundError, NotADirectoryError):
            (pack.folder / INIT).lstat()
    except OSError as error:  # such as a name that is too long
        reason = error.strerror or str(error)
        raise ScaffoldError(
            f"found {text[:_MOST_LETTERS]}, where no package can be ({reason}), expected a folder "
            "or a module's name"
        ) from error
    return pack


def _package_at(
    text: str, here: Path, find: Callable[[str], Path | None]
) -> PackLocation:
    """Return the pack that `place_of` is asked for.

    Raises:
        OSError: No such folder can be looked for.
        ScaffoldError: It is no package, and none can be made there.
    """
    folder = here / text
    # `os.path`: unlike a `Path`, it raises no error for a dotted name that is too long for a file.
    if os.path.isfile(folder):  # noqa: PTH113
        raise ScaffoldError(f"{text} is a file, expected a folder or a module's name")
    if folder.name == "src" and not (folder / INIT).exists():
        raise ScaffoldError(
            f"{text} is no package, expected a package in it, such as src/my_pack"
        )
    # A folder that exists, or a path that can be no module's name, such as `src/my_pack`.
    is_folder = os.path.isdir(folder)  # noqa: PTH112
    if is_folder or not all(map(_can_be_imported, text.split("."))):
        return _of_folder(text, folder.resolve())
    file = find(text)
    if file is not None and file.name != INIT:
        raise ScaffoldError(
            f"{text} is the file {file}, expected a package, for its bodies"
        )
    if file is not None:
        return PackLocation(text, file.parent)
    return PackLocation(text, _home(here.resolve()).joinpath(*text.split(".")))


def _can_be_imported(name: str) -> bool:
    """Whether a name can stand in an import: it is no word of Python's own, such as `class`."""
    return name.isidentifier() and not keyword.iskeyword(name)


def _home(here: Path) -> Path:
    """Return the folder for a new package: `src` if there is one and no package beside it.

    The tests of a project do not count: their folder may be a package in either layout.
    """
    source = here / "src"
    packages = [
        file.parent for file in here.glob(f"*/{INIT}") if file.parent.name != "tests"
    ]
    if source.is_dir() and not packages:
        return source
    return here


def _of_folder(text: str, folder: Path) -> PackLocation:
    """Work out the dotted name of the pack in a folder, from the packages around it.

    Args:
        text: the folder as on the command line, for the error.
        folder: the folder, absolute.

    Raises:
        ScaffoldError: The name of a folder cannot be imported.
    """
    names = [folder.name]
    for outer in folder.parents:
        # A folder that does not exist yet will be made a package, unless it is `src`.
        is_package = (outer / INIT).exists()
        if not is_package and (outer.exists() or outer.name == "src"):
            break
        names.insert(0, outer.name)
    if not all(map(_can_be_imported, names)):
        raise ScaffoldError(
            f"found {text!r}, expected a name to import, such as my_pack"
        )
    return PackLocation(".".join(names), folder)
