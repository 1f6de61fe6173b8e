"""All that a new patch needs, worked out first; then all of its files are written, or none."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scaffold.body import body_text, test_text
from patchkit.authoring.scaffold.first_change import UpstreamTarget, first_change
from patchkit.authoring.scaffold.rows import is_named, new_pack, row_text, with_row
from patchkit.core.rows.declaration import Change, Patch, Role
from patchkit.core.versions.requirements import (
    FoundVersion,
    canonical,
    requirement_of,
    written_bounds,
)
from patchkit.errors import ScaffoldError
from patchkit.registry import row_of

INIT = "__init__.py"


class Plan(NamedTuple):
    """What a new patch needs; `refusal` says why the row is for its author to paste."""

    patch: Patch
    place: "Place"
    row: str
    files: "Sequence[PlannedFile]"
    refusal: ScaffoldError | None = None


class Wish(NamedTuple):
    """What a command line asks for; what it leaves open follows from the targets and the pack."""

    name: str
    kind: str | None = None
    roles: Collection[Role] = ()
    body: str | None = None
    bounds: Sequence[str] = ()


def plan(wish: Wish, targets: Sequence[UpstreamTarget], place: "Place", tests: Path) -> Plan:
    """Work out a new patch: its targets, the place of its pack, and the folder of its test."""
    changes: list[tuple[UpstreamTarget, Change]] = []
    for upstream in targets:
        taken = {change.body_name for _, change in changes}
        changes.append((upstream, first_change(upstream, wish.kind, taken)))
    body, plain = body_text(changes), wish.name.replace("-", "_")
    usual = f"patch_{targets[0].target.module.rpartition('.')[2].strip('_')}"
    is_taken = (place.folder / f"{usual}.py").exists()
    patch = Patch(
        name=wish.name,
        body=(wish.body or (f"patch_{plain}" if is_taken else usual)) if body else None,
        requires=tuple(dict.fromkeys(_requirement(upstream, wish.bounds) for upstream in targets)),
        roles=frozenset(wish.roles) if wish.roles else None,
        changes=tuple(change for _, change in changes),
    )
    row_of(place.module, patch)
    text = test_text(patch, place.module, targets)
    files = place.files({patch.body: body} if patch.body else {})
    test = PlannedFile("test", tests / f"test_{plain}.py", text.encode())
    return _with_row(Plan(patch, place, row_text(patch), [*files, test]))


def _with_row(plan: Plan) -> Plan:
    file, patch = plan.place.file, plan.patch
    old = file.read_bytes() if file.exists() else None
    if old and is_named(old, patch):
        raise ScaffoldError(f"{file}: {patch.name!r} is there already, expected a new name")
    for what, path, *_ in plan.files:
        if path.exists():
            way_out = "; --body names another" if what == "body" else ""
            raise ScaffoldError(f"{path} is there already, expected no such file{way_out}")
    try:
        is_empty = not (old and old.strip())
        new = new_pack(plan.place.module, patch) if is_empty else with_row(file, old or b"", patch)
    except ScaffoldError as error:
        return plan._replace(refusal=error)
    return plan._replace(files=[*plan.files, PlannedFile("row", file, new, old)])


def _requirement(upstream: UpstreamTarget, bounds: Sequence[str]) -> str:
    """Say which releases: those that were asked for, or those like the one that was looked at."""
    package, newest = upstream.target.module.partition(".")[0], upstream.newest
    for text in bounds:
        is_its = canonical(requirement_of(text).name) == newest.project
        if is_its and (written := written_bounds(text)):
            return f"{package}{written}"
    version = FoundVersion(package, newest.version, newest.name).counts_as
    *outer, last = version.partition(".post")[0].split(".")[:2]
    lower, upper = (".".join([*outer, one]) for one in (last, str(int(last) + 1)))
    return f"{package}>={lower},<{upper}"


class Place(NamedTuple):
    """A pack's module, and the folder of its package."""

    module: str
    folder: Path

    @property
    def file(self) -> Path:
        """What holds the rows."""
        return self.folder / INIT

    @property
    def root(self) -> Path:
        """The folder that its top package is in."""
        return self.folder.parents[self.module.count(".")]

    @property
    def new_parents(self) -> list[Path]:
        """The `__init__.py` files that the packages around it lack."""
        outer = list(self.folder.parents)[: self.module.count(".")]
        return [folder / INIT for folder in reversed(outer) if not (folder / INIT).exists()]

    def files(self, bodies: Mapping[str, str]) -> "list[PlannedFile]":
        """Plan what the pack has beside its rows: packages around it, and bodies by name."""
        texts = {self.folder / f"{name}.py": text.encode() for name, text in bodies.items()}
        packages = [PlannedFile("package", file, b"") for file in self.new_parents]
        return [*packages, *(PlannedFile("body", file, text) for file, text in texts.items())]


