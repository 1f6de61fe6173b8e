"""Makes rows of what a pile was observed to change, where reading did not tell the statement.

A pile is a package that patches upstream. Its entry points and other functions are called in a
child process; each change that this makes and no row has becomes one, or is listed.
"""

import ast
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from patchkit.analysis.uses.scopes import imported
from patchkit.authoring.adopt.difference import UnexpressedCode
from patchkit.authoring.adopt.keeping_off import PileFunction, keep_off
from patchkit.authoring.adopt.observed import (
    ChildProcess,
    ObservedChange,
    PileObservation,
    importable,
    observe,
)
from patchkit.authoring.adopt.own_objects import OwnChange, OwnObjects
from patchkit.authoring.adopt.pile_imports import root_modules
from patchkit.authoring.adopt.piles import PileRows
from patchkit.authoring.adopt.placed_targets import placed_target
from patchkit.authoring.adopt.row_names import unused
from patchkit.core.rows.declaration import AfterImport, Change, Decorate, Patch, Role
from patchkit.core.rows.target import Target

READ = "read"
OWN = "own object"
DECORATED = "decorated"
CALLED = "called"
IN_NO_ROW = "in no row"

_CALL_BODY = '''# {title}
"""Calls {call}, for what it changes."""

from importlib import import_module


def {name}():
    """Call the function itself, also where `old-pile` keeps it off."""
    function = import_module("{module}")
    for part in "{path}".split("."):
        function = getattr(function, part)
    getattr(function, "adopted", function)()
'''
_USED = "it returned something that its caller may use: old-pile cannot keep it off"
_PLATFORM = "vllm.platform_plugins"


@dataclass(frozen=True)
class ObservationOptions:
    """What is observed of a pile, and where.

    Args:
        package: The package that the pile patches.
        stubs: Modules to replace by an empty stand-in where they cannot be imported.
        calls: The functions of the pile to call, as `module:name`, each with who calls it: an
            entry-point group, or `--call`.
        python: The Python of the environment that the child runs in.
    """

    package: str
    stubs: Sequence[str] = ()
    calls: Sequence[tuple[str, str]] = ()
    python: str = sys.executable


def observe_pile(pile: PileRows, changed: str, options: ObservationOptions) -> str:
    """Import the pile in a child process, and make rows of what it changes there and no row does.

    Args:
        pile: The rows of the pile; gets more.
        changed: The folder, the wheel, or the name of the package.
        options: What is observed.

    Returns:
        Why nothing was observed; '' if it was.

    Raises:
        ScaffoldError: The pile cannot be imported from there, or the child failed.
    """
    own_packages = {reader.module.name.partition(".")[0] for reader in pile.readers}
    target_modules: set[str] = set()
    for patch in pile.patches:
        target_modules.update(change.place.module for change in patch.changes)
    packages = {name.partition(".")[0] for name in target_modules}
    packages = packages.union([options.package]) - own_packages
    upstream_modules = [
        name for name in target_modules if name.partition(".")[0] in packages
    ]
    # Without any row, the modules are of interest that set something as no row can.
    patching = pile.codes or {
        reader.module.name for reader in pile.readers if reader.placements
    }
    roots = root_modules(pile.readers, patching)
    if pile.base and not roots:
        roots = [pile.base]
    with importable(changed) as path:
        observation = observe(
            modules=roots,
            imported_first=[
                options.package,
                *sorted(packages.union(upstream_modules)),
            ],
            stubs=options.stubs,
            packages=packages,
            child=ChildProcess(path, options.python),
            perhaps=_imported_names(pile, packages),
            calls=[call for call, _ in options.calls],
            pile=own_packages,
        )
    fault = observation.faults.get(options.package)
    if fault:
        return f"{options.package} cannot be imported here ({fault}): the pile was read alone"
    observation.compare(pile.patches)
    pile.observed = observation
    _ObservedRows(pile, observation, dict(options.calls)).add()
    return ""


