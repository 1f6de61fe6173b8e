"""Imports a pile in a child process, calls its functions there, and returns what that changes.

A pile is a package that patches upstream. What it changes is compared with what its rows change.
"""

import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from patchkit.analysis.upstream.reading.files import ROOTS
from patchkit.authoring.isolation.commands import NOT_STARTED, IsolatedRun, run_isolated
from patchkit.core.rows.declaration import Patch
from patchkit.errors import ScaffoldError

_PROGRAM = Path(__file__).with_name("observing.py")
_LIMIT = 600
"""Seconds that the import of a pile and the calls of its functions may take."""


@dataclass(frozen=True)
class ObservedChange:
    """An attribute that changed as a pile was imported, or as one of its functions was called.

    Args:
        target: The attribute, the item or the container, as `module:qualname`.
        is_new: Whether it did not exist before.
        by: Its new value, a function or class, as `module:qualname`; `module:` where the value
            has no name.
        copies: Names in other modules, as `module:name`, that are still bound to the original.
        is_inherited: Whether it is an attribute of a class that a base of the class has, too.
        is_code: Whether the new value is code or a descriptor.
        form: `attribute`, `field` (of a dataclass), `item` (of a container or of an instance),
            `content` (what was changed in place, without what its items say), `kind` (a plain
            method in the place of a property or the like) or `deleted`.
        same_as: What all names of the same item have in common; '' for an attribute.
        own: Where the new value itself is found, as `module:name`; '' where it is not.
        factory: The function that has made the new value of the original alone; '' for none.
        is_unrelated: Whether callers of the original may fail with the new value.
        is_function: Whether the original and the new value are functions, no descriptors.
        literal: The new value as a statement spells it out; '' for none of Python's plain types.
        line: The line on which the function begins that it is; -1 if that is in no file, and 0
            where it is no function.
        step: The function that was called, as `module:name`; '' for the import of the pile.
        maker: The module of the pile whose import made it, or the function that a module called as
            it was imported; '' where that is not known.
    """

    target: str
    is_new: bool
    by: str
    copies: Sequence[str]
    is_inherited: bool
    is_code: bool
    form: str
    same_as: str
    own: str
    factory: str
    is_unrelated: bool
    is_function: bool
    literal: str
    line: int
    step: str
    maker: str

    @property
    def has_named_value(self) -> bool:
        """Whether the new value is a function or class with a name."""
        return not self.by.endswith(":")

    @property
    def dotted_name(self) -> str:
        """The target as `left` names it, where a statement sets it."""
        return self.target.replace(":", ".", 1)

    @property
    def outcome(self) -> str:
        """What it has done, as the end of a sentence."""
        if self.form == "deleted":
            return "to be deleted"
        if self.form == "content":
            return "to be changed in place"
        if self.has_named_value:
            return f"to become {self.by}"
        if self.literal:
            return f"to become {self.literal}"
        return "to change"


@dataclass(frozen=True)
class ObservedCall:
    """A call of a function of the pile.

    Args:
        fault: The error that it ended with; '' for none.
        is_used: Whether it returned anything, which its caller may use.
        own_changes: What it changed in the pile's own modules.
    """

    fault: str
    is_used: bool
    own_changes: Sequence[str]


