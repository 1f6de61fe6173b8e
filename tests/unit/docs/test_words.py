"""The glossary, the architecture and the walks of CONTRIBUTING name what is there."""

from __future__ import annotations

import ast
import functools
import re

import pytest
from support.packages import REPOSITORY

import patchkit
from patchkit import Role
from patchkit.runtime.process.patch_state import APPLIED, ARMED, FAILED, SKIPPED

PACKAGE = REPOSITORY / "patchkit"
GLOSSARY = (REPOSITORY / "docs" / "glossary.md").read_text()
ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text()
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text()
ENTRIES = re.findall(r"^\| (.*?) \|", GLOSSARY, re.MULTILINE)
WORDS = {word.strip("*`") for entry in ENTRIES for word in re.split(r", ", entry)}
WINGS = ("core", "runtime", "analysis", "authoring", "cli")
FOLDERS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
ROOMS = FOLDERS + sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for wing in WINGS
    for path in PACKAGE.glob(f"{wing}/*/__init__.py")
)
IN_ROOMS = [
    (room, name)
    for room, text in re.findall(
        r"^\| `([a-z/]+)` \| (.*) \|$", ARCHITECTURE, re.MULTILINE
    )
    for name in re.findall(r"`([a-z_]+)`", text)
    if name not in {"packaging", "multiprocessing"}
]
WALKS = CONTRIBUTING.partition("### Walks")[2].partition("\n## ")[0]
KINDS = set(patchkit.__all__) - {"Patch", "Role", "applied"}


@functools.cache
def modules() -> dict[str, str]:
    """What each of patchkit's modules holds, by its path."""
    return {str(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def classes() -> list[str]:
    """The names of all classes at the top of patchkit's modules."""
    bodies = [ast.parse(text).body for text in modules().values()]
    return [
        node.name for body in bodies for node in body if isinstance(node, ast.ClassDef)
    ]


def test_every_kind_role_and_status_is_in_the_glossary() -> None:
    """The glossary has each by the word that users type or read."""
    assert KINDS <= WORDS
    for word in (ARMED, APPLIED, SKIPPED, FAILED, *Role):
        assert f"`{word}`" in GLOSSARY


@pytest.mark.parametrize(
    "word", ["session", "change group", "transaction", "site", "layer", "row", "lane"]
)
def test_words_of_the_core_are_its_class_names(word: str) -> None:
    """A word that the glossary explains is the name of exactly one class."""
    assert word in WORDS
    assert classes().count(word.title().replace(" ", "")) == 1


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_in_the_architecture(room: str) -> None:
    """The page has the name of each room."""
    assert re.search(rf"\b{room}\b", ARCHITECTURE)


@pytest.mark.parametrize(
    "path",
    sorted(
        set(re.findall(r"`((?:patchkit|tests|tools|lab|studies)/[^`]*)`", CONTRIBUTING))
    ),
)
def test_paths_of_the_walks_are_there(path: str) -> None:
    """A walk that leads nowhere is worse than none."""
    assert (REPOSITORY / path).exists() or "<" in path


@pytest.mark.parametrize(("room", "name"), IN_ROOMS)
def test_modules_that_the_architecture_names_are_in_their_rooms(
    room: str, name: str
) -> None:
    """Each is a file or a folder of the room in whose line it stands."""
    assert (PACKAGE / room / f"{name}.py").exists() or (PACKAGE / room / name).is_dir()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([A-Za-z_]+)`", WALKS))))
def test_names_of_the_walks_are_there(name: str) -> None:
    """Each is a module, or what a module defines."""
    defines = re.compile(rf"^ *(?:def|class) {name}\b|^{name}\b.* = ", re.MULTILINE)
    homes = (
        path.endswith(f"/{name}.py") or defines.search(text)
        for path, text in modules().items()
    )
    assert any(homes)
