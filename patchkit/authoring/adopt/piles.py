"""Rows and bodies for a pile of patches that knows nothing of patchkit."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.analysis.uses.packages import modules_of
from patchkit.authoring.adopt.bodies import BodyText
from patchkit.authoring.adopt.difference import UnexpressedCode
from patchkit.authoring.adopt.differing import AdoptedRows
from patchkit.authoring.adopt.guards import (
    Guard,
    common_package,
    guard_of,
    guarded,
    last_of,
    old_pile,
)
from patchkit.authoring.adopt.observed import PileObservation, importable, observe
from patchkit.authoring.adopt.pile_reader import Dialect, PileReader
from patchkit.authoring.adopt.placements import Placement
from patchkit.authoring.adopt.prose import told
from patchkit.core.rows.declaration import Add, Change, Patch, Replace, Role, Wrap
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError

_NO_PACKAGE = "it lies in no package: nothing keeps it off, so that nobody may import it any more"
_FUNCTIONS = {str(one) for one in (Kind.FUNCTION, Kind.ASYNC_FUNCTION)}
_METHODS = {str(one) for one in (Kind.METHOD, Kind.ASYNC_METHOD)}


def read_pile(
    source: ReleaseSource, only: Sequence[str], dialects: Sequence[Dialect]
) -> list[PileReader]:
    """Read the modules of a package, or those below some of them, in the order of their imports."""
    readers = {}
    for module in modules_of(source, [""]):
        is_name = module.name.replace(".", "_").isidentifier()
        if is_name and (not only or any(f"{module.name}.".startswith(f"{one}.") for one in only)):
            readers[module.name] = reader = PileReader(module, dialects)
            reader.read()
    done: dict[str, PileReader] = {}
    for name in sorted(readers, key=lambda one: (one.count("."), one)):
        _visit(name, readers, done, set())
    return list(done.values())


def _visit(
    name: str, readers: Mapping[str, PileReader], done: dict[str, PileReader], on: set[str]
) -> None:
    if name in readers and name not in done and name not in on:
        on.add(name)
        for one, _, _ in readers[name].imports:
            _visit(one, readers, done, on)
        done[name] = readers[name]


@dataclass
class PileRows(AdoptedRows):
    """The rows of a pile, for one release of upstream."""

    subject: Subject = field(kw_only=True)
    pack: str = field(kw_only=True)
    readers: Sequence[PileReader] = field(kw_only=True)
    by_hand: dict[str, str] = field(default_factory=dict)
    """Copies that the pile sets itself, with the definition that they are copies of."""
    observed: PileObservation | None = None
    names: list[str] = field(default_factory=lambda: ["old-pile"])
    codes: dict[str, str] = field(default_factory=dict)
    """The pack's modules that hold the code of the pile's."""

    def __post_init__(self) -> None:
        several = [(one.module.name, name) for one in self.readers for name, _, _ in one.imports]
        self._imported = {name for own, name in several if name != own}
        self._set = {r.module.name for r in self.readers if not all(p.reason for p in r.placements)}
        self._base = common_package(self._set)

    def run(self) -> None:
        """Make the rows, in the order in which the pile makes its changes."""
        project = self.requires.partition("==")[0]
        ours, words = list[_ModuleRows](), ["old_pile"]
        for one in filter(self._is_expressible, self.readers):
            words.append(_unused(_words(one.module.name, self._base), words))
            guard = guard_of(one, self.readers, project)
            ours.append(_ModuleRows(self, one, guard, words[-1]))
        self.codes = {each.reader.module.name: each.code for each in ours}
        for each in ours:
            each.run()
        if not self.sites:
            raise ScaffoldError(f"{self.origin}: found nothing that a row says, expected patches")
        self.patches = list(_chained(self.patches))
        if self.patches:
            self._switch_off([one for one in ours if last_of(one.code) in self.bodies], project)

    def _switch_off(self, several: Sequence["_ModuleRows"], project: str) -> None:
        """Have the rows stand for the pile's modules, before the package of those is imported."""
        if not self._base:
            for one in several:
                module = one.reader.module
                self.left.append(UnexpressedCode(module.path, 1, "", _NO_PACKAGE, module.name))
            return
        modules = {one.reader.module.name: one.code for one in several}
        packages = [one.reader.module.name for one in several if one.reader.module.is_package]
        made = old_pile(self._base, modules, packages, project, self.origin)
        self.patches.insert(0, made[0])
        self.bodies["patch_old_pile"] = made[1]

    def observe(self, named: str, stubs: Sequence[str]) -> None:
        """Import the pile in a child; what it changes there and no row does is left, too."""
        own = {one.module.name.partition(".")[0] for one in self.readers}
        places = {one.place.module for patch in self.patches for one in patch.changes}
        first = {one for one in places if one.partition(".")[0] not in own}
        packages = {one.partition(".")[0] for one in first}
        several = [one.module for one in self.readers if one.module.name not in self._imported]
        roots = [one.name for one in several if one.is_package or one.name in self.codes]
        with importable(named) as path:
            self.observed = observe(
                roots or [self._base], sorted(packages | first), stubs, packages, path
            )
        self.observed.compare(self.patches)
        for change in self.observed.unread:
            reason = f"it was observed to become {change.by}; no statement that was read sets it"
            self.left.append(UnexpressedCode("", 0, "", reason, change.target))

    def leave(self, reader: PileReader, found: Placement, reason: str, place: str) -> None:
        """List what no row says."""
        code, line = ast.unparse(found.statement).partition("\n")[0], found.statement.lineno
        self.left.append(UnexpressedCode(reader.module.path, line, code, reason, place))

    def is_used(self, reader: PileReader, names: set[str]) -> bool:
        """Whether another module seems to use one of some names of a module."""
        others = (one.module.source for one in self.readers if one is not reader)
        several = (set(re.findall(r"\w+", text.decode(errors="replace"))) for text in others)
        return any(last_of(reader.module.name) in words and names & words for words in several)

    def _is_expressible(self, reader: PileReader) -> bool:
        """List what is not made as the pile is imported; whether anything else is left."""
        name = reader.module.name
        parent = name.rpartition(".")[0]
        is_apart = any(one.startswith(f"{parent}.") for one in self._set & self._imported)
        for one in reader.placements:
            if is_apart and name not in self._imported and not reader.module.is_package:
                one.reason = f"{parent} does not import {name}; --only {name} adopts it"
            for place in (one.dotted_names or [""]) if one.reason else ():
                self.leave(reader, one, one.reason, place)
        return any(not one.reason for one in reader.placements)


