"""Each code block of README and the docs is what it says: Python, TOML, a command that exists."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from typing import TYPE_CHECKING

import click
import page_session
import pytest
import yaml
from support.packages import REPOSITORY

from patchkit.cli.app import COMMANDS, group

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
SHELL = re.compile(r"\s(\||>|2>|&&|;|&)\s.*$", re.DOTALL)
MORE = re.compile(r",\s*…(?=\))")


def path_of(page: Path) -> str:
    """The path of a page in the repository."""
    return str(page.relative_to(REPOSITORY))


def blocks_of(page: Path, language: str) -> list[page_session.Block]:
    """The code blocks of a page that are in a language."""
    blocks = page_session.blocks(page.read_text("utf-8"))
    return [block for block in blocks if block.language == language]


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_blocks_are_of_their_language(page: Path) -> None:
    """A parser of it reads each; an ellipsis stands for something that the reader knows."""
    for block in blocks_of(page, "python"):
        ast.parse(MORE.sub("", block.text).replace("…", "..."))
    for block in blocks_of(page, "toml"):
        tomllib.loads(block.text.replace("…", ""))
    for block in blocks_of(page, "yaml"):
        yaml.safe_load(block.text)
    for block in blocks_of(page, "json"):
        json.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_commands_have_the_options_that_pages_give_them(page: Path) -> None:
    """Every `patchkit …` of a console is one that the command line takes."""
    for block in blocks_of(page, "console"):
        for command, _ in page_session.commands(block):
            text = SHELL.sub("", command.replace("\\\n", " "))
            words = shlex.split(text, comments=True)
            while words and "=" in words[0]:
                del words[0]  # a variable for this command
            if words[:1] == ["patchkit"]:
                accept(words[1:])


def accept(words: list[str]) -> None:
    """Parse the words of a command, as far as that needs none of what they name."""
    name = words[0]
    if name in {"--version", "--help"}:
        return
    assert name in COMMANDS, words
    command = group.get_command(click.Context(group), name)
    assert command is not None
    context = click.Context(command, info_name=name)
    context.allow_interspersed_args = command.allow_interspersed_args
    command.make_parser(context).parse_args(words[1:])
