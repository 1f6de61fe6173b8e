"""Looks targets up in one release; each is looked up once, and its facts are cached."""

import functools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.upstream.facts import Facts, facts_of
from patchkit.analysis.upstream.moves.catalog import REACH
from patchkit.analysis.upstream.moves.whereabouts import MoveResult, MoveSearch
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.releases import Release
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical
from patchkit.errors import UpstreamError

_Lost = tuple[Target, "CheckedRelease | None"]
"""The question where a target went: it, and a release that has it; None where none is known."""


@dataclass(eq=False)
class CheckedRelease:
    """One release. Every method that reads its files raises `UpstreamError` if that fails.

    Args:
        name: how messages name it, `vllm 0.32.0`.
        project: the canonical name of its distribution.
        version: its version.
        open_source: opens its files; called when they are needed.
        store: caches its facts; None where its files may change.
        key: the key of its facts in the cache.
        is_local: whether all its files are on this machine.
        file: the name of the file of an index that it is read from; '' for one from elsewhere.
        option: the command-line option that selects this release alone.
        brief: whether its facts leave sources out.
        release: the release on an index, for another process to open; None where it is not from
            one.
    """

    name: str
    project: str
    version: str
    open_source: Callable[[], ReleaseSource]
    store: FactStore | None = None
    key: str = ""
    is_local: bool = field(default=True, kw_only=True)
    file: str = field(default="", kw_only=True)
    option: str = field(default="", kw_only=True)
    brief: bool = field(default=False, kw_only=True)
    release: Release | None = field(default=None, kw_only=True)
    without_setter: set[Target] = field(default_factory=set, init=False, repr=False)
    """Attributes that classes lack, and that no other module is thought to set."""

    @functools.cached_property
    def source(self) -> ReleaseSource:
        """Its files."""
        return self.open_source()

    @functools.cached_property
    def _facts(self) -> dict[Target, Facts]:
        """The facts of the targets that were looked up, in this run or an earlier one."""
        return self.store.facts(self.key) if self.store else {}

    @functools.cached_property
    def late_attributes(self) -> dict[Target, str]:
        """What sets attributes that classes lack, in words, '' for nothing, as far as known."""
        stored = None
        if self.store:
            stored = self.store.get("late attributes", self.key)
        return {Target.parse(text): words for text, words in (stored or {}).items()}

    def keep_late_attributes(self, found: Mapping[Target, str]) -> None:
        """Remember what sets attributes that classes lack, and store it.

        Args:
            found: The words by target.
        """
        self.late_attributes.update(found)
        if self.store:
            data = {
                str(target): words for target, words in self.late_attributes.items()
            }
            self.store.put("late attributes", self.key, data)

    @functools.cached_property
    def resolver(self) -> Resolver:
        """Resolves names in its modules, which are parsed when they are needed."""
        return self._new_resolver()

    def forget_sources(self) -> None:
        """Free the memory of parsed modules, and of the list of files if the cache has it.

        Facts stay. Modules and the list are read again when they are needed.
        """
        # Cached properties keep their values in `__dict__`; the next access computes them anew.
        resolver = self.__dict__.pop("resolver", None)
        if resolver:
            resolver.modules.forget()
        if self.store:
            self.__dict__.pop("source", None)

    def reload_facts(self) -> None:
        """Read the facts from the cache again when needed: `SecondProcess` has added some."""
        self.__dict__.pop("_facts", None)

    def covers(self, packages: Iterable[str]) -> frozenset[str]:
        """Return which of some import packages it contains.

        Args:
            packages: the packages.
        """
        candidates = set(packages)
        named_alike = {
            package for package in candidates if canonical(package) == self.project
        }
        if named_alike:
            # A distribution contains the package of its name; its files need not be listed.
            return frozenset(named_alike)
        # Its top packages and modules: `a` for `a/b.py` and for `a.py`.
        contained = {
            path.partition("/")[0].partition(".")[0] for path in self.source.paths()
        }
        return frozenset(candidates & contained)

    def learn(self, targets: Iterable[Target]) -> None:
        """Look up those of some targets that are not known yet, and remember their facts.

        Args:
            targets: the targets.
        """
        missing = self.unknown(targets)
        if missing and self.store:
            self._conclude(missing, self.store)
            return
        for target in missing:
            self._facts[target] = facts_of(self.resolver, target, brief=self.brief)

    def unknown(self, targets: Iterable[Target]) -> list[Target]:
        """Return the targets that were not looked up yet, each once.

        Args:
            targets: the targets.
        """
        return [
            target for target in dict.fromkeys(targets) if target not in self._facts
        ]

    def facts(self, target: Target) -> Facts:
        """Return the facts of a target in this release, looked up at the first call.

        Args:
            target: the target.
        """
        facts = self._facts.get(target)
        if facts is None:
            self.learn([target])
            facts = self._facts[target]
        return facts

    def text(self, facts: Facts) -> str:
        """Quote a target's definition.

        Args:
            facts: what this release says of the target.

        Returns:
            Its source, decorators included; '' where there is none.
        """
        if not facts.path or not facts.lines:
            return ""
        return self._quoted(facts.path, *facts.lines)

    def whole_text(self, facts: Facts) -> str:
        """Quote a target's definition, and the code that a call in it wraps.

        Args:
            facts: what this release says of the target.

        Returns:
            Their sources; '' where there is none.
        """
        texts = [self.text(facts)]
        texts += [
            self._quoted(path, first, last) for path, first, last in facts.wrapped
        ]
        return "\n".join(filter(None, texts))

    def _quoted(self, path: str, first: int, last: int) -> str:
        r"""Read lines of a file, numbered from 1 as Python's parser does.

        `str.splitlines` splits at more characters, such as `\f`.
        """
        content = self.source.read(path) or b""
        text = (
            content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        )
        lines = text.removeprefix("\ufeff").split("\n")[first - 1 : last]
        return "".join(f"{line}\n" for line in lines)

    def absent(self) -> list[Target]:
        """Return the known targets that are not there, those of an earlier run included."""
        return [
            target for target, facts in self._facts.items() if facts.state == "absent"
        ]

    def has(self, target: Target) -> bool:
        """Whether a target is there; False where the release cannot be read.

        Args:
            target: the target.
        """
        return self.state(target) == "present"

    def state(self, target: Target) -> str:
        """Return the state of a target: present, absent, undecidable, or unreadable.

        Args:
            target: the target.
        """
        try:
            return self.facts(target).state
        except UpstreamError:
            return "unreadable"

    def moves(self, lost: Sequence[_Lost]) -> list[MoveResult]:
        """Find where targets moved that this release lacks.

        Args:
            lost: the targets, each with a release that has it; None where none is known.

        Returns:
            What became of each, in the same order.
        """
        results: dict[_Lost, MoveResult] = {}
        if self.store:
            results = self._cached_moves(lost, self.store)
        unknown = [question for question in lost if question not in results]
        for question, result in self._searched(unknown):
            results[question] = result
            if self.store:
                data = (str(result.place or ""), result.likeness, result.words)
                self.store.put("moves", self._key_of_move(question), data)
        return [results[question] for question in lost]

    def _cached_moves(
        self, lost: Iterable[_Lost], store: FactStore
    ) -> dict[_Lost, MoveResult]:
        """Read from the cache what became of targets; those that it does not know are left out."""
        results = {}
        for question in lost:
            stored = store.get("moves", self._key_of_move(question))
            if stored:
                name, likeness, sentence = stored
                destination = Target.parse(name) if name else None
                results[question] = MoveResult(destination, likeness, sentence)
        return results

    def _key_of_move(self, question: _Lost) -> str:
        target, old = question
        old_key = old.key if old else "-"
        return f"{self.key} {old_key} {target}"

    def _searched(self, lost: Sequence[_Lost]) -> Iterator[tuple[_Lost, MoveResult]]:
        """Search for targets; those that the same old release has are searched for together."""
        reach = None if self.is_local else REACH  # bytes that may be fetched
        for old in dict.fromkeys(old for _, old in lost):
            resolver = self._new_resolver()
            old_resolver = None
            if old:
                old_resolver = old._new_resolver()  # noqa: SLF001 - of this class
            search = MoveSearch(resolver, old_resolver, reach)
            for target, release in lost:
                if release is old:
                    yield (target, old), search.find(target)
            resolver.modules.forget()
            if old_resolver:
                old_resolver.modules.forget()

    def _new_resolver(self) -> Resolver:
        """Return a new resolver of its modules, which shares parsed files alone with others."""
        parsed = self.store.parsed if self.store else None
        return Resolver(self.source, python=sys.version_info[:2], parsed=parsed)

    def _conclude(self, targets: Sequence[Target], store: FactStore) -> None:
        """Take the facts of targets from releases with the same files, or else look them up.

        All facts of this release are then stored in the cache.

        For a target that is absent, its class or module is looked up too, as `misfits` and others
        ask for that.
        """
        store.expect(len(targets))
        with store.fetching:
            missing = self._not_concluded(targets, store)
            files = self.resolver.modules.files
            files.prefetch_unparsed(chain.from_iterable(map(_paths, missing)))
            holders = self._absent_holders(targets)
            by_module = defaultdict(list)
            for target in (*missing, *self._not_concluded(holders, store)):
                by_module[target.module].append(target)
            for stop in store.scan.stops(by_module):
                with store.scan.turn(stop):
                    self._look_up(by_module[stop.module], store)
        data = {str(target): facts.as_data() for target, facts in self._facts.items()}
        store.put("facts", self.key, data)

    def _absent_holders(self, targets: Iterable[Target]) -> list[Target]:
        """List the unknown classes and modules of those targets that are known to be absent."""
        holders = []
        for target in targets:
            facts = self._facts.get(target)
            if target.qualname and facts and facts.state == "absent":
                holders.append(target.holder)
        return self.unknown(holders)

    def _not_concluded(
        self, targets: Iterable[Target], store: FactStore
    ) -> list[Target]:
        """Take over facts found in releases with the same files; return the other targets."""
        files = self.resolver.modules.files
        missing = []
        for target in targets:
            facts = store.concluded(target, files)
            if facts:
                self._facts[target] = facts
            else:
                missing.append(target)
        return missing

    def _look_up(self, targets: Sequence[Target], store: FactStore) -> None:
        """Resolve targets of one module, and remember their facts with the evidence for them.

        Of targets that turn out to be absent, the classes or modules are looked up as well.
        """
        # A resolver records its questions to files, as evidence. With one resolver for each
        # module, the evidence for a target has no questions about other modules' targets.
        resolver = self.resolver.afresh()
        unknown = targets
        while unknown:
            # While this thread waited, another one may have found facts in a release with the same
            # files. So the targets are filtered again.
            for target in sorted(self._not_concluded(unknown, store), key=str):
                facts = facts_of(resolver, target, brief=store.brief)
                self._facts[target] = facts
                store.keep_conclusion(target, resolver.modules.answers, facts)
            # The holder of a target is in the same module; it is never absent itself twice, as each
            # round asks for what is around the names of the round before.
            unknown = self._absent_holders(unknown)
        resolver.modules.forget()


def _paths(target: Target) -> Iterator[str]:
    """Name the files that an import of a target may read.

    For `a.b:f`, these are `a/__init__.py`, `a/b/__init__.py` and `a/b.py`.
    """
    parts = target.module.split(".")
    for end in range(1, len(parts) + 1):
        yield "/".join([*parts[:end], "__init__.py"])
    yield "/".join(parts) + ".py"


def files_of(releases: Iterable[CheckedRelease]) -> dict[str, str]:
    """Return the files of an index that releases are read from, by the names of the releases.

    Args:
        releases: The releases; those from elsewhere are left out.
    """
    return {release.name: release.file for release in releases if release.file}
