"""Imports a pile in a child process, and compares what it changes there with what its rows change.

A pile is a package that patches upstream as it is imported.
"""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from patchkit.authoring.adopt import observing
from patchkit.core.rows.declaration import Patch
from patchkit.errors import ScaffoldError


@dataclass(frozen=True)
class ObservedChange:
    """An attribute that changed as a pile was imported.

    Args:
        target: The attribute, as `module:qualname`.
        is_new: Whether the attribute did not exist before.
        by: Its new value, a function or class, as `module:qualname`; `module:` where the value
            has no name.
        copies: Names in other modules, as `module:name`, that are still bound to the original.
    """

    target: str
    is_new: bool
    by: str
    copies: Sequence[str]

    @property
    def has_named_value(self) -> bool:
        """Whether the new value is a function or class with a name."""
        return not self.by.endswith(":")


@dataclass
class PileObservation:
    """The attributes that a pile changed in a child process, compared with the targets of its rows.

    Args:
        changes: The changes of attributes.
        faults: By module that could not be imported, the error.
        unread: Changes that no row makes.
        inactive: Targets of rows that the pile did not change in the child.
        copies: By target, the names elsewhere that the pile left bound to the original, and that
            `rebind=True` would rebind.
    """

    changes: Sequence[ObservedChange]
    faults: dict[str, str] = field(default_factory=dict)
    unread: list[ObservedChange] = field(default_factory=list)
    inactive: list[str] = field(default_factory=list)
    copies: dict[str, Sequence[str]] = field(default_factory=dict)

    def compare(self, patches: Iterable[Patch]) -> None:
        """Fill in `unread`, `inactive` and `copies` by comparison with rows.

        Args:
            patches: All rows that were made of the pile.
        """
        rebind_by_target: dict[str, bool | Collection[str]] = {}
        for patch in patches:
            for row_change in patch.changes:
                rebind_by_target[str(row_change.place)] = row_change.rebind
        self.unread = self._changes_without_row(rebind_by_target)
        observed_targets = {change.target for change in self.changes}
        self.inactive = [
            target
            for target in rebind_by_target
            # Of a module as a target, no attribute is compared.
            if ":" in target and target not in observed_targets
        ]
        self.copies = {}
        for change in self.changes:
            # False: a row has the target, and does not rebind; None would mean that no row has it.
            if change.copies and rebind_by_target.get(change.target) is False:
                self.copies[change.target] = change.copies

    def _changes_without_row(
        self, rebind_by_target: Mapping[str, bool | Collection[str]]
    ) -> list[ObservedChange]:
        """Return the changes of attributes that no row has as its target.

        A row with `rebind` also sets copies of its target elsewhere: a name that now has the same
        value as such a target does not count.

        Args:
            rebind_by_target: The `rebind` of rows, by target.
        """
        values_of_rebinding_rows = {
            change.by
            for change in self.changes
            if rebind_by_target.get(change.target, False)
        }
        return [
            change
            for change in self.changes
            if change.target not in rebind_by_target
            and change.by not in values_of_rebinding_rows
            and change.has_named_value
        ]


def observe(
    modules: Sequence[str],
    imported_first: Sequence[str],
    stubs: Sequence[str],
    packages: Iterable[str],
    path: Path | None = None,
) -> PileObservation:
    """Import the modules of a pile in a child process, and return what they change.

    Args:
        modules: The modules of the pile to import.
        imported_first: Modules to import before: those that the pile changes.
        stubs: Modules to replace by an empty stand-in where they cannot be imported.
        packages: The packages whose attributes are compared.
        path: The folder from which the pile is imported; None where it is installed.

    Raises:
        ScaffoldError: The child ended before it wrote its answer.
    """
    with TemporaryDirectory() as folder:
        answer_file = Path(folder, "answer.json")
        request: dict[str, Any] = {
            "modules": modules,
            "first": imported_first,
            "stubs": stubs,
            "packages": sorted(packages),
            "answer": str(answer_file),
        }
        process = _run_child(json.dumps(request), path)
        if process.returncode or not answer_file.exists():
            last_line = process.stderr.strip().rpartition("\n")[2]
            raise ScaffoldError(
                f"--observe: the process that imports the pile ended with {process.returncode}: "
                f"{last_line}"
            )
        answer = json.loads(answer_file.read_text("utf-8"))
    changes = [ObservedChange(**change) for change in answer["changes"]]
    return PileObservation(changes, answer["faults"])


def _run_child(request: str, path: Path | None) -> subprocess.CompletedProcess[str]:
    """Run `observing` as a program, with patchkit switched off in it.

    Args:
        request: Its input, as JSON.
        path: The folder from which the pile is imported; None where it is installed.
    """
    search_path = []
    if path:
        search_path.append(str(path))
    if os.environ.get("PYTHONPATH"):
        search_path.append(os.environ["PYTHONPATH"])
    environ = {
        "PYTHONHASHSEED": "0",  # sets have the same order in each run
        "PATCHKIT": "0",
        "PYTHONPATH": os.pathsep.join(search_path),
    }
    # -B: no `.pyc` files are written into the pile's folder.
    return subprocess.run(  # noqa: S603
        [sys.executable, "-B", str(observing.__file__)],
        input=request,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def importable(pile: str) -> Iterator[Path | None]:
    """Yield the folder from which a pile can be imported; None where it is installed.

    A wheel is unpacked into a temporary folder, which is deleted at the end of the context.

    Args:
        pile: A folder, a wheel, or the name of an installed package.

    Raises:
        ScaffoldError: The pile is a release on an index, such as `name==1.0`.
    """
    path = Path(pile)
    if path.is_dir():
        folder = path.resolve()
        while (folder / "__init__.py").exists():  # out of the package
            folder = folder.parent
        yield folder
    elif pile.endswith(".whl"):
        with TemporaryDirectory() as unpacked, ZipFile(path) as archive:
            archive.extractall(unpacked)
            yield Path(unpacked)
    elif "=" in pile:
        raise ScaffoldError(
            f"--observe: found {pile!r}, expected a wheel, a folder, or an installed package"
        )
    else:
        yield None
