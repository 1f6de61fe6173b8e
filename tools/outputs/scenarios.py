"""Scenarios: files of a small project, and the patchkit commands that are run in it.

A scenario is a text file. Its head has one directive a line, then come the files:

    # What it is for.
    use shop                              take the files of the scenario `shop` as well
    set PATCHKIT_PATCHES=pack             environment of the commands below, until it is set again
    unset PATCHKIT_PATCHES
    setup: lock --releases up==1.0        run once, in order, in the folder that commands start from
    80 160 json: check --releases up      run at 80 and 160 columns, and with --format json
    80: adopt - --into mine < some.diff   with a file as standard input
    needs index                           run with --index only, as it reads a package index
    -- pack/__init__.py --
    PATCHES = ()

Each command of `80 160 json: …` starts from a fresh copy of the files, in one and the same folder.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "scenarios"

_WIDTH = 80
_FILE = re.compile(r"-- (\S.*) --")
_COMMAND = re.compile(r"((?:\d+|[a-z]+)(?: (?:\d+|[a-z]+))*): (.+)")
_LONGEST_NAME = 120


class ScenarioError(Exception):
    """A scenario cannot be read."""


@dataclass(frozen=True)
class Command:
    """One command line of patchkit, and what it is run with.

    Args:
        arguments: what follows `patchkit`.
        columns: the width of the terminal.
        variables: the environment that the scenario sets.
        stdin: the file that is its standard input, relative to the scenario's folder.
        is_setup: whether it prepares the folder that the others start from.
    """

    arguments: tuple[str, ...]
    columns: int = _WIDTH
    variables: tuple[tuple[str, str], ...] = ()
    stdin: str = ""
    is_setup: bool = False

    @property
    def title(self) -> str:
        """The command line, as a shell takes it."""
        line = shlex.join(("patchkit", *self.arguments))
        if self.stdin:
            return f"{line} < {shlex.quote(self.stdin)}"
        return line

    @property
    def slug(self) -> str:
        """The name of its result; commands that differ in their environment have the same."""
        plain = re.sub(r"[^\w.=<>]+", "-", " ".join(self.arguments)).strip("-")
        return f"{plain[:_LONGEST_NAME]}.{self.columns}"


@dataclass
class Scenario:
    """Files of a small project, and what is run in it.

    Args:
        name: its file below `FOLDER`, without the suffix.
        commands: in the order of the file.
        files: texts by path.
        needs_index: whether its commands read a package index.
    """

    name: str
    commands: list[Command] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    needs_index: bool = False

    def named_commands(self) -> dict[str, Command]:
        """Give each command a name that none of the others has, with its number where needed."""
        named: dict[str, Command] = {}
        for command in self.commands:
            name = command.slug
            number = 1
            while name in named:
                number += 1
                name = f"{command.slug}.{number}"
            named[name] = command
        return named


def read_scenarios(folder: Path = FOLDER) -> list[Scenario]:
    """Read all scenarios of a folder, in the order of their names.

    Raises:
        ScenarioError: a line of one of them is no directive, or another one that it uses is
            missing.
    """
    texts = {}
    for file in sorted(folder.rglob("*.txt")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        texts[name] = file.read_text(encoding="utf-8")
    return [parse_scenario(name, texts) for name in texts]


def parse_scenario(name: str, texts: dict[str, str]) -> Scenario:
    """Read one scenario.

    Args:
        name: which one.
        texts: the scenarios by name.

    Raises:
        ScenarioError: as `read_scenarios` has it.
    """
    head, files = _split(texts[name])
    scenario = Scenario(name, files=files)
    variables: dict[str, str] = {}
    for number, line in enumerate(head, start=1):
        directive, _, argument = line.strip().partition(" ")
        if not directive or directive == "#":
            continue
        if directive == "use":
            if argument not in texts:
                raise ScenarioError(
                    f"{name}: line {number}: found no scenario {argument!r}"
                )
            _, borrowed = _split(texts[argument])
            scenario.files = {**borrowed, **scenario.files}
        elif directive == "set":
            variable, _, value = argument.partition("=")
            variables[variable] = value
        elif directive == "unset":
            variables.pop(argument, None)
        elif line.strip() == "needs index":
            scenario.needs_index = True
        elif match := _COMMAND.fullmatch(line.strip()):
            scenario.commands += _commands(match[1].split(), match[2], variables)
        else:
            raise ScenarioError(
                f"{name}: line {number}: found {line!r}, expected a directive"
            )
    return scenario


def _split(text: str) -> tuple[list[str], dict[str, str]]:
    """Split a scenario's text into the lines of its head and its files."""
    head: list[str] = []
    files: dict[str, str] = {}
    path = ""
    for line in text.splitlines(keepends=True):
        if match := _FILE.fullmatch(line.strip()):
            path = match[1]
            files[path] = ""
        elif path:
            files[path] += line
        else:
            head.append(line)
    return head, files


def _commands(
    variants: list[str], line: str, variables: dict[str, str]
) -> list[Command]:
    """Make a command of each variant: a width, the name of a format, or `setup`."""
    arguments = shlex.split(line)
    stdin = ""
    if "<" in arguments:
        position = arguments.index("<")
        stdin = arguments[position + 1]
        del arguments[position:]
    environment = tuple(variables.items())
    commands = []
    for variant in variants:
        if variant == "setup":
            command = Command(
                tuple(arguments), _WIDTH, environment, stdin, is_setup=True
            )
        elif variant.isdecimal():
            command = Command(tuple(arguments), int(variant), environment, stdin)
        else:
            command = Command(
                (*arguments, "--format", variant), _WIDTH, environment, stdin
            )
        commands.append(command)
    return commands