class PlannedFile(NamedTuple):
    """One file to write, as a `body`, `test`, `row` or `package`; `old` is None for a new one."""

    what: str
    path: Path
    new: bytes
    old: bytes | None = None

    @property
    def action(self) -> str:
        """What is done to it."""
        return "created" if self.old is None else "edited"

    @property
    def text(self) -> str:
        """Its content, for people."""
        return self.new.decode(errors="replace")

    @property
    def diff(self) -> list[str]:
        """What an edit changes; nothing for a new file."""
        old = self.new if self.old is None else self.old
        lines = old.decode(errors="replace").splitlines(), self.text.splitlines()
        return list(unified_diff(*lines, lineterm="", n=2))[2:]


def place_of(text: str, here: Path, find: Callable[[str], Path | None]) -> Place:
    """Find where a pack lies, or is to lie: a folder, or the name of a module.

    Relative folders start `here`, and packages that `find`, of importable modules, does not know.
    """
    folder = here / text
    if folder.is_file():
        raise ScaffoldError(f"{text} is a file, expected a folder or a module's name")
    if folder.name == "src" and not (folder / INIT).exists():
        raise ScaffoldError(f"{text} is no package, expected a package in it, such as src/my_pack")
    if folder.is_dir() or not all(part.isidentifier() for part in text.split(".")):
        return _of_folder(text, folder.resolve())
    file = find(text)
    if file is not None and file.name != INIT:
        raise ScaffoldError(f"{text} is the file {file}, expected a package, for its bodies")
    return Place(text, file.parent if file else _home(here.resolve()).joinpath(*text.split(".")))


def _home(here: Path) -> Path:
    """Choose where a new package goes: into `src` where that is, and no package lies beside it."""
    beside = [file for file in here.glob(f"*/{INIT}") if file.parent.name != "tests"]
    return here / "src" if (here / "src").is_dir() and not beside else here


def _of_folder(text: str, folder: Path) -> Place:
    names = [folder.name]
    for outer in folder.parents:
        if not (outer / INIT).exists() and (outer.exists() or outer.name == "src"):
            break
        names.insert(0, outer.name)
    if not all(name.isidentifier() for name in names):
        raise ScaffoldError(f"found {text!r}, expected a name to import, such as my_pack")
    return Place(".".join(names), folder)


def write(files: Iterable[PlannedFile]) -> None:
    """Write files in order; where one is there, or not what it was, take the others back."""
    with ExitStack() as undo:
        for file in files:
            try:
                for folder in reversed([one for one in file.path.parents if not one.exists()]):
                    folder.mkdir()
                    undo.callback(folder.rmdir)
                if file.old is None:
                    _create(file.path, file.new, undo)
                else:
                    _change(file.path.resolve(), file.old, file.new, undo)
            except OSError as error:
                reason = error.strerror or error
                raise ScaffoldError(f"{file.path}: {reason}; nothing was written") from error
        undo.pop_all()


def _create(path: Path, content: bytes, undo: ExitStack) -> None:
    with path.open("xb") as file:
        undo.callback(path.unlink, missing_ok=True)
        file.write(content)


def _change(path: Path, old: bytes, new: bytes, undo: ExitStack) -> None:
    """Put the new content in the place of the old at once, so that no reader sees half of it."""
    if path.read_bytes() != old:
        raise ScaffoldError(f"{path} was changed meanwhile; nothing was written")
    beside = path.with_name(f".{path.name}.patchkit")
    _create(beside, new, undo)
    beside.chmod(path.stat().st_mode)
    undo.callback(path.write_bytes, old)
    beside.replace(path)