@dataclass
class PileObservation:
    """The attributes that a pile changed in a child process, compared with the targets of its rows.

    Args:
        changes: The changes of attributes.
        faults: By module or function that ended with an error, the error.
        calls: The functions that were called, as `module:name`, each with what came of it.
        lines: By module of the pile, the lines that were run.
        is_cut_off: Whether the child had no network.
        users: By module of upstream, how many others have something of it.
        unread: Changes that no row makes, the last of each target.
        earlier: Changes by calls of targets that a later call has changed again.
        inactive: Targets of rows that the pile did not change in the child.
        copies: By target, the names elsewhere that the pile left bound to the original, and that
            `rebind=True` would rebind.
        depths: By target, how deep its change was understood: `read`, `own object`, `decorated`,
            `taken`, `called`, or `in no row`.
        not_run: The statements of the pile that set something and were not run, as `file:line`.
    """

    changes: Sequence[ObservedChange]
    faults: dict[str, str] = field(default_factory=dict)
    calls: dict[str, ObservedCall] = field(default_factory=dict)
    lines: dict[str, Sequence[int]] = field(default_factory=dict)
    is_cut_off: bool = False
    users: dict[str, int] = field(default_factory=dict)
    unread: list[ObservedChange] = field(default_factory=list)
    earlier: list[ObservedChange] = field(default_factory=list)
    inactive: list[str] = field(default_factory=list)
    copies: dict[str, Sequence[str]] = field(default_factory=dict)
    depths: dict[str, str] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)

    @property
    def functions_called(self) -> str:
        """Which functions were called, in words, and how to have others called."""
        if not self.calls:
            return "no function of it was called: --call MODULE:FUNCTION names one"
        names = ", ".join(self.calls)
        return f"called: {names}; --call MODULE:FUNCTION names others"

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
        self.earlier = self._changed_again()
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

    def _changed_again(self) -> list[ObservedChange]:
        """Return what calls have changed before the call whose change is among the unread ones."""
        last_steps = {change.same_as or change.target: change for change in self.unread}
        earlier: dict[tuple[str, str], ObservedChange] = {}
        for change in self.changes:
            key = change.same_as or change.target
            last = last_steps.get(key)
            if last is not None and change.step and change.step != last.step:
                earlier.setdefault((key, change.step), change)
        return list(earlier.values())

    def _changes_without_row(
        self, rebind_by_target: Mapping[str, bool | Collection[str]]
    ) -> list[ObservedChange]:
        """Return the changes of attributes that no row has as its target, each target once.

        A row with `rebind` also sets copies of its target elsewhere: a name that now has the same
        value as such a target does not count. An item counts once, whatever names its container
        has.

        Args:
            rebind_by_target: The `rebind` of rows, by target.
        """
        values_of_rebinding_rows = set[str]()
        items_of_rows = set[str]()
        for change in self.changes:
            if change.has_named_value and rebind_by_target.get(change.target, False):
                values_of_rebinding_rows.add(change.by)
            if change.target in rebind_by_target and change.same_as:
                items_of_rows.add(change.same_as)
        # Several steps may change one target; the last is what it has in the end.
        last_changes: dict[str, ObservedChange] = {}
        changed_at_import = set[str]()
        for change in self.changes:
            last_changes[change.target] = change
            if not change.step:
                changed_at_import.add(change.target)
        unread: dict[str, ObservedChange] = {}
        for change in last_changes.values():
            # What the import of the pile sets, and then a call again, no row of the import tells.
            is_set_again = bool(change.step) and change.target in changed_at_import
            is_of_row = change.target in rebind_by_target
            has_row = is_of_row or change.same_as in items_of_rows
            if (has_row and not is_set_again) or change.by in values_of_rebinding_rows:
                self.depths[change.target] = "read"
            else:
                unread.setdefault(change.same_as or change.target, change)
        return list(unread.values())


@dataclass(frozen=True)
class ChildProcess:
    """How the child is run that imports a pile.

    Args:
        path: The folder from which the pile is imported; None where it is installed.
        python: The Python of the environment that it runs in.
        limit: The seconds after which it is ended.
    """

    path: Path | None = None
    python: str = sys.executable
    limit: float = _LIMIT


