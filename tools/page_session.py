"""The code blocks of a page of the docs as one session: files are written, commands are run."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```", re.M | re.S
)


class Block(NamedTuple):
    """A fenced block; its mark is what a comment before it says, such as the name of a file."""

    mark: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Every block of a page, in order."""
    return [Block(one["mark"] or "", one["language"], one["text"]) for one in _BLOCK.finditer(page)]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console, its continued lines with it, and what it is to print."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        lines = part.splitlines()
        count = next(at for at, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:count]), "\n".join(lines[count:])


def matches(expected: str, found: str) -> bool:
    """Whether a command printed what the page says, where `…` is anything, and blanks are one."""
    words = (re.escape(part) for part in " ".join(expected.split()).split("…"))
    pattern = ".*?".join(word.replace(r"\ ", " ") for word in words)
    return re.fullmatch(pattern, " ".join(found.split())) is not None


def run(page: str, folder: Path, env: Mapping[str, str], *, leave_out: str = "") -> None:
    """Do what a page says in a folder, in one shell, and compare what is printed.

    Raises:
        AssertionError: a command fails, or prints something else than the page has.
    """
    with subprocess.Popen(
        ["bash", "--norc"],
        cwd=folder,
        env={**env, "PS1": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as shell:
        for block in blocks(page):
            if leave_out and block.mark == leave_out:
                continue
            if block.language == "console":
                for command, expected in commands(block):
                    _run(shell, command, expected)
            elif "." in block.mark:
                (folder / block.mark).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.mark).write_text(block.text)


def _run(shell: subprocess.Popen[str], command: str, expected: str) -> None:
    assert shell.stdin
    assert shell.stdout
    shell.stdin.write(f"{command}\ncode=$?; echo; echo end-of-command $code\n")
    shell.stdin.flush()
    lines: list[str] = []
    for line in shell.stdout:
        if line.startswith("end-of-command "):
            break
        lines.append(line)
    found = "".join(lines)
    assert line == "end-of-command 0\n", f"$ {command}\n{found}\nended with {line}"
    if expected:
        assert matches(expected, found), f"$ {command}\n{found}\nwhere the page has\n{expected}"
