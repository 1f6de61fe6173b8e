"""The code blocks of a page of the docs as one session: files are written, commands are run."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```",
    re.M | re.S,
)


class Block(NamedTuple):
    """A fenced block; its mark is what a comment before it says, such as the name of a file."""

    mark: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Every block of a page, in order."""
    return [
        Block(one["mark"] or "", one["language"], one["text"])
        for one in _BLOCK.finditer(page)
    ]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console, its continued lines with it, and what it is to print.

    Without prompts each line is a command, and what they print is not there.
    """
    prompt = r"^\$ " if re.search(r"^\$ ", block.text, flags=re.M) else r"^(?=\S)"
    for part in filter(None, re.split(prompt, block.text, flags=re.M)):
        lines = part.splitlines()
        count = next(at for at, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:count]), "\n".join(lines[count:])


def matches(expected: str, found: str, *, any_number: bool = False) -> bool:
    """Whether a command printed what the page says, where `…` is anything, and blanks are one."""
    expected, found = (" ".join(text.split()) for text in (expected, found))
    if any_number:
        expected, found = (
            re.sub(r"\d+(\.\d+)?", "0", text) for text in (expected, found)
        )
    return (
        re.fullmatch(".*?".join(map(re.escape, expected.split("…"))), found) is not None
    )


class Session:
    """One shell in a folder, in which the blocks of a page are run.

    Args:
        any_number: whether one number stands for another, such as a process's.
    """

    def __init__(
        self, folder: Path, env: Mapping[str, str], *, any_number: bool = False
    ) -> None:
        self.folder = folder
        self._any_number = any_number
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            # A file is changed within the second that it was compiled in, to one as long.
            env={**env, "PS1": "", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._shell.communicate()

    def write(self, name: str, text: str) -> None:
        """Write a file of the page."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def run(
        self, command: str, expected: str = "", codes: Collection[int] = (0,)
    ) -> None:
        """Run a command, and compare what it prints, where the page says that.

        Raises:
            AssertionError: it ends with another exit code, or prints something else.
        """
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.write(
            f"{command}\ncode=$?; echo; echo end-of-command $code\n"
        )
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith("end-of-command "):
                break
            lines.append(line)
        found = "".join(lines)
        assert int(line.split()[1]) in codes, f"$ {command}\n{found}\nended with {line}"
        if expected:
            is_same = matches(expected, found, any_number=self._any_number)
            assert is_same, f"$ {command}\n{found}\nwhere the page has\n{expected}"


def run(
    page: str, folder: Path, env: Mapping[str, str], *, leave_out: str = ""
) -> None:
    """Do what a page says, whose blocks name the files that they are: as `Session.run` does."""
    with Session(folder, env) as session:
        for block in blocks(page):
            if leave_out and block.mark == leave_out:
                continue
            if block.language == "console":
                for command, expected in commands(block):
                    session.run(command, expected)
            elif "." in block.mark:
                session.write(block.mark, block.text)
