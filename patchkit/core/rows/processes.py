"""Rows that say how a process is recognized, and which role it enters.

patchkit's own rows are in `core/engines`, as part of each engine. A package adds rows for its
own processes by the entry-point group `patchkit.processes`, whose entries name modules with a tuple
`PROCESSES`. The registry reads all of them.
"""

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.declaration import Role, Row
from patchkit.core.rows.target import is_attribute
from patchkit.errors import ProcessRowError

GROUP = "patchkit.processes"

LIBRARIES = ("multiprocessing", "multiprocess")
"""What starts child processes: Python's own, and its namesake with functions of the same names."""

NAMED = ("target", "actor", "call")
"""The values of `by` for which `what` is a function or class, as `module:qualname`."""
BY = (*NAMED, "name", "title", "command", "switch")
"""All values that a row may have as `by`, the way to recognize a process."""


class ProcessRow(Record):
    """One way to recognize a process.

    Args:
        by: how it is recognized: `target`, what `multiprocessing.Process(target=…)` runs; `actor`,
            the class of a Ray actor, or a base of it; `call`, a function that is called in the
            process (for main, the one that makes the configuration of an engine); `name`, what the
            process's name begins with; `title`, what its title begins with, where patchkit is not
            in it; `command`, the script or the module of `python -m`; `switch`, a variable that is
            set.
        what: the function or class as `module:qualname`, or the text.
        role: the role that the process enters, or a tuple of several, as for a process that is
            engine core and worker in one; None for a process that needs none.
        why: the reason for no role.
        instead_of: modules whose code for main is not used if an engine has this process.
    """

    by: str
    what: str
    role: Role | tuple[Role, ...] | None
    why: str = ""
    instead_of: Collection[str] = ()

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that the process enters; empty if it needs none."""
        if self.role is None:
            return frozenset()
        if isinstance(self.role, Role):
            return frozenset({self.role})
        return frozenset(self.role)

    def leaves_out(self, rows: Iterable[Row]) -> list[str]:
        """Name the patches for main whose targets are not used if an engine has this process.

        So it is with those of vLLM's Python server where its Rust frontend serves the requests.

        Args:
            rows: The rows of patches to choose from.

        Returns:
            The names of those patches, in the order of their rows.
        """
        prefixes = tuple(f"{module}." for module in self.instead_of)
        names = []
        for row in rows:
            is_for_main = Role.MAIN in row.roles
            if is_for_main and _has_target_below(row, prefixes):
                names.append(row.name)
        return names


def rows_of_table(
    table: str,
    role: Role | tuple[Role, ...] | None,
    why: str = "",
    instead_of: Collection[str] = (),
) -> Iterator[ProcessRow]:
    """Yield the rows of a table, whose lines have a value of `by` and then several of `what`.

    `name  EngineCore  StageEngineCoreProc` gives two rows. Their other fields are the same.

    Args:
        table: The lines of the table.
        role: The role, or roles, of all rows.
        why: The reason for no role.
        instead_of: What each row has as `instead_of`.
    """
    for line in table.strip().split("\n"):
        by, *names = line.split()
        for what in names:
            yield ProcessRow(by, what, role, why, instead_of)


def _has_target_below(row: Row, prefixes: tuple[str, ...]) -> bool:
    """Whether a change of a row targets one of the modules or a submodule.

    Args:
        row: The row.
        prefixes: The names of the modules, each with a dot after it.
    """
    for change in row.patch.changes:
        module = change.place.module
        if f"{module}.".startswith(prefixes):
            return True
    return False


class ProcessTable:
    """All rows of processes here, with searches for the row that fits a process.

    Args:
        rows: The rows, in any order.
    """

    def __init__(self, rows: Iterable[ProcessRow]) -> None:
        # The longest text first, so that `EngineCoreTrainer` is not taken for `EngineCore`.
        ordered = sorted(rows, key=lambda row: -len(row.what))
        self._rows = {by: _rows_by_text(ordered, by) for by in BY}

    def known(self, by: str, text: str) -> ProcessRow | None:
        """Find the row with exactly these values of `by` and `what`.

        Args:
            by: The way to recognize a process, one of `BY`.
            text: What the row has as `what`.

        Returns:
            The row, or None if there is none.
        """
        return self._rows[by].get(text)

    def all(self, by: str) -> Iterable[ProcessRow]:
        """Return the rows of one way to recognize a process, those with the longest text first.

        Args:
            by: The way to recognize a process, one of `BY`.
        """
        return self._rows[by].values()

    def of_process(self, process: Any) -> ProcessRow | None:
        """Find the row of a `multiprocessing` process by its target, or else by its name.

        The target of a process without a function is its class, or the nearest base with a row.

        Args:
            process: An object of any class that has a process's attributes.

        Returns:
            The row, or None if there is none.
        """
        name = str(getattr(process, "name", ""))
        function = function_run_by(process)
        targets = type(process).__mro__ if function is None else (function,)
        for target in targets:
            row = self.known("target", _full_name(target))
            if row is not None:
                return row
        return self.by_prefix("name", name)

    def of_actor(self, cls: type) -> ProcessRow | None:
        """Find the row of a Ray actor by its class, or else by the nearest base that has one.

        Args:
            cls: The class of the actor.

        Returns:
            The row, or None if there is none.
        """
        for base in cls.__mro__:
            row = self.known("actor", _full_name(base))
            if row is not None:
                return row
        return None

    def of_command(self, argv: Sequence[str]) -> ProcessRow | None:
        """Find the row of Python's command line by the module of `-m`, or by the script's name.

        Args:
            argv: The command line as in `sys.orig_argv`, the interpreter first.

        Returns:
            The row, or None if there is none.
        """
        program = program_of(argv)
        if not program:
            return None
        if program[0] == "-m":
            return self.known("command", program[1])
        name = program[0].rpartition("/")[2]
        return self.known("command", name)

    def by_prefix(self, by: str, text: str) -> ProcessRow | None:
        """Find the row with the longest text that a process's name or title begins with.

        Args:
            by: `name` or `title`.
            text: The name or title of the process.

        Returns:
            The row, or None if there is none.
        """
        for row in self.all(by):
            if text.startswith(row.what):
                return row
        return None

    def switched_on(self, environ: Mapping[str, str]) -> Iterator[ProcessRow]:
        """Yield the rows of variables that are set to something else than 0.

        Args:
            environ: The environment variables to look at.
        """
        for row in self.all("switch"):
            value = environ.get(row.what, "0")
            if value.strip(" 0"):  # '', '0' and ' 0 ' are off
                yield row


def _rows_by_text(rows: Iterable[ProcessRow], by: str) -> dict[str, ProcessRow]:
    """Map `what` to the row, for the rows with one value of `by`."""
    return {row.what: row for row in rows if row.by == by}


def program_of(argv: Sequence[str]) -> list[str]:
    """Return a command line without Python and its own options.

    Args:
        argv: The command line as in `sys.orig_argv`, such as `python -X dev -m pytest -q`.

    Returns:
        Its end, from the script or `-m` on: `["-m", "pytest", "-q"]`.
    """
    words = list(argv[1:])
    # `-` alone is no option: the program is read from stdin.
    while words and words[0].startswith("-") and words[0] != "-":
        option = words.pop(0)
        kind, value = _option(option)
        if kind in ("c", "m"):
            if not value and words:
                value = words.pop(0)
            return [f"-{kind}", value, *words]
        if kind and not value:
            del words[:1]  # the value is the next word, as in `-X dev`
    return words


def is_own_command(argv: Sequence[str]) -> bool:
    """Whether a process is a command of patchkit, such as `python -m patchkit status`.

    Args:
        argv: Its arguments, the script or `-m` first.
    """
    if not argv:
        return False
    folder, _, name = argv[0].rpartition("/")
    is_main_file = name == "__main__.py" and folder.rpartition("/")[2] == "patchkit"
    return list(argv[:2]) == ["-m", "patchkit"] or is_main_file or name == "patchkit"


def _option(word: str) -> tuple[str, str]:
    """Return which option in a word takes a value, and the value in the same word.

    `-Xdev` gives `("X", "dev")`, `-um` gives `("m", "")`, and `-u` gives `("", "")`.
    """
    if word.startswith("--"):
        if word == "--check-hash-based-pycs":
            return word, ""
        return "", ""
    for position, letter in enumerate(word):
        if letter in "cmWX":
            return letter, word[position + 1 :]
    return "", ""


def target_of(process: Any) -> str:
    """Name the function that a `multiprocessing` process runs; its class if it has no function.

    Args:
        process: An object of any class that has a process's attributes.

    Returns:
        The name as `module:qualname`; that of the innermost function if it is a partial.
    """
    function = function_run_by(process)
    return _full_name(type(process) if function is None else function)


def _full_name(value: Any) -> str:
    """Return the name of a function or class as `module:qualname`."""
    module = getattr(value, "__module__", "")
    qualname = getattr(value, "__qualname__", "")
    return f"{module}:{qualname}"


def function_run_by(process: Any) -> Any:
    """Return the function that a `multiprocessing` process runs, beneath partials.

    Args:
        process: An object of any class that has a process's attributes.

    Returns:
        The function; None if the process has none.
    """
    target: Any = getattr(process, "_target", None)
    while isinstance(target, functools.partial):
        target = target.func
    return target


def check_processes(
    where: str, rows: Any, present: Collection[ProcessRow]
) -> tuple[Any, ...]:
    """Check the rows of processes that a module declares.

    Args:
        where: What declares them, for errors.
        rows: What the module has as `PROCESSES`; a row alone counts as a tuple with it.
        present: The rows that are there already, which must not be repeated.

    Returns:
        The rows that were checked.

    Raises:
        ProcessRowError: A row is malformed or repeated; the error names the first one.
    """
    if not isinstance(rows, (tuple, list)):
        rows = [rows]
    taken = {(row.by, row.what) for row in present}
    for number, row in enumerate(rows):
        fault = _fault(row, taken)
        if fault is not None:
            field, shown, expected = fault
            location = f"{where}, PROCESSES[{number}]{field}"
            raise ProcessRowError(f"{location}: found {shown}, expected {expected}")
        taken.add((row.by, row.what))
    return tuple(rows)


def _fault(row: Any, taken: Collection[tuple[str, str]]) -> tuple[str, str, str] | None:
    """Return the first fault, if any: field (`.by`; '' for the row), value, what is expected."""
    if not isinstance(row, ProcessRow):
        return "", repr(row), "a ProcessRow"
    if row.by not in BY:
        choices = ", ".join(BY)
        return ".by", repr(row.by), f"one of {choices}"
    if not _is_nameable(row):
        return ".what", repr(row.what), "'module:qualname', or a string"
    role: Any = row.role  # a package may have put anything there
    has_several = isinstance(role, tuple) and bool(role)
    roles = role if has_several else (role,)
    if role is not None and not all(isinstance(each, Role) for each in roles):
        return ".role", repr(role), "None, a Role, or a tuple of them"
    why: Any = row.why
    if not isinstance(why, str):
        return ".why", repr(why), "a string"
    if not why and not role:
        return ".why", "''", "the reason why it has no role"
    modules: Any = row.instead_of
    is_group = isinstance(modules, (tuple, list, set, frozenset))
    if not is_group or not all(isinstance(module, str) for module in modules):
        return ".instead_of", repr(modules), "a tuple of modules"
    identity = (row.by, row.what)
    if identity in taken:
        return ".what", f"{row.what!r}, which another row has", "another"
    return None


def _is_nameable(row: ProcessRow) -> bool:
    """Whether `what` has the form that `by` needs: any text, or `module:qualname`."""
    text: Any = row.what  # a package may have put anything there
    if not isinstance(text, str) or not text:
        return False
    if row.by not in NAMED:
        return True
    if row.by == "call":  # a function that is wrapped
        return is_attribute(text)
    # Not parsed as a target: a qualname with `<locals>` is valid here.
    match = re.fullmatch(r"[^:]+:[^:]+", text)
    return match is not None
