"""Finds the attributes that modules set on classes that they import from others.

A class may lack an attribute that another module sets: `from m import C; C.x = …`. What is found is
stored with the facts of a release.
"""

import ast
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from patchkit.analysis.check.learning import in_parallel
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.files import FileKey, parse
from patchkit.analysis.upstream.resolving.function_code import SETTERS
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.analysis.upstream.resolving.syntax import dotted, expressions, statements
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.record import grouped
from patchkit.core.rows.target import Target

_Place = tuple[Target, int]
"""An attribute that a class lacks, and the index of the release."""


class _Setting(NamedTuple):
    """A statement that sets an attribute while a module is imported.

    Args:
        name: The attribute.
        holder: What it is set on there, as `C` or `m.C`.
        line: The line.
    """

    name: str
    holder: str
    line: int


def find_late_attributes(
    releases: Sequence[CheckedRelease],
    targets_of: Callable[[CheckedRelease], Set[Target]],
) -> None:
    """Find what sets attributes that classes lack, for `set_by_another_module`, all at once.

    A search reads many files. So it is made in a release whose neighbour has the attribute, or in
    the newest if none has it, and in all others only where something is found there.

    Args:
        releases: The releases, of each distribution the oldest first; the targets were looked up
            in them.
        targets_of: Returns the targets to ask about in a release; those that are no absent
            attributes of classes are left out.
    """
    by_project = grouped((release.project, release) for release in releases)
    for of_project in by_project.values():
        lost = _lost_targets(of_project, targets_of)
        search = _Search()
        for target, indexes in lost.items():
            for index in indexes:
                search.ask_for(of_project[index], [target])
        first = _first_searched(of_project, lost)
        _search_at(of_project, first, search)
        others = {
            (target, other)
            for target, index in first
            if of_project[index].late_attributes.get(target)
            for other in lost[target]
        }
        _search_at(of_project, others - first, search)
        for target, indexes in lost.items():
            for index in indexes:
                of_project[index].without_setter.add(target)


def _lost_targets(
    releases: Sequence[CheckedRelease],
    targets_of: Callable[[CheckedRelease], Set[Target]],
) -> dict[Target, list[int]]:
    """List the attributes that classes lack, each with the indexes of the releases."""
    lost: dict[Target, list[int]] = {}
    for index, release in enumerate(releases):
        absent = release.absent()
        if not absent:
            continue
        asked = targets_of(release)
        for target in absent:
            if target in asked and _is_lost(target, release):
                lost.setdefault(target, []).append(index)
    return lost


def _first_searched(
    releases: Sequence[CheckedRelease], lost: Mapping[Target, Sequence[int]]
) -> set[_Place]:
    """Return where to search first for each attribute."""
    places: set[_Place] = set()
    for target, indexes in lost.items():
        edges = [
            index
            for index in indexes
            if any(
                neighbour.has(target)
                for neighbour in releases[max(index - 1, 0) : index + 2]
            )
        ]
        places.update((target, index) for index in edges or indexes[-1:])
    return places


def _search_at(
    releases: Sequence[CheckedRelease], places: Set[_Place], search: "_Search"
) -> None:
    """Search for attributes in releases, as far as the answer is not known."""
    unknown: dict[CheckedRelease, list[Target]] = {}
    for target, index in sorted(places, key=str):
        release = releases[index]
        if target not in release.late_attributes:
            unknown.setdefault(release, []).append(target)

    def work(release: CheckedRelease) -> None:
        found = dict.fromkeys(unknown[release], "")
        found.update(search.setters(release, unknown[release]))
        release.keep_late_attributes(found)
        release.forget_sources()

    # A release that cannot be read is met again, and reported, where one asks for a target.
    in_parallel(list(unknown), work)


def set_by_another_module(target: Target, release: CheckedRelease) -> str:
    """Say which module sets an attribute that a class lacks, as `from m import C; C.x = …` does.

    Args:
        target: A target that the release lacks.
        release: The release. Of one on an index, only modules in the folder of the class are read.

    Returns:
        The words for the report; '' if the target is no attribute of a class, or nothing sets it.

    Raises:
        UpstreamError: A file of the release cannot be read.
    """
    if target not in release.late_attributes:
        if target in release.without_setter:
            return ""
        words = ""
        if _is_lost(target, release):
            search = _Search()
            search.ask_for(release, [target])
            words = search.setters(release, [target]).get(target, "")
        release.late_attributes[target] = words
    return release.late_attributes[target]


def _is_lost(target: Target, release: CheckedRelease) -> bool:
    """Whether a target is an attribute that a class of a release lacks."""
    if not target.holder.qualname or not _name(target).isidentifier():
        return False
    if release.state(target) != "absent" or not release.has(target.holder):
        return False
    return release.facts(target.holder).kind == Kind.CLASS


def _name(target: Target) -> str:
    """Return the name of an attribute."""
    return target.qualname.rpartition(".")[2]


