"""Rows and bodies for a pile of patches that knows nothing of patchkit."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.adopt.bodies import BodyText
from patchkit.adopt.difference import Left
from patchkit.adopt.differing import AdoptedRows
from patchkit.adopt.guards import Guard, common_package, guard_of, guarded, last_of, old_pile
from patchkit.adopt.observed import Observation, importable, observe
from patchkit.adopt.placements import PileReader, Placement, Read
from patchkit.adopt.prose import told
from patchkit.check.compatibility import refused_call
from patchkit.check.subjects import Subject
from patchkit.errors import ScaffoldError
from patchkit.rows.declaration import Add, Change, Patch, Replace, Role, Wrap
from patchkit.rows.target import Target
from patchkit.upstream.facts import Facts
from patchkit.upstream.reading.files import ReleaseSource
from patchkit.upstream.resolving.values import Kind
from patchkit.uses.packages import modules_of

_FUNCTIONS = {str(one) for one in (Kind.FUNCTION, Kind.ASYNC_FUNCTION)}
_METHODS = {str(one) for one in (Kind.METHOD, Kind.ASYNC_METHOD)}


def read_pile(
    source: ReleaseSource, only: Sequence[str], dialects: Sequence[Read]
) -> list[PileReader]:
    """Read the modules of a package, or those below some of them, in the order of their imports."""
    readers = {}
    for module in modules_of(source, [""]):
        if not only or any(f"{module.name}.".startswith(f"{one}.") for one in only):
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
    observed: Observation | None = None

    def run(self) -> None:
        """Make the rows, in the order in which the pile makes its changes."""
        base = common_package(one.module.name for one in self.readers if one.placements)
        ours = [one for one in self.readers if self._is_expressible(one)]
        self._words = {one: _words(one.module.name, base) for one in ours}
        project = self.requires.partition("==")[0]
        guards = {one: guard_of(one, self.readers, project) for one in ours}
        self._codes = {
            one.module.name: f"{self.pack}.{'code' if guards[one].test else 'patch'}_{words}"
            for one, words in self._words.items()
        }
        for one in ours:
            self._add(one, guards[one])
        made = {name: code for name, code in self._codes.items() if last_of(code) in self.bodies}
        if not made:
            raise ScaffoldError(f"{self.origin}: found nothing that a row says, expected patches")
        patch, self.bodies["patch_old_pile"] = old_pile(base, made, self.requires, self.origin)
        self.patches = [patch, *_chained(self.patches)]

    def observe(self, named: str, stubs: Sequence[str]) -> None:
        """Import the pile in a child; what it changes there and no row does is left, too."""
        places = [one.place for patch in self.patches for one in patch.changes]
        own = {one.module.name.partition(".")[0] for one in self.readers}
        first = [one.module for one in places if one.module.partition(".")[0] not in own]
        packages = {one.partition(".")[0] for one in first}
        imported = {name for one in self.readers for name, _, _ in one.imports}
        roots = [
            name
            for name, one in ((one.module.name, one) for one in self.readers)
            if name not in imported and (one.module.is_package or name in self._codes)
        ]
        with importable(named) as path:
            seen = observe(roots, sorted({*packages, *first}), stubs, packages, path)
        seen.compare(self.patches)
        self.observed = seen
        for one in seen.unread:
            reason = f"it was observed to become {one['by']}; no statement that was read sets it"
            self.left.append(Left("", 0, "", reason, one["target"]))

    def _is_expressible(self, reader: PileReader) -> bool:
        """List what is not made as the pile is imported; whether anything else is left."""
        parent = reader.module.name.rpartition(".")[0]
        imported = {name for one in self.readers for name, _, _ in one.imports}
        beside = {one.module.name for one in self.readers if one.placements}
        is_apart = any(one.startswith(f"{parent}.") for one in imported & beside)
        if is_apart and not reader.module.is_package and reader.module.name not in imported:
            for one in reader.placements:
                one.reason = f"{parent} does not import {reader.module.name}"
        for one in reader.placements:
            if one.reason:
                for place in one.places or [""]:
                    self._leave(reader, one, place, one.reason)
        return any(not one.reason for one in reader.placements)

    def _leave(self, reader: PileReader, found: Placement, place: str, reason: str) -> None:
        code = ast.unparse(found.statement).partition("\n")[0]
        line = found.statement.lineno
        self.left.append(Left(reader.module.path, line, code, reason, place))

    def _add(self, reader: PileReader, guard: Guard) -> None:
        """Make the rows of a module, and its text as their body."""
        words, code = self._words[reader], self._codes[reader.module.name]
        title = f"Adopted from {self.origin}: {reader.module.path}"
        body = BodyText(reader, self._codes)
        prose = told(reader.module, [one.module for one in self.readers])
        origin = {
            "why": f"Adopted from {self.origin}.",
            "upstream": f"none: adopted from {self.origin}",
            "sunset": "upstream has these changes",
        }
        rows, found = list[Patch](), list(self._rows(reader, body))
        for first, changes in found:
            key = first.key or first.function
            name = f"{words}-{_short(key)}" if key and len(found) > 1 else words
            row = Patch(
                name=self._free(re.sub(r"[\W_]+", "-", name.lower()).strip("-")),
                body=f"patch_{words}",
                requires=guard.requires or (self.requires,),
                roles={Role.WORKER} if "worker" in words.split("_") else frozenset(Role),
                changes=tuple(changes),
                **{**origin, **prose, **({"why": first.why} if first.why else {})},
                required=guard.is_required,
                when=body.asked("when", first.condition),
                verify=body.asked("verify", first.verify),
            )
            rows.append(self._built(row, code, title) if first.builds else row)
            self.patches.append(rows[-1])
        if rows:
            self.bodies[last_of(code)] = body.text(title)
        if rows and guard.test:
            body_name, known = (
                f"patch_{words}",
                [one for one in rows if one.body == f"patch_{words}"],
            )
            self.bodies[body_name] = guard.body(code, _asked_by(known), title)
            for one in known:
                self.patches[self.patches.index(one)] = guarded(one)

    def _rows(
        self, reader: PileReader, body: BodyText
    ) -> Iterator[tuple[Placement, Sequence[Change]]]:
        """Say which changes are one row: those of a module, or those of one registration."""
        by_key: dict[str, list[Placement]] = {}
        for one in reader.placements:
            if not one.reason:
                by_key.setdefault(one.key or one.function, []).append(one)
        for several in sorted(by_key.values(), key=lambda some: some[0].priority):
            made = (change for one in several for change in self._changes(reader, body, one))
            if changes := list(dict.fromkeys(made)):
                yield several[0], changes

    def _built(self, row: Patch, code: str, title: str) -> Patch:
        """Give a row whose object is built a body of its own, which builds it when it is due."""
        (change,) = row.changes
        name, factory = f"patch_{row.name.replace('-', '_')}", change.body_name
        lines = [f"# {title}", f"from {code} import {factory}", "", f"built = {factory}()", ""]
        self.bodies[name] = "\n".join(lines)
        return row.__replace__(body=name, changes=(change.__replace__(by="built"),))

    def _free(self, name: str) -> str:
        names = {one.name for one in self.patches}
        return name if name not in names else f"{name}-{len(names)}"

    def _changes(self, reader: PileReader, body: BodyText, found: Placement) -> Iterator[Change]:
        there = {place: self._found(place, found) for place in found.places}
        holders = {one.holder for one, facts in there.values() if facts is None or facts.is_present}
        for place, (target, facts) in there.items():
            is_absent = facts is not None and facts.state == "absent"
            if is_absent and target.holder in holders:
                continue  # one of several names, of which this release has another
            if is_absent and self.subject.state(target.holder) != "present":
                reason = f"{self.subject.name} has no {target.holder}"
                self._leave(reader, found, place, reason)
                continue
            yield self._change(reader, body, found, target, facts)

    def _change(
        self,
        reader: PileReader,
        body: BodyText,
        found: Placement,
        target: Target,
        facts: Facts | None,
    ) -> Change:
        kind = facts.kind if facts else None
        is_call = kind in _FUNCTIONS | _METHODS and len(found.places) == 1 and not found.key
        is_wrap = is_call and body.wrapped(found, is_method=kind in _METHODS)
        by, own = body.by(found)
        if is_wrap:
            return Wrap(str(target), by=by, rebind=False)
        when = body.when(found, own)
        is_copy = facts is not None and facts.module not in ("", target.module)
        if facts is not None and is_copy and "." not in target.qualname:
            self.by_hand[str(target)] = f"{facts.module}:{facts.qualname}"
        is_open = facts is None or facts.state == "undecidable"
        if (facts and facts.state == "absent") or (is_open and found.is_new):
            return Add(str(target), by=by, when=when, rebind=False)
        top = reader.module.name.partition(".")[0]
        return Replace(
            str(target),
            by=by,
            when=when,
            rebind=(top,) if found.rebinds else False,
            unrelated=_is_unrelated(reader, found, facts),
        )

    def _found(self, place: str, found: Placement) -> tuple[Target, Facts | None]:
        """Take a dotted name apart; and what the release says of it, if that is its to say."""
        head, bracket, item = place.partition("[")
        parts = head.split(".")
        ends = (end for end in range(len(parts) - 1, 0, -1) if self._is_module(parts[:end]))
        end = next(ends, 1)
        target = Target(".".join(parts[:end]), ".".join(parts[end:]) + bracket + item)
        if not self.subject.covers(parts[:1]):
            return target, None
        holder = self.subject.facts(target.holder)
        if holder.kind == str(Kind.CLASS) and holder.qualname:  # by whichever name it was found
            target = Target(holder.module, f"{holder.qualname}.{parts[-1]}" + bracket + item)
        facts = self.subject.facts(target)
        if found.rebinds and facts.qualname:  # the definition, and with it all its copies
            target = Target(facts.module, facts.qualname)
        return target, facts

    def _is_module(self, parts: Sequence[str]) -> bool:
        if self.subject.covers(parts[:1]):
            return self.subject.has(Target(".".join(parts)))
        return not any(one.lstrip("_")[:1].isupper() for one in parts)


def _is_unrelated(reader: PileReader, found: Placement, facts: Facts | None) -> bool:
    """Whether something else comes there than callers of what was there can tell by its form."""
    if facts is None or facts.kind == str(Kind.CLASS):
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


def _asked_by(rows: Sequence[Patch]) -> list[str]:
    """Name the functions that rows ask."""
    asked = {name for patch in rows for name in (patch.when, patch.verify)}
    asked |= {one.when for patch in rows for one in patch.changes}
    return sorted(filter(None, asked))


def _words(module: str, base: str) -> str:
    parts = module.removeprefix(base).strip(".").split(".")
    return "_".join(part.removeprefix("patch_").strip("_") for part in parts).lower()


def _short(key: str) -> str:
    return "_".join(key.split(".")[-2:])