def _imported_names(pile: PileRows, packages: set[str]) -> set[str]:
    """Return what the pile imports of packages: modules, and names in them."""
    names: set[str] = set()
    for reader in pile.readers:
        for node in ast.walk(reader.module.tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            for _name, _stands_for, target in imported(node, reader.module):
                if target.module.partition(".")[0] in packages:
                    names |= {target.module, str(target).replace(":", ".")}
    return names


class _ObservedRows:
    """Makes the rows, a row for each call, and lists what is in none.

    Args:
        pile: The rows of the pile, to which they are added.
        observation: What was observed.
        callers: By function that was called, who calls it: an entry-point group, or `--call`.
    """

    def __init__(
        self, pile: PileRows, observation: PileObservation, callers: dict[str, str]
    ) -> None:
        self._pile = pile
        self._observation = observation
        self._callers = callers
        self._own_objects = OwnObjects(pile)
        self._off = list[PileFunction]()

    def add(self) -> None:
        """Add the rows, and list what no row makes and which statements were not run."""
        self._list_what_was_not_run()
        for call in self._observation.calls:
            changes = [
                change for change in self._observation.unread if change.step == call
            ]
            if changes:
                self._add_row(PileFunction.of(call), changes)
        if self._off:
            pile = self._pile
            keep_off(
                pile.patches,
                pile.bodies,
                self._off,
                self._own_objects.codes,
                origin=pile.origin,
                project=pile.project,
            )
        in_rows = [
            change
            for change in self._observation.unread
            if change.target in self._observation.depths
        ]
        self._drop_from_list(in_rows)
        for change in self._observation.unread:
            if change not in in_rows:
                self._leave(change)
        self._observation.unread = [
            change for change in self._observation.unread if change not in in_rows
        ]

    def _add_row(
        self, function: PileFunction, changes: Sequence[ObservedChange]
    ) -> None:
        """Add the row for what a call has changed, if a row can make that."""
        call = str(function)
        result = self._observation.calls[call]
        # A platform plugin names its platform, or returns None where there is none.
        if result.fault or result.is_used or self._callers.get(call) == _PLATFORM:
            return
        valid_changes = [change for change in changes if _is_target(change.target)]
        if not valid_changes:
            return
        # What the call also changes in the pile's own modules, only the call does.
        own_changes: Sequence[OwnChange] = ()
        if not result.own_changes:
            own_changes = self._own_objects.changes(valid_changes)
        word = f"patch_{function.word}"
        title = f"Adopted from {self._pile.origin}: {call}"
        body_name = unused(word, self._pile.bodies)
        depths = {change.target: CALLED for change in valid_changes}
        if own_changes:
            row_changes = [own_change.change for own_change in own_changes]
            for row_change in row_changes:
                is_decorated = isinstance(row_change, Decorate)
                depths[str(row_change.place)] = DECORATED if is_decorated else OWN
            lines = "\n".join(dict.fromkeys(each.line for each in own_changes))
            text = f'# {title}\n"""What {call} sets."""\n\n{lines}\n'
        else:
            row_changes = [self._call(function, valid_changes)]
            text = _CALL_BODY.format(
                title=title,
                call=call,
                name=_last(function.path),
                module=self._own_objects.codes.get(function.module, function.module),
                path=function.path,
            )
        self._pile.bodies[body_name] = text
        self._pile.patches.append(self._row(function, body_name, row_changes))
        self._observation.depths.update(depths)
        self._off.append(function)

    def _row(
        self, function: PileFunction, body: str, changes: Iterable[Change]
    ) -> Patch:
        """Return the row for a call."""
        pile = self._pile
        name = unused(function.word.replace("_", "-"), pile.names)
        pile.names.append(name)
        return Patch(
            name=name,
            body=body,
            requires=(pile.requires,),
            roles=frozenset(Role),
            changes=tuple(changes),
            why=f"Adopted from {pile.origin}: {function}.",
            upstream=f"none: adopted from {pile.origin}",
            sunset="upstream has these changes",
        )

    def _call(
        self, function: PileFunction, changes: Sequence[ObservedChange]
    ) -> AfterImport:
        """Return the call of a function of the pile, after the import of its module.

        As with the pile, that is before others call it: the module imports upstream itself, so that
        it is not whole yet where a module of upstream has been imported. A module with a stand-in
        is not imported: then it is the module of upstream that most others use.
        """
        modules = dict[str, int]()
        targets = list[str]()
        for change in changes:
            module = change.target.partition(":")[0]
            modules[module] = self._observation.users.get(module, 0)
            # An attribute that upstream lacks is no target, and neither is what is left in place.
            is_there = not change.is_new or change.is_inherited
            is_item = change.form == "item" and change.target.endswith("]")
            if is_there and (is_item or change.form == "attribute"):
                targets.append(change.target)
        first_module = function.module
        if first_module in self._own_objects.codes:
            first_module = max(modules, key=lambda module: modules[module])
        return AfterImport(
            first_module,
            call=_last(function.path),
            sets=tuple(targets),
            rebind=False,
        )

    def _list_what_was_not_run(self) -> None:
        """Note the statements that set something of upstream and were not run in the child."""
        for reader in self._pile.readers:
            run = self._observation.lines.get(reader.module.name, ())
            for placement in reader.placements:
                first = placement.statement.lineno
                last = placement.statement.end_lineno or first
                line = f"{reader.module.path}:{first}"
                was_run = not set(run).isdisjoint(range(first, last + 1))
                if not was_run and line not in self._observation.not_run:
                    self._observation.not_run.append(line)

    def _drop_from_list(self, changes: Iterable[ObservedChange]) -> None:
        """Drop from the list the statements whose changes are in rows by now."""
        targets = {change.target for change in changes}
        not_run = set(self._observation.not_run)
        self._pile.left = [
            code
            for code in self._pile.left
            if f"{code.file}:{code.line}" in not_run
            or not self._is_covered(code, targets)
        ]

    def _is_covered(self, code: UnexpressedCode, targets: set[str]) -> bool:
        """Return whether a statement sets only what rows of calls set.

        Args:
            code: The statement in the list.
            targets: What the rows set.
        """
        dotted_names = {target.replace(":", ".", 1) for target in targets}
        # `up.lib.?` stands for a name that reading does not tell.
        if code.place.endswith(".?"):
            owner = code.place.removesuffix("?")
            return any(name.startswith(owner) for name in dotted_names)
        if code.place in dotted_names:
            return True
        with suppress(ValueError):
            placed = placed_target(self._pile.release, code.place, is_definition=False)
            return str(placed.target) in targets
        return False

    def _leave(self, change: ObservedChange) -> None:
        """List a change that no row makes, unless a statement that makes it is in the list."""
        self._observation.depths[change.target] = IN_NO_ROW
        places = {code.place for code in self._pile.left}
        if change.dotted_name in places or change.target in places:
            return
        if change.form == "deleted":
            what = "to be deleted"
        elif change.form == "content":
            what = "to be changed in place"
        elif change.has_named_value:
            what = f"to become {change.by}"
        else:
            what = "to change"
        call = self._observation.calls.get(change.step)
        if call is None:
            reason = f"it was observed {what}; no statement that was read sets it"
        elif call.fault:
            reason = (
                f"it was observed {what} by {change.step}, which failed: {call.fault}"
            )
        elif call.is_used or self._callers.get(change.step) == _PLATFORM:
            reason = f"it was observed {what} by {change.step}; {_USED}"
        else:
            reason = f"it was observed {what} by {change.step}; no target says it"
        # No statement is known that sets it: it has no file, line and code.
        self._pile.left.append(UnexpressedCode("", 0, "", reason, change.target))


def _is_target(text: str) -> bool:
    """Return whether a text can be written as a target in a row."""
    try:
        Target.parse(text)
    except ValueError:
        return False
    return True


def _last(path: str) -> str:
    """Return the name of a function without its class."""
    return path.rpartition(".")[2]
