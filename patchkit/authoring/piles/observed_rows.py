"""Makes rows of what a pile was observed to change, where reading did not tell the statement.

A pile is a package that patches upstream. Its entry points and other functions are called in a
child process; each change that this makes and no row has becomes one, or is listed.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from patchkit.authoring.diffs.unexpressed import WITHOUT_ROW, UnexpressedCode
from patchkit.authoring.piles.begun_imports import importing_body
from patchkit.authoring.piles.call_order import CallOrder, changed_again_by_import
from patchkit.authoring.piles.called_rows import (
    PLATFORM,
    CalledRow,
    CalledRows,
    PatchingCall,
    is_target,
    own_text,
    patching_calls,
)
from patchkit.authoring.piles.dropped_rows import drop_rows
from patchkit.authoring.piles.keeping_off import PileFunction, keep_off, served_after
from patchkit.authoring.piles.nested_calls import nested_calls
from patchkit.authoring.piles.observed import ObservedChange, PileObservation
from patchkit.authoring.piles.own_objects import OwnObjects
from patchkit.authoring.piles.pile_order import chained
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.piles.placed_targets import placed_target
from patchkit.authoring.piles.read_values import read_wrongly
from patchkit.authoring.piles.row_names import unused
from patchkit.authoring.piles.taken_values import TAKEN_MODULE, TAKEN_TEXT
from patchkit.core.rows.declaration import AfterImport, Change, Decorate, Patch

READ = "read"
OWN = "own object"
DECORATED = "decorated"
TAKEN = "taken"
CALLED = "called"
IN_NO_ROW = "in no row"

_USED = "it returned something that its caller may use: old-pile cannot keep it off"
_WRAPPED = "another row wraps it, and what a call sets lies below that"


class ObservedRows:
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
        self._called_rows = CalledRows(pile.pack, observation.users)
        self._without_rows: Collection[str] = ()
        self._read_wrongly: Mapping[str, str] = {}
        self._off: dict[PileFunction, str] = {}
        self._order = CallOrder(observation.calls)
        self._overwritten = changed_again_by_import(observation.changes)

    def add(self) -> None:
        """Add the rows, and list what no row makes and which statements were not run."""
        self._list_what_was_not_run()
        self._drop_what_was_read_wrongly()
        self._own_objects = OwnObjects(self._pile)
        self._add_rows_of_imports()
        calls = patching_calls(self._observation, self._callers)
        called = [call for call in calls if not self._add_own_row(call)]
        # Only now, as a module that has a stand-in by then gives nobody its functions.
        for call in called:
            self._add_called_row(call)
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
            change for change in self._observation.unread if self._is_made(change)
        ]
        # A call comes after the rows of the import that have the same target.
        self._pile.patches = list(chained(self._order.sorted(self._pile.patches)))
        self._drop_from_list(in_rows)
        self._note_copies(in_rows)
        for change in self._observation.unread:
            if change not in in_rows:
                self._observation.depths[change.target] = IN_NO_ROW
                self._leave(change)
        with_rows = [call for call in calls if call.function in self._off]
        self._pile.left += nested_calls(self._pile.readers, with_rows)
        for change in [*self._observation.earlier, *self._overwritten]:
            if not self._order.is_made(change):
                self._leave(change)
        self._observation.unread = [
            change for change in self._observation.unread if change not in in_rows
        ]

    def _add_own_row(self, call: PatchingCall) -> bool:
        """Add a row that sets what a call has set without the call; False if there can be none."""
        if not call.is_plain:
            return False
        own_changes = self._own_objects.changes(call.changes, call.function)
        if not own_changes:
            return False
        row_changes = [own_change.change for own_change in own_changes]
        text = own_text(self._title(call.function), f"{call.function}", own_changes)
        if not self._is_below_a_wrap(call.changes, row_changes):
            self._add_row_of_call(call, CalledRow(row_changes, text, is_taken=False))
            self._order.note_made(call.changes)
            for row_change in row_changes:
                is_decorated = isinstance(row_change, Decorate)
                depth = DECORATED if is_decorated else OWN
                self._observation.depths[str(row_change.place)] = depth
        return True

    def _add_called_row(self, call: PatchingCall) -> None:
        """Add a row that makes a call, if it can."""
        codes = self._own_objects.codes
        title = self._title(call.function)
        called = self._called_rows.of_function(
            call.function, codes, title, call.changes
        )
        # Only where values are taken from a call, the body has what it has returned, too.
        if call.is_used and not called.is_taken:
            return
        if self._is_below_a_wrap(call.changes, called.changes):
            return
        self._add_row_of_call(call, called)
        self._note(call.changes, called.changes)

    def _title(self, function: PileFunction) -> str:
        """Return the first line of a body for a function."""
        return f"Adopted from {self._pile.origin}: {function}"

    def _add_row_of_call(self, call: PatchingCall, called: CalledRow) -> None:
        """Add a row, and note that it keeps the function off."""
        function = call.function
        body_name = self._add_called(function.word, str(function), called)
        if called.begin:
            self._add_import(function, called.begin)
        self._off[function] = ""
        if call.is_used:
            self._off[function] = f"{self._pile.pack}.{body_name}"

    def _add_import(self, function: PileFunction, begin: AfterImport) -> None:
        """Add the row that imports the module of a function, which a row waits for."""
        pile = self._pile
        observation = self._observation
        packages = {
            change.target.partition(".")[0].partition(":")[0]
            for change in observation.changes
        }
        text = importing_body(
            self._title(function), function, pile.readers, observation.lines, packages
        )
        word = f"begin_{function.word}"
        body_name = unused(f"patch_{word}", pile.bodies)
        pile.bodies[body_name] = text
        row = self._row(word, str(function), body_name, [begin])
        caller = self._callers.get(str(function), "--call")
        if caller != "--call":
            # The engine that calls an entry point imports its module, too: that is enough where the
            # import fails here.
            row = row.__replace__(required=False)
        pile.patches.append(row)

    def _add_called(self, word: str, source: str, called: CalledRow) -> str:
        """Add a row, and its body, whose name is returned.

        Args:
            word: A word for the row.
            source: What of the pile it stands for.
            called: What it has.
        """
        pile = self._pile
        body_name = unused(f"patch_{word}", pile.bodies)
        pile.bodies[body_name] = called.text
        if called.is_taken:
            pile.bodies[TAKEN_MODULE] = TAKEN_TEXT
        pile.patches.append(self._row(word, source, body_name, called.changes))
        return body_name

    def _note(
        self, changes: Sequence[ObservedChange], row_changes: Iterable[Change]
    ) -> None:
        """Note how deep the changes of a call were understood."""
        self._order.note_made(changes)
        for change in changes:
            self._observation.depths[change.target] = CALLED
        for row_change in row_changes:
            if not isinstance(row_change, AfterImport):
                self._observation.depths[str(row_change.place)] = TAKEN

    def _note_copies(self, changes: Iterable[ObservedChange]) -> None:
        """Note the copies that the pile has left, of targets that rows of calls set."""
        for change in changes:
            depth = self._observation.depths[change.target]
            if change.copies and depth != CALLED:
                self._observation.copies[change.target] = change.copies

    def _is_made(self, change: ObservedChange) -> bool:
        """Return whether a row makes a change: that of the call, where a call made it."""
        if change.step:
            return self._order.is_made(change)
        return change.target in self._observation.depths

    def _is_below_a_wrap(
        self, changes: Sequence[ObservedChange], row_changes: Iterable[Change] = ()
    ) -> bool:
        """Return whether a row wraps what a call sets again, so that its own cannot be added."""
        rows = self._pile.patches
        return self._order.is_below_a_wrap(rows, changes, row_changes)

    def _add_rows_of_imports(self) -> None:
        """Add a row for each module whose import changes what no row that was read does.

        That is a module without such rows: a body would run the rest of its text as it is loaded.
        """
        pile = self._pile
        calls = patching_calls(self._observation, self._callers)
        called = {call.function.module for call in calls}
        for reader in pile.readers:
            name = reader.module.name
            changes = [
                change
                for change in self._observation.unread
                if not change.step
                and is_target(change.target)
                and _is_made_by(change, reader)
            ]
            if not changes or name in called:
                continue
            if name in pile.codes and name not in self._without_rows:
                continue
            code = self._own_objects.take_text(reader)
            if code:
                self._add_row_of_import(name, code, reader.module.path, changes)

    def _add_row_of_import(
        self, name: str, code: str, path: str, changes: Sequence[ObservedChange]
    ) -> None:
        """Add the row for what the import of a module sets.

        Args:
            name: The module of the pile.
            code: The module of the pack with its text.
            path: Its file.
            changes: What the import was observed to change.
        """
        pile = self._pile
        title = " ".join(f"Adopted from {pile.origin}: {path}".split())
        called = self._called_rows.of_import(name, code, title, changes)
        word = name.replace(".", "_").lower()
        body_name = self._add_called(word, name, called)
        self._note(changes, called.changes)
        if called.is_taken:
            body = f"{pile.pack}.{body_name}"
            stand_ins = served_after(pile.bodies["patch_old_pile"], name, body)
            pile.bodies["patch_old_pile"] = stand_ins

    def _row(
        self, word: str, source: str, body: str, changes: Iterable[Change]
    ) -> Patch:
        """Return a row that is named by a word, for a function or a module of the pile."""
        pile = self._pile
        plain_name = re.sub("_+", "-", word).strip("-")
        name = unused(plain_name, pile.names)
        pile.names.append(name)
        row = pile.adopted(name, body, changes, source)
        self._order.note_row(row, source)
        return row

    def _drop_what_was_read_wrongly(self) -> None:
        """Drop the rows of modules that set something else than reading gives.

        Such a module is run as a whole, as one that reading does not tell.
        """
        observation = self._observation
        in_rows = dict[str, ObservedChange]()
        for change in observation.changes:
            # What a call sets again has a row of its own.
            is_of_call = change.step in self._callers
            if change.target in observation.depths and not is_of_call:
                in_rows[change.target] = change
        self._read_wrongly = read_wrongly(in_rows.values(), self._pile.values)
        dropped = drop_rows(self._pile, self._read_wrongly)
        self._without_rows = dropped.modules
        for target in in_rows.keys() & dropped.targets:
            del observation.depths[target]
            observation.unread.append(in_rows[target])

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
        # `up.lib.?` stands for a name that reading does not tell. A statement that changes a
        # container or a module is known by it, and what is observed by its items and names.
        owner = code.place.removesuffix(".?").removesuffix(".__dict__")
        owners = [owner]
        for is_definition in (False, True):
            with suppress(ValueError):
                placed = placed_target(
                    self._pile.release, owner, is_definition=is_definition
                )
                owners.append(f"{placed.target}".replace(":", ".", 1))
        for owner in owners:
            for name in dotted_names:
                if name == owner or name.startswith((f"{owner}.", f"{owner}[")):
                    return True
        # `lib.f.__code__` is a part of a function: what is observed is the function.
        whole, _, part = code.place.rpartition(".__")
        return bool(part) and whole in dotted_names

    def _leave(self, change: ObservedChange) -> None:
        """List a change that no row makes, unless a statement that makes it is in the list."""
        places = {code.place for code in self._pile.left}
        if change.dotted_name in places or change.target in places:
            return
        reason = self._reason(change)
        # No statement is known that sets it: it has no file, line and code.
        self._pile.left.append(
            UnexpressedCode("", 0, "", reason, change.target, kind=WITHOUT_ROW)
        )

    def _reason(self, change: ObservedChange) -> str:
        """Return why no row makes a change."""
        observed = f"it was observed {change.outcome}"
        read = self._read_wrongly.get(change.target)
        if read:
            return f"reading gives {read}, and {observed}"
        call = self._observation.calls.get(change.step)
        if call is None:
            return f"{observed}; no statement that was read sets it"
        observed = f"{observed} by {change.step}"
        if change in self._overwritten:
            return f"{observed}, before the import of the pile has changed it again"
        if call.fault:
            return f"{observed}, which failed: {call.fault}"
        if call.is_used or self._callers.get(change.step) == PLATFORM:
            return f"{observed}; {_USED}"
        if self._is_below_a_wrap([change]):
            return f"{observed}; {_WRAPPED}"
        return f"{observed}; no target says it"


def _is_made_by(change: ObservedChange, reader: PileReader) -> bool:
    """Return whether the import of a module seems to have made a change."""
    if change.maker:
        return change.maker == reader.module.name
    if change.by.partition(":")[0] == reader.module.name:
        return True
    for placement in reader.placements:
        if placement.function:
            continue
        for name in placement.dotted_names:
            is_item = change.dotted_name.startswith(f"{name}[")
            if is_item or change.dotted_name == name:
                return True
    return False
