"""What patchkit knows of an engine: how its processes are known, and where its settings lie.

patchkit's own engines are in this room. A package adds one by the entry-point group
`patchkit.engines`, whose entries name modules with an `ENGINE`. The registry reads all of them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.processes import ProcessRow, check_processes
from patchkit.core.rows.target import is_attribute
from patchkit.errors import EngineError, ProcessRowError

GROUP = "patchkit.engines"

_SEQUENCES = ("processes", "plugin_groups", "titles", "servers")
"""The fields that hold tuples; the others are strings."""
_ITEMS = {
    "plugin_groups": "the name of a group",
    "titles": "what titles begin with",
    "servers": "a Server with words in a tuple, and texts",
}
"""What the tuples of fields hold, as it is said."""
_ATTRIBUTE = (r"([^\W\d]\w*)?", "the name of an attribute, or ''")
_FORMS = {
    "name": (r".+", "the name of the engine"),
    "package": (r"[^\W\d]\w*", "the name of a top-level package"),
    "plugins_since": (r"(\d+(\.\d+)*)?", "a release, or ''"),
    "configuration": _ATTRIBUTE,
    "digest_in": _ATTRIBUTE,
}
"""What the texts of fields must match, and how that is said."""


class Server(Record):
    """A command that starts a server of an engine.

    Args:
        words: Words of the command that follow one another, the program or `-m` first.
        port: The port on which it listens if the command has no `--port`.
        key_variable: The variable with the key that requests need if there is no `--api-key`.
    """

    words: Sequence[str]
    port: str
    key_variable: str = ""

    def position_in(self, argv: Sequence[str]) -> int | None:
        """Find its words in a command.

        Args:
            argv: The words of the command; programs may be paths.

        Returns:
            The position of the first one; None if they are not there.
        """
        names = [word.rpartition("/")[2] for word in argv]
        length = len(self.words)
        for position in range(len(names) - length + 1):
            if tuple(names[position : position + length]) == tuple(self.words):
                return position
        return None


class Engine(Record, kw_only=True):
    """An engine: what serves models, and starts processes to do so.

    Args:
        name: Its name in messages, such as `vLLM`.
        package: The top-level package of its code, which is also the name of its distribution.
        processes: How its processes are known, and the roles that they enter.
        plugin_groups: The groups of entry points that its processes call as they start.
        plugins_since: The first release whose processes do so; '' if all of them do.
        plugin_variable: The variable that names which plugins it loads; '' if it has none.
        titles: What the titles of its processes begin with.
        configuration: An attribute that its configuration has, and no other argument of the
            functions in its rows `call`; '' if it has no configuration.
        digest_in: The attribute of its configuration that holds a dict, in which the digest of the
            main process's patches travels to the other processes. patchkit makes the dict if it
            is missing.
        helper: A function `module:qualname` that runs its first argument in a new `python -m` of
            its own module; '' if it has none.
        servers: The commands that start its server.
    """

    name: str
    package: str
    processes: Sequence[ProcessRow] = ()
    plugin_groups: Sequence[str] = ()
    plugins_since: str = ""
    plugin_variable: str = ""
    titles: Sequence[str] = ()
    configuration: str = ""
    digest_in: str = ""
    helper: str = ""
    servers: Sequence[Server] = ()

    @property
    def signs(self) -> tuple[str, ...]:
        """How a process is recognized from outside: name, package, and beginnings of titles."""
        return (self.name, self.package, *self.titles)

    @property
    def helper_module(self) -> str:
        """The module that a helper process runs; '' if the engine has no helper."""
        return self.helper.partition(":")[0]


def server_in(argv: Sequence[str], engines: Iterable[Engine]) -> Server | None:
    """Find the server that a command starts.

    Args:
        argv: The words of the command.
        engines: The engines whose servers are known.

    Returns:
        The server; None if the command starts none of them.
    """
    for engine in engines:
        for server in engine.servers:
            if server.position_in(argv) is not None:
                return server
    return None


def check_engine(where: str, engine: Any, present: Collection[Engine]) -> Engine:
    """Check an engine that a module declares.

    Args:
        where: What declares it, for errors.
        engine: What the module has as `ENGINE`.
        present: The engines that are there already.

    Returns:
        The engine.

    Raises:
        EngineError: It is malformed, or one with its package is there.
    """
    fault = _fault(engine, present)
    if fault is not None:
        field, found, expected = fault
        raise EngineError(f"{where}, ENGINE{field}: found {found}, expected {expected}")
    rows = [row for other in present for row in other.processes]
    try:
        check_processes(f"{where}, ENGINE", engine.processes, rows)
    except ProcessRowError as error:
        raise EngineError(str(error)) from error
    return engine  # type: ignore[no-any-return]


def _fault(engine: Any, present: Collection[Engine]) -> tuple[str, str, str] | None:
    """Return the first fault, if any: field (`.name`; '' for all), value, what is expected."""
    if not isinstance(engine, Engine):
        return "", repr(engine), "an Engine"
    wrong_type = _wrong_type(engine)
    if wrong_type is not None:
        return wrong_type
    for field, (pattern, expected) in _FORMS.items():
        value = getattr(engine, field)
        if not re.fullmatch(pattern, value):
            return f".{field}", repr(value), expected
    if engine.helper and not is_attribute(engine.helper):
        return ".helper", repr(engine.helper), "'module:qualname', or ''"
    if engine.package in {other.package for other in present}:
        return ".package", f"{engine.package!r}, which another engine has", "another"
    if bool(engine.configuration) != bool(engine.digest_in):
        return (
            ".digest_in",
            repr(engine.digest_in),
            "set where `configuration` is, only",
        )
    return None


def _is_item(field: str, value: Any) -> bool:
    """Whether a value may stand in the tuple of a field; rows of processes are checked later."""
    if field == "processes":
        return True
    if field == "servers":
        return isinstance(value, Server) and _is_server(value)
    return isinstance(value, str) and bool(value)


def _is_server(server: Server) -> bool:
    """Whether a server has words that are texts, and texts for the rest."""
    words: Any = server.words  # a package may have put anything there
    if not isinstance(words, (tuple, list)) or not words:
        return False
    return all(
        isinstance(text, str) for text in (*words, server.port, server.key_variable)
    )


def _wrong_type(engine: Engine) -> tuple[str, str, str] | None:
    """Return the first field that holds no string or tuple, as `_fault` does; None for none."""
    for field, value in vars(engine).items():
        if field in _SEQUENCES:
            if not isinstance(value, (tuple, list)):
                return f".{field}", repr(value), "a tuple"
            wrong = [each for each in value if not _is_item(field, each)]
            if wrong:
                return f".{field}", repr(wrong[0]), _ITEMS[field]
        elif not isinstance(value, str):
            return f".{field}", repr(value), "a string"
    return None