class _ModuleRows:
    """The rows of one module of a pile."""

    def __init__(self, pile: PileRows, reader: PileReader, guard: Guard, words: str) -> None:
        self.reader, self._pile, self._guard, self._words = reader, pile, guard, words
        self._body_name = f"patch_{words}"
        is_apart = guard.test or all(one.builds for one in reader.placements if not one.reason)
        self.code = f"{pile.pack}.{'code' if is_apart else 'patch'}_{words}"
        self._title = " ".join(f"Adopted from {pile.origin}: {reader.module.path}".split())

    def run(self) -> None:
        """Make the rows, and the module's text as their body."""
        pile, body = self._pile, BodyText(self.reader, self._pile.codes)
        others = [one.module for one in pile.readers]
        prose = told(self.reader.module, others, pile.origin)
        found = list(self._grouped(body))
        rows = [self._row(body, prose, *one, is_alone=len(found) == 1) for one in found]
        if rows:
            pile.bodies[last_of(self.code)] = body.text(self._title)
        if rows and self._guard.test:
            known = [one for one in rows if one.body == self._body_name]
            fields = (getattr(each, "when", None) for one in known for each in (one, *one.changes))
            asked = {*fields, *(one.verify for one in known)}
            text = self._guard.body(self.code, sorted(filter(None, asked)), self._title)
            pile.bodies[self._body_name] = text
            rows = [guarded(one) if one in known else one for one in rows]
        pile.patches += rows

    def _grouped(self, body: BodyText) -> Iterator[tuple[Placement, Sequence[Change]]]:
        """Say which changes are one row: those of a module, or those of one registration."""
        by_key: dict[str, list[Placement]] = {}
        for one in self.reader.placements:
            if not one.reason:
                by_key.setdefault(one.key or one.function, []).append(one)
        for several in sorted(by_key.values(), key=lambda some: some[0].priority):
            made = (change for one in several for change in self._changes(body, one))
            if changes := list(dict.fromkeys(made)):
                yield several[0], changes

    def _row(
        self,
        body: BodyText,
        prose: dict[str, str],
        first: Placement,
        changes: Sequence[Change],
        *,
        is_alone: bool,
    ) -> Patch:
        key = "" if is_alone else first.key or first.function
        name = "-".join([self._words, *key.split(".")[-2:]]).lower()
        row = Patch(
            name=_unused(re.sub("[^a-z0-9]+", "-", name).strip("-") or "row", self._pile.names),
            body=self._body_name,
            requires=self._guard.requires or (self._pile.requires,),
            roles={Role.WORKER} if "worker" in self._words.split("_") else frozenset(Role),
            changes=tuple(changes),
            **prose | ({"why": first.why} if first.why else {}),
            required=self._guard.is_required,
            when=body.asked("when", first.condition),
            verify=body.asked("verify", first.verify),
        )
        self._pile.names.append(row.name)
        if not first.builds:
            return row
        own, factory = f"patch_{row.name.replace('-', '_')}_built", changes[0].body_name
        lines = [f"# {self._title}", f"from {self.code} import {factory}", ""]
        self._pile.bodies[own] = "\n".join([*lines, f"built = {factory}()", ""])
        return row.__replace__(body=own, changes=(changes[0].__replace__(by="built"),))

    def _changes(self, body: BodyText, found: Placement) -> Iterator[Change]:
        try:
            there = {place: self._found(place, found) for place in found.dotted_names}
            present = {target for target, facts in there.values() if facts and facts.is_present}
            if found.is_either and len(present) > 1 and not found.key:
                raise ValueError("it is one of several places")
        except ValueError as error:
            self._pile.leave(
                self.reader, found, f"no target says it: {error}", found.dotted_names[0]
            )
            return
        holders = {one.holder for one, facts in there.values() if facts is None or facts.is_present}
        for place, (target, facts) in there.items():
            is_absent = facts is not None and facts.state == "absent"
            if is_absent and target.holder in holders:
                continue  # one of several names, of which this release has another
            if is_absent and not self._pile.subject.has(target.holder):
                reason = f"{self._pile.subject.name} has no {target.holder}"
                self._pile.leave(self.reader, found, reason, place)
                continue
            yield self._change(body, found, target, facts or Facts("undecidable"))

    def _change(self, body: BodyText, found: Placement, target: Target, facts: Facts) -> Change:
        is_method = facts.kind in _METHODS
        is_call = (is_method or facts.kind in _FUNCTIONS) and len(found.dotted_names) == 1
        names = {
            name for name, (_, of) in self.reader.saved.items() if [of] == [*found.dotted_names]
        }
        names.add(ast.unparse(found.value))
        is_free = is_call and not found.key and not self._pile.is_used(self.reader, names)
        if is_free and body.wrapped(found, is_method=is_method):
            return Wrap(str(target), by=body.by(found)[0], rebind=False)
        by, own = body.by(found)
        when = body.when(found, own)
        if facts.module not in ("", target.module) and "." not in target.qualname:
            self._pile.by_hand[str(target)] = f"{facts.module}:{facts.qualname}"
        if not facts.is_present and (facts.state == "absent" or found.is_new):
            return Add(str(target), by=by, when=when, rebind=False)
        top = self.reader.module.name.partition(".")[0]
        rebind, is_other = found.rebinds and (top,), _is_unrelated(self.reader, found, facts)
        return Replace(str(target), by=by, when=when, rebind=rebind, unrelated=is_other)

    def _found(self, place: str, found: Placement) -> tuple[Target, Facts | None]:
        """Take a dotted name apart; and what the release says of it, if that is its to say."""
        head, bracket, item = place.partition("[")
        parts, subject = head.split("."), self._pile.subject
        ends = (end for end in range(len(parts) - 1, 0, -1) if self._is_module(parts[:end]))
        end = next(ends, 1)
        target = Target(".".join(parts[:end]), ".".join(parts[end:]) + bracket + item)
        Target.parse(str(target))
        if not subject.covers(parts[:1]):
            return target, None
        holder = subject.facts(target.holder)
        if holder.kind == str(Kind.CLASS) and holder.qualname:  # by whichever name it was found
            target = Target(holder.module, f"{holder.qualname}.{parts[-1]}" + bracket + item)
        facts = subject.facts(target)
        if found.rebinds and facts.qualname:  # the definition, and with it all its copies
            target = Target(facts.module, facts.qualname)
        return target, facts

    def _is_module(self, parts: Sequence[str]) -> bool:
        if self._pile.subject.covers(parts[:1]):
            return self._pile.subject.has(Target(".".join(parts)))
        return not any(one.lstrip("_")[:1].isupper() for one in parts)