class _Search:
    """Searches files of releases for statements that set attributes; reads equal files once."""

    def __init__(self) -> None:
        # By folder and the name of an attribute, what the text of a file has that may set it.
        self._patterns: dict[str, dict[str, re.Pattern[bytes]]] = {}
        # What was found, by the folder that was searched for the file.
        self._settings: dict[tuple[str, FileKey], list[_Setting]] = {}
        # Acquired to read a file, so that threads do not read equal ones of their releases at once.
        self._reading = threading.Lock()

    def ask_for(self, release: CheckedRelease, targets: Iterable[Target]) -> None:
        """Search for targets of a release, too, before the first file is read."""
        for target in targets:
            folder = _searched_folder(target.module, release)
            patterns = self._patterns.setdefault(folder, {})
            name = _name(target)
            if name not in patterns:
                word = name.encode()
                patterns[name] = re.compile(
                    rb"\.%s\s*(:[^=\n]+)?=[^=]|['\"]%s['\"]" % (word, word)
                )

    def setters(
        self, release: CheckedRelease, targets: Sequence[Target]
    ) -> dict[Target, str]:
        """Say which modules of a release set attributes; those that none sets are left out."""
        by_folder: dict[str, list[Target]] = {}
        for target in targets:
            folder = _searched_folder(target.module, release)
            by_folder.setdefault(folder, []).append(target)
        found: dict[Target, str] = {}
        for folder, of_folder in sorted(by_folder.items()):
            for path, setting in self._in_folder(release, folder):
                for target in of_folder:
                    if setting.name == _name(target) and target not in found:
                        found.update(_confirmed(target, release, path, setting))
        return found

    def _in_folder(
        self, release: CheckedRelease, folder: str
    ) -> Iterator[tuple[str, _Setting]]:
        """List what the files of a folder set, each with its path."""
        paths = _paths(release, folder)
        unread: list[str] = []
        for path in paths:
            key = (folder, (path, release.source.mark(path)))
            if key not in self._settings:
                unread.append(path)
        release.source.prefetch(unread)
        for path in paths:
            with self._reading:
                settings = self._in_file(release, folder, path)
            for setting in settings:
                yield path, setting

    def _in_file(
        self, release: CheckedRelease, folder: str, path: str
    ) -> list[_Setting]:
        """List what a file sets of the names that are searched for in a folder."""
        mark = release.source.mark(path)
        key = (folder, (path, mark))
        if mark is not None and key in self._settings:
            return self._settings[key]
        text = release.source.read(path) or b""
        # Plain searches are much faster than the patterns, and rule out most names.
        mentioned = {
            name
            for name, pattern in self._patterns[folder].items()
            if name.encode() in text and pattern.search(text)
        }
        settings: list[_Setting] = []
        if mentioned:
            settings += _settings(text, mentioned)
        if mark is not None:
            self._settings[key] = settings
        return settings


def _confirmed(
    target: Target, release: CheckedRelease, path: str, setting: _Setting
) -> dict[Target, str]:
    """Return the words for a target if a setting is one of its class; {} if of another object."""
    owner = target.holder
    module = module_name(path)
    defined = release.resolver.resolve(owner).defined
    place = release.resolver.resolve(Target(module, setting.holder))
    if defined is None or place.defined != defined:
        return {}
    return {target: f"{module} sets {setting.name} on {owner} at line {setting.line}"}


def _settings(text: bytes, names: set[str]) -> Iterator[_Setting]:
    """List the statements of a file that set one of some attributes while it is imported."""
    tree, _ = parse(text)
    for statement in statements(tree.body):
        for node in expressions(statement):
            name, holder = _attribute_set(node)
            if holder and name in names:
                yield _Setting(name, holder, statement.lineno)


def _searched_folder(module: str, release: CheckedRelease) -> str:
    """Return the folder that is searched for a class of a module, with a slash at the end.

    It is '' for site-packages itself. Of a release on this machine it is the whole package, which
    costs little to read.
    """
    if release.is_local:
        return module.partition(".")[0] + "/"
    folder = module.rpartition(".")[0].replace(".", "/")
    return folder and f"{folder}/"


def _paths(release: CheckedRelease, folder: str) -> list[str]:
    """List the modules of a folder; of a release on this machine, those of its folders too."""
    found = []
    for path in sorted(release.source.paths()):
        is_direct = "/" not in path.removeprefix(folder)
        if (
            path.endswith(".py")
            and path.startswith(folder)
            and (is_direct or release.is_local)
        ):
            found.append(path)
    return found


def _attribute_set(node: ast.AST) -> tuple[str, str]:
    """Return `x` and `m.C` for `m.C.x = …` and `setattr(m.C, "x", …)`; '' and '' for all else."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr, dotted(node.value)
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return "", ""
    spelled = node.args[1]
    is_setter = dotted(node.func).rpartition(".")[2] in SETTERS
    if not is_setter or not isinstance(spelled, ast.Constant):
        return "", ""
    return str(spelled.value), dotted(node.args[0])