def observe(
    modules: Sequence[str],
    imported_first: Sequence[str],
    stubs: Sequence[str],
    packages: Iterable[str],
    child: ChildProcess,
    *,
    perhaps: Iterable[str] = (),
    calls: Sequence[str] = (),
    pile: Iterable[str] = (),
    apart: Iterable[str] = (),
) -> PileObservation:
    """Import the modules of a pile in a child process, and return what they change.

    What the pile imports of upstream as it runs is imported first in a second child: of a module
    that was not there before, no change is seen.

    Args:
        modules: The modules of the pile to import.
        imported_first: Modules to import before: those that the pile changes. Without the first of
            them, nothing of the pile is run.
        stubs: Modules to replace by an empty stand-in where they cannot be imported.
        packages: The packages whose attributes are compared.
        child: How the child is run.
        perhaps: Dotted names that may be modules of upstream; these are imported before, too.
        calls: Functions of the pile to call, as `module:name`.
        pile: The top-level packages of the pile.
        apart: Modules of the pile whose changes are to be told from those of others.

    Raises:
        ScaffoldError: The child ended before it wrote its answer, or took too long.
    """
    request: dict[str, Any] = {
        "modules": modules,
        "first": imported_first,
        "needs": imported_first[0] if imported_first else "",
        "perhaps": sorted(perhaps),
        "stubs": stubs,
        "packages": sorted(packages),
        "pile": sorted(pile),
        "calls": calls,
        "apart": sorted(apart),
    }
    answer, is_cut_off = _answer(request, child)
    if answer["loaded"]:
        request["perhaps"] = sorted({*request["perhaps"], *answer["loaded"]})
        request["loaded"] = answer["loaded"]
        answer, is_cut_off = _answer(request, child)
    return PileObservation(
        [ObservedChange(**change) for change in answer["changes"]],
        answer["faults"],
        {name: ObservedCall(**call) for name, call in answer["calls"].items()},
        answer["lines"],
        is_cut_off,
        answer["users"],
    )


def _answer(
    request: dict[str, Any], child: ChildProcess
) -> tuple[dict[str, Any], bool]:
    """Return the answer of a child, and whether it had no network.

    Args:
        request: What it is asked.
        child: How it is run.

    Raises:
        ScaffoldError: It ended before it wrote its answer, or took too long.
    """
    with TemporaryDirectory() as folder:
        answer_file = Path(folder, "answer.json")
        run = _run_child(json.dumps({**request, "answer": str(answer_file)}), child)
        if not answer_file.exists():
            raise ScaffoldError(
                "--observe: the process that imports the pile ended without an answer: "
                f"{run.last_line}"
            )
        answer: dict[str, Any] = json.loads(answer_file.read_text("utf-8"))
    return answer, not run.isolation.network


def _run_child(request: str, child: ChildProcess) -> IsolatedRun:
    """Run `observing` as a program, without the network and with patchkit switched off in it.

    Args:
        request: Its input, as JSON.
        child: How it is run.

    Raises:
        ScaffoldError: It took too long, or ended with an error, as a Python that is not there.
    """
    search_path = []
    if child.path:
        search_path.append(str(child.path))
    if os.environ.get("PYTHONPATH"):
        search_path.append(os.environ["PYTHONPATH"])
    environ = {
        "PYTHONHASHSEED": "0",  # sets have the same order in each run
        "PATCHKIT": "0",
        "PYTHONPATH": os.pathsep.join(search_path),
    }
    run = run_isolated(
        [child.python, "-B", str(_PROGRAM)],  # -B: no `.pyc` files in the pile's folder
        timeout=child.limit,
        environ=os.environ | environ,
        input_text=request,
    )
    if run.code is None:
        raise ScaffoldError(
            f"--observe: the import of the pile took longer than {child.limit:g} s; --no-observe "
            "reads it alone"
        )
    if run.code == NOT_STARTED:
        raise ScaffoldError(f"--python: cannot start {run.last_line}")
    if run.code:
        raise ScaffoldError(
            f"--observe: the process that imports the pile ended {run.ending}: {run.last_line}; "
            "--no-observe reads it alone"
        )
    return run


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
        for root in ROOTS[
            1:
        ]:  # `src` of a project; ROOTS[0] is the project's own folder
            if folder == path.resolve() and (folder / root).is_dir():
                folder /= root
                break
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
