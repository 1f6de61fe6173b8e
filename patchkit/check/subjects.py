"""The releases that are looked at, each with what it says of targets; read once and kept."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit import upstream
from patchkit.errors import UpstreamError
from patchkit.requirements import canonical
from patchkit.target import Target
from patchkit.upstream.facts import Facts, facts_of
from patchkit.upstream.likeness import whereabouts
from patchkit.upstream.releases import for_each
from patchkit.upstream.resolve import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from patchkit.upstream.cache import Cache
    from patchkit.upstream.likeness import Candidate
    from patchkit.upstream.releases import Progress, Release
    from patchkit.upstream.source import Source

_MOVES = "moves"


class Subject:
    """
    One release.

    Args:
        name: for messages, `vllm 0.32.0`.
        project: the distribution, canonicalized.
        version: what it counts as is worked out from it.
        source: opens its files, when they are asked for.
        kept: where its facts are kept, and by which name; None for what may change under it.
        is_local: whether all its files are at hand.

    """

    def __init__(
        self,
        name: str,
        project: str,
        version: str,
        source: Callable[[], Source],
        kept: tuple[Cache, str] | None = None,
        *,
        is_local: bool = True,
    ) -> None:
        self.name = name
        self.project = project
        self.version = version
        self.is_local = is_local
        self._open = source
        self._kept = kept
        self._facts: dict[Target, Facts] = {}
        self._is_recalled = False

    def __repr__(self) -> str:
        return f"<Subject {self.name}>"

    @functools.cached_property
    def source(self) -> Source:
        """
        Its files.

        Raises:
            UpstreamError: the release cannot be read.

        """
        return self._open()

    @functools.cached_property
    def resolver(self) -> Resolver:
        """Its modules, parsed as they are asked for."""
        return Resolver(self.source, python=sys.version_info[:2])

    def rest(self) -> None:
        """Let go of parsed modules."""
        self.__dict__.pop("resolver", None)

    def covers(self, packages: Iterable[str]) -> frozenset[str]:
        """Say which of some import packages it holds."""
        wanted = set(packages)
        ours = {one for one in wanted if canonical(one) == self.project}
        if ours:
            return frozenset(ours)  # what a distribution is named after, it holds
        tops = {path.partition("/")[0].partition(".")[0] for path in self.source.paths()}
        return frozenset(wanted & tops)

    def learn(self, targets: Iterable[Target]) -> None:
        """
        Look targets up, all that are not known yet.

        Raises:
            UpstreamError: the release cannot be read.

        """
        self._recall()
        missing = [one for one in dict.fromkeys(targets) if one not in self._facts]
        if not missing:
            return
        self.source.prefetch({path for one in missing for path in _paths(one)})
        for target in missing:
            self._facts[target] = facts_of(self.resolver, target)
        self._remember()

    def facts(self, target: Target) -> Facts:
        """
        Say what a target is here.

        Raises:
            UpstreamError: the release cannot be read.

        """
        if target not in self._facts:
            self.learn([target])
        return self._facts[target]

    def text(self, found: Facts) -> str:
        """
        Quote a target's definition, decorators included; '' where there is none.

        Raises:
            UpstreamError: the release cannot be read.

        """
        content = self.source.read(found.path) if found.path else None
        if content is None or found.lines is None:
            return ""
        lines = content.decode(errors="replace").splitlines(keepends=True)
        return "".join(lines[found.lines[0] - 1 : found.lines[1]])

    def whereabouts(self, target: Target, old: Subject | None) -> tuple[Candidate, ...]:
        """
        Find where a target went that is missing here.

        Args:
            target: what is missing.
            old: a release that has it, None where none is known.

        Raises:
            UpstreamError: a release cannot be read.

        """
        known = old.resolver.resolve(target) if old else None
        return whereabouts(self.resolver.modules, target, known)

    def moved(self, target: Target, old: Subject | None) -> tuple[Target, str] | None:
        """
        Find the likeliest place of a missing target, in a word and kept.

        Raises:
            UpstreamError: a release cannot be read.

        """
        key = f"{self._key} {old._key if old else '-'} {target}"  # noqa: SLF001 - of this class
        cache = self._kept[0] if self._kept else None
        kept = cache.note(_topic(_MOVES), key) if cache else None
        if kept is None:
            found = next(iter(self.whereabouts(target, old)), None)
            kept = json.dumps([str(found.target), found.words] if found else None).encode()
            if cache:
                cache.keep_notes(_topic(_MOVES), {key: kept})
        answer = json.loads(kept)
        return (Target.parse(answer[0]), answer[1]) if answer else None

    @property
    def _key(self) -> str:
        return self._kept[1] if self._kept else ""

    def _recall(self) -> None:
        if self._kept is None or self._is_recalled:
            return
        self._is_recalled = True
        kept = self._kept[0].note(_topic("facts"), self._key)
        if kept is not None:
            known = json.loads(kept).items()
            self._facts = {Target.parse(text): Facts.of_data(data) for text, data in known}

    def _remember(self) -> None:
        if self._kept is None:
            return
        data = {str(target): found.as_data() for target, found in self._facts.items()}
        self._kept[0].keep_notes(_topic("facts"), {self._key: json.dumps(data).encode()})


def of_release(release: Release, cache: Cache) -> Subject:
    """Make a subject of a release on the index."""
    sha256 = release.link.sha256
    return Subject(
        release.name,
        release.project,
        release.version,
        lambda: release.source,
        (cache, sha256) if sha256 else None,
        is_local=False,
    )


def learn_all(
    subjects: Sequence[Subject],
    wanted: Callable[[Subject], Iterable[Target]],
    progress: Progress | None = None,
) -> dict[str, UpstreamError]:
    """
    Look up in each release what is wanted of it, several at a time.

    Returns:
        The error of each release that cannot be read, by its name.

    """

    def work(subject: Subject) -> None:
        subject.learn(wanted(subject))
        subject.rest()

    results = for_each(subjects, work, progress)
    return {
        subject.name: result
        for subject, result in zip(subjects, results, strict=True)
        if isinstance(result, UpstreamError)
    }


def _paths(target: Target) -> Iterable[str]:
    """The files that are read to find a target that is defined where it is named."""
    parts = target.module.split(".")
    yield from ("/".join(parts[:end]) + "/__init__.py" for end in range(1, len(parts) + 1))
    yield "/".join(parts) + ".py"


@functools.cache
def _topic(name: str) -> str:
    """Name what is kept after the code that works it out: another answer has another name."""
    whole = hashlib.sha256()
    for file in sorted(Path(upstream.__file__).parent.glob("*.py")):
        whole.update(file.read_bytes())
    version = "{}.{}".format(*sys.version_info)
    return f"{name} {version} {whole.hexdigest()[:16]}"
