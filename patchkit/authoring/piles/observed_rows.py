"""Makes rows of what a pile was observed to change, where reading did not tell the statement.

A pile is a package that patches upstream. Its entry points and other functions are called in a
child process; each change that this makes and no row has becomes one, or is listed.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from patchkit.authoring.diffs.difference import UnexpressedCode
from patchkit.authoring.piles.dropped_rows import drop_rows
from patchkit.authoring.piles.keeping_off import PileFunction, keep_off
from patchkit.authoring.piles.observed import ObservedChange, PileObservation
from patchkit.authoring.piles.own_objects import OwnChange, OwnObjects
from patchkit.authoring.piles.pile_order import chained
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.piles import PileRows
from patchkit.authoring.piles.placed_targets import placed_target
from patchkit.authoring.piles.read_values import read_wrongly
from patchkit.authoring.piles.row_names import unused
from patchkit.core.rows.declaration import AfterImport, Change, Decorate, Patch, Wrap
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
_IMPORT_BODY = '''# {title}
"""Runs the text of {module}, for what it changes."""

import sys
from importlib import import_module, reload


def load():
    """Import the text, or run it again."""
    if "{code}" in sys.modules:
        reload(sys.modules["{code}"])
    else:
        import_module("{code}")
'''
_USED = "it returned something that its caller may use: old-pile cannot keep it off"
_WRAPPED = "another row wraps it, and what a call sets lies below that"
_PLATFORM = "vllm.platform_plugins"


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
        self._without_rows: Collection[str] = ()
        self._read_wrongly: Mapping[str, str] = {}
        self._off = list[PileFunction]()

    def add(self) -> None:
        """Add the rows, and list what no row makes and which statements were not run."""
        self._list_what_was_not_run()
        self._drop_what_was_read_wrongly()
        self._own_objects = OwnObjects(self._pile)
        self._add_rows_of_imports()
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
        # A call comes after the rows of the import that have the same target.
        self._pile.patches = list(chained(self._pile.patches))
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
        if not result.own_changes and len(valid_changes) == len(changes):
            own_changes = self._own_objects.changes(valid_changes, function)
        decorated = set[str]()
        for own_change in own_changes:
            if isinstance(own_change.change, Decorate):
                decorated.add(own_change.change.target)
        others = [change for change in valid_changes if change.target not in decorated]
        if self._is_below_a_wrap(others):
            return
        word = f"patch_{function.word}"
        title = f"Adopted from {self._pile.origin}: {call}"
        body_name = unused(word, self._pile.bodies)
        depths = {change.target: CALLED for change in valid_changes}
        if own_changes:
            row_changes = [own_change.change for own_change in own_changes]
            for row_change in row_changes:
                is_decorated = isinstance(row_change, Decorate)
                depths[str(row_change.place)] = DECORATED if is_decorated else OWN
            own_lines = [line for each in own_changes for line in each.lines]
            own_lines.sort(key=lambda line: not line.startswith("from "))
            lines = "\n".join(dict.fromkeys(own_lines))
            text = f'# {title}\n"""What {call} sets."""\n\n{lines}\n'
        else:
            module = function.module
            if module in self._own_objects.codes:
                module = ""
            row_changes = [self._call(module, _last(function.path), valid_changes)]
            text = _CALL_BODY.format(
                title=title,
                call=call,
                name=_last(function.path),
                module=self._own_objects.codes.get(function.module, function.module),
                path=function.path,
            )
        self._pile.bodies[body_name] = text
        row = self._row(function.word, call, body_name, row_changes)
        self._pile.patches.append(row)
        self._observation.depths.update(depths)
        self._off.append(function)

    def _is_below_a_wrap(self, changes: Iterable[ObservedChange]) -> bool:
        """Return whether a row that was read wraps what a call sets again.

        A call sets what lies below all that wraps: the order would be another one than the pile's.
        """
        wrapped = set[str]()
        for patch in self._pile.patches:
            for row_change in patch.changes:
                if isinstance(row_change, (Decorate, Wrap)):
                    wrapped.add(row_change.target)
        return any(change.target in wrapped for change in changes)

    def _add_rows_of_imports(self) -> None:
        """Add a row for each module whose import changes what no row that was read does.

        That is a module without such rows: a body would run the rest of its text as it is loaded.
        """
        pile = self._pile
        called = {PileFunction.of(call).module for call in self._observation.calls}
        for reader in pile.readers:
            name = reader.module.name
            changes = [
                change
                for change in self._observation.unread
                if not change.step
                and _is_target(change.target)
                and _is_made_by(change, reader)
            ]
            if not changes or name in called:
                continue
            if name in pile.codes and name not in self._without_rows:
                continue
            code = self._own_objects.take_text(reader)
            if code:
                word = name.replace(".", "_").lower()
                body = unused(f"patch_{word}", pile.bodies)
                title = f"Adopted from {pile.origin}: {reader.module.path}"
                pile.bodies[body] = _IMPORT_BODY.format(
                    title=" ".join(title.split()), module=name, code=code
                )
                call = self._call("", "load", changes)
                pile.patches.append(self._row(word, name, body, [call]))
                for change in changes:
                    self._observation.depths[change.target] = CALLED

    def _row(
        self, word: str, source: str, body: str, changes: Iterable[Change]
    ) -> Patch:
        """Return a row that is named by a word, for a function or a module of the pile."""
        pile = self._pile
        plain_name = re.sub("_+", "-", word).strip("-")
        name = unused(plain_name, pile.names)
        pile.names.append(name)
        return pile.adopted(name, body, changes, source)

    def _call(
        self, module: str, name: str, changes: Sequence[ObservedChange]
    ) -> AfterImport:
        """Return the call of a function of a body, after the import of the pile's module.

        As with the pile, that is before others call it: the module imports upstream itself, so that
        it is not whole yet where a module of upstream has been imported. A module with a stand-in
        is not imported: then it is the module of upstream that most others use.

        Args:
            module: The pile's module; '' where it has a stand-in.
            name: The function of the body.
            changes: What it changes.
        """
        modules = dict[str, int]()
        targets = list[str]()
        for change in changes:
            target_module = change.target.partition(":")[0]
            users = self._observation.users.get(target_module, 0)
            modules[target_module] = users
            # An attribute that upstream lacks is no target, and neither is what is left in place.
            is_there = not change.is_new or change.is_inherited
            is_item = change.form == "item" and change.target.endswith("]")
            if is_there and (is_item or change.form == "attribute"):
                targets.append(change.target)
        first_module = module or max(modules, key=lambda name: modules[name])
        return AfterImport(first_module, call=name, sets=tuple(targets), rebind=False)

    def _drop_what_was_read_wrongly(self) -> None:
        """Drop the rows of modules that set something else than reading gives.

        Such a module is run as a whole, as one that reading does not tell.
        """
        observation = self._observation
        in_rows = dict[str, ObservedChange]()
        for change in observation.changes:
            if change.target in observation.depths:
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
        for name in dotted_names:
            if name == code.place or name.startswith((f"{owner}.", f"{owner}[")):
                return True
        # `lib.f.__code__` is a part of a function: what is observed is the function.
        whole, _, part = code.place.rpartition(".__")
        if part and whole in dotted_names:
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
        reason = self._reason(change)
        # No statement is known that sets it: it has no file, line and code.
        self._pile.left.append(UnexpressedCode("", 0, "", reason, change.target))

    def _reason(self, change: ObservedChange) -> str:
        """Return why no row makes a change."""
        observed = f"it was observed {_outcome(change)}"
        read = self._read_wrongly.get(change.target)
        if read:
            return f"reading gives {read}, and {observed}"
        call = self._observation.calls.get(change.step)
        if call is None:
            return f"{observed}; no statement that was read sets it"
        observed = f"{observed} by {change.step}"
        if call.fault:
            return f"{observed}, which failed: {call.fault}"
        if call.is_used or self._callers.get(change.step) == _PLATFORM:
            return f"{observed}; {_USED}"
        if self._is_below_a_wrap([change]):
            return f"{observed}; {_WRAPPED}"
        return f"{observed}; no target says it"


def _outcome(change: ObservedChange) -> str:
    """Say what a change has done, as the end of a sentence."""
    if change.form == "deleted":
        return "to be deleted"
    if change.form == "content":
        return "to be changed in place"
    if change.has_named_value:
        return f"to become {change.by}"
    if change.literal:
        return f"to become {change.literal}"
    return "to change"


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