def _is_unrelated(reader: PileReader, found: Placement, facts: Facts) -> bool:
    """Whether something else comes there than callers of what was there can tell by its form."""
    if not facts.is_present or facts.kind == str(Kind.CLASS):
        return not reader.derives(found)
    if facts.kind not in _FUNCTIONS | _METHODS or facts.signature is None:
        return False
    ours = reader.signature(found)
    return ours is None or refused_call(facts.signature, ours) is not None


def _chained(patches: Iterable[Patch]) -> Iterator[Patch]:
    """Have rows of one target come in the order of the pile."""
    last: dict[str, str] = {}
    for patch in patches:
        targets = {str(change.place) for change in patch.changes}
        before = sorted({last[one] for one in targets if one in last})
        last.update(dict.fromkeys(targets, patch.name))
        yield patch.__replace__(after=tuple(before)) if before else patch


def _unused(name: str, names: Collection[str]) -> str:
    """Make a name that is not there yet."""
    several = (f"{name}{'-' if '-' in name else '_'}{number}" for number in range(2, 1000))
    return name if name not in names else next(one for one in several if one not in names)


def _words(module: str, base: str) -> str:
    parts = module.removeprefix(base).strip(".").split(".")
    return "_".join(part.removeprefix("patch_").strip("_") for part in parts).lower() or "pile"
