"""Writes the changes and the body of a row that calls a function of a pile, or runs a module of it.

A pile is a package that patches upstream. What the call sets is taken from it where it can be, and
set by changes of the row's own; else the call itself is the change.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.observed import ObservedChange, PileObservation
from patchkit.authoring.piles.own_changes import OwnChange
from patchkit.authoring.piles.taken_values import TakenBody, can_be_taken
from patchkit.core.rows.declaration import AfterImport, Change
from patchkit.core.rows.target import Target

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
_TAKEN_BODY = '''# {title}
"""What {call} sets."""

from {module} import {name}
{taken}'''
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
PLATFORM = "vllm.platform_plugins"
"""The entry-point group of platform plugins."""

_NAMES_OF_IMPORT_BODY = ("load", "sys", "import_module", "reload")


class PatchingCall(NamedTuple):
    """A call of a function of the pile that has changed targets.

    Args:
        function: The function.
        changes: What it has changed, as far as a target can name it.
        is_used: Whether it has returned anything, which its caller may use.
        is_plain: Whether it has done nothing else.
    """

    function: PileFunction
    changes: Sequence[ObservedChange]
    is_used: bool
    is_plain: bool


class CalledRow(NamedTuple):
    """What a row that calls something has.

    Args:
        changes: Its changes.
        text: The text of its body.
        is_taken: Whether what the call sets is taken from it.
        begin: The change of another row, which imports the module of the pile that these wait for;
            None where they wait for no such module.
    """

    changes: Sequence[Change]
    text: str
    is_taken: bool
    begin: AfterImport | None = None


class CalledRows:
    """Writes such rows.

    Args:
        pack: The name of the pack.
        users: By module of upstream, how many others have something of it.
    """

    def __init__(self, pack: str, users: Mapping[str, int]) -> None:
        self._pack = pack
        self._users = users

    def of_function(
        self,
        function: PileFunction,
        codes: Mapping[str, str],
        title: str,
        changes: Sequence[ObservedChange],
    ) -> CalledRow:
        """Return the row that calls a function.

        Args:
            function: The function.
            codes: By module of the pile that has a stand-in, the pack's module with its text.
            title: The comment of the body's first line.
            changes: What the function was observed to change.
        """
        module = codes.get(function.module, function.module)
        outer = function.path.partition(".")[0]
        taken = self._taken(changes, function.path, [outer])
        if taken.changes:
            text = _TAKEN_BODY.format(
                title=title,
                call=function,
                module=module,
                name=outer,
                taken=taken.text,
            )
            return CalledRow(taken.changes, text, is_taken=True)
        name = function.path.rpartition(".")[2]
        text = _CALL_BODY.format(
            title=title, call=function, name=name, module=module, path=function.path
        )
        first_module = function.module
        if first_module in codes:
            first_module = ""
        row_change = self._call(first_module, name, changes)
        begin: AfterImport | None = None
        if first_module:
            begin = self._call("", "begin", changes)
        return CalledRow([row_change], text, is_taken=False, begin=begin)

    def of_import(
        self, module: str, code: str, title: str, changes: Sequence[ObservedChange]
    ) -> CalledRow:
        """Return the row that runs the text of a module.

        Args:
            module: The module of the pile.
            code: The pack's module with its text.
            title: The comment of the body's first line.
            changes: What its import was observed to change.
        """
        text = _IMPORT_BODY.format(title=title, module=module, code=code)
        taken = self._taken(changes, "load", _NAMES_OF_IMPORT_BODY)
        if taken.changes:
            return CalledRow(taken.changes, text + taken.text, is_taken=True)
        row_change = self._call("", "load", changes)
        return CalledRow([row_change], text, is_taken=False)

    def _taken(
        self, changes: Iterable[ObservedChange], function: str, names: Sequence[str]
    ) -> TakenBody:
        """Return the end of a body that takes what a call sets.

        Args:
            changes: What the call was observed to change.
            function: The function, as an expression.
            names: The names that the body has.
        """
        can_take = [change for change in changes if can_be_taken(change)]
        return TakenBody(can_take, function, self._pack, names)

    def _call(
        self, module: str, name: str, changes: Sequence[ObservedChange]
    ) -> AfterImport:
        """Return the call of a function of a body, after the import of the pile's module.

        As with the pile, that is before others call it: the module imports upstream itself, so that
        it is not whole yet where a module of upstream has been imported. A module with a stand-in
        is not imported: then it is the module of upstream that most others use.

        Nothing of it is named in `sets`: what has no name, or was changed in place, is no target.

        Args:
            module: The pile's module; '' where it has a stand-in.
            name: The function of the body.
            changes: What it changes.
        """
        modules = dict[str, int]()
        for change in changes:
            target_module = change.target.partition(":")[0]
            modules[target_module] = self._users.get(target_module, 0)
        first_module = module or max(modules, key=lambda name: modules[name])
        return AfterImport(first_module, call=name, rebind=False)


def own_text(title: str, call: str, own_changes: Sequence[OwnChange]) -> str:
    """Return the body of a row of the pile's own objects.

    Args:
        title: The comment of its first line.
        call: The function that sets them.
        own_changes: The changes, with the lines that bind the objects.
    """
    own_lines = [line for each in own_changes for line in each.lines]
    own_lines.sort(key=lambda line: not line.startswith("from "))
    lines = "\n".join(dict.fromkeys(own_lines))
    definitions = [text for each in own_changes for text in each.definitions]
    below = "".join(dict.fromkeys(definitions))
    return f'# {title}\n"""What {call} sets."""\n\n{lines}\n{below}'


def patching_calls(
    observation: PileObservation, callers: Mapping[str, str]
) -> list[PatchingCall]:
    """Return the calls that have changed targets, and that a row may make instead.

    Args:
        observation: What was observed.
        callers: By function that was called, who calls it: an entry-point group, or `--call`.
    """
    calls = list[PatchingCall]()
    for name, result in observation.calls.items():
        # A platform plugin names its platform, or returns None where there is none.
        if result.fault or callers.get(name) == PLATFORM:
            continue
        changes = list[ObservedChange]()
        is_plain = not result.own_changes and not result.is_used
        for change in [*observation.earlier, *observation.unread]:
            if change.step != name:
                continue
            if is_target(change.target):
                changes.append(change)
            else:
                is_plain = False
        if changes:
            function = PileFunction.of(name)
            calls.append(PatchingCall(function, changes, result.is_used, is_plain))
    return calls


def is_target(text: str) -> bool:
    """Return whether a text can be written as a target in a row.

    Args:
        text: The text.
    """
    try:
        Target.parse(text)
    except ValueError:
        return False
    return True
