"""Turns a pile, a package that patches upstream by assignments on import, into rows and bodies."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.facts import Facts
from patchkit.authoring.diffs.differing import AdoptedRows
from patchkit.authoring.diffs.unexpressed import TO_LOOK_AT, UnexpressedCode
from patchkit.authoring.piles.bodies import BodyText
from patchkit.authoring.piles.guards import (
    Guard,
    common_package,
    guard_of,
    guarded,
    last_of,
    old_pile,
    remarks_on,
)
from patchkit.authoring.piles.helper_modules import (
    NO_PACKAGE,
    add_helpers,
    begun_import,
    imports_of_pile,
    is_kept_off,
    texts_of,
)
from patchkit.authoring.piles.hooks import REPLACE
from patchkit.authoring.piles.observed import PileObservation
from patchkit.authoring.piles.pile_imports import imported_modules
from patchkit.authoring.piles.pile_order import chained
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.placed_targets import (
    can_be_wrapped,
    fault_of,
    placed_targets,
)
from patchkit.authoring.piles.placements import Placement
from patchkit.authoring.piles.prose import prose_of
from patchkit.authoring.piles.read_values import ReadValue
from patchkit.authoring.piles.replaced_kinds import METHODS, is_unrelated
from patchkit.authoring.piles.row_names import body_word, row_name, unused
from patchkit.authoring.piles.version_expressions import Upstream
from patchkit.authoring.piles.version_tests import narrow
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import (
    Add,
    Change,
    Decorate,
    Patch,
    Replace,
    Role,
    Wrap,
)
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError


@dataclass
class PileRows(AdoptedRows):
    """The rows of a pile, for one release of upstream.

    Args:
        release: The release.
        pack: The name of the pack that the rows are written into.
        readers: The readers of the pile's modules, in the order of their imports.
        by_hand: By copy of a definition that the pile itself sets, the target of the definition.
        observed: What the pile changed when it was imported in a child process, if it was.
        names: The names of rows that are taken.
        codes: By module of the pile, the module of the pack that has its code.
        stand_ins: Those of these modules whose imports get the pack's.
        values: By target, what the statements that were read set.
    """

    release: CheckedRelease = field(kw_only=True)
    pack: str = field(kw_only=True)
    readers: Sequence[PileReader] = field(kw_only=True)
    by_hand: dict[str, str] = field(default_factory=dict)
    observed: PileObservation | None = None
    names: list[str] = field(default_factory=lambda: ["old-pile"])
    codes: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[ReadValue]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._imported = imported_modules(self.readers)
        expressible = [reader for reader in self.readers if reader.expressible]
        self.modules_with_rows = {reader.module.name for reader in expressible}
        self.base = common_package(self.modules_with_rows)
        """The package that contains all modules with rows; '' where there is none."""

    @property
    def project(self) -> str:
        """The name of upstream."""
        return self.requires.partition("==")[0]

    def run(self) -> None:
        """Make the rows, in the order in which the pile makes its changes.

        It fills in `patches`, their `bodies`, and `left`, the list of what no row can express; and
        `codes` and `stand_ins`, which say where the code of the pile's modules is by then.
        """
        builders = self._builders()
        # All of them before any row is made: in a body, imports of the pile's modules become
        # imports of the modules in `codes`.
        self.codes = {builder.reader.module.name: builder.code for builder in builders}
        with_code = [builder.reader for builder in builders]
        helpers = add_helpers(self, with_code)
        for builder in builders:
            builder.run()  # adds to `patches` and `bodies`
        self.patches = list(chained(self.patches))
        # A module of which no row was made, as the release has nothing that it sets, has no body.
        with_bodies = [
            builder for builder in builders if last_of(builder.code) in self.bodies
        ]
        if self.patches:
            self.bodies |= texts_of(helpers, self.codes, self.readers, self.origin)
            self._switch_off(with_bodies)
            self.left += imports_of_pile([*with_code, *helpers], self.codes)

    def _builders(self) -> list["_ModuleRows"]:
        """Return what makes the rows of each module; list what no row can express."""
        builders = list["_ModuleRows"]()
        upstream = Upstream(self.release, self.project)
        words = ["old_pile"]  # `_switch_off` writes the body `patch_old_pile`
        for reader in self.readers:
            self._list_unexpressed(reader)
            if not reader.expressible:
                continue
            word = unused(body_word(reader.module.name, self.base), words)
            words.append(word)
            guard = guard_of(reader, self.readers, upstream)
            self.left += remarks_on(guard, reader.module.name)
            self.left += narrow(reader, upstream)
            builders.append(_ModuleRows(self, reader, guard, word))
        return builders

    def refuse_empty(self) -> None:
        """Refuse a pile of which there is no row, and nothing in the list.

        Raises:
            ScaffoldError: The pile changes nothing.
        """
        if not self.sites:
            message = f"{self.origin} contains no patch that a row can express"
            if self.observed:
                message += f"; {self.observed.functions_called}"
            raise ScaffoldError(message)

    def _switch_off(self, builders: Sequence["_ModuleRows"]) -> None:
        """Add the row that keeps the pile's modules from patching upstream a second time.

        Args:
            builders: What has made the rows of each module with a body.
        """
        modules = [builder.reader.module for builder in builders]
        codes = {builder.reader.module.name: builder.code for builder in builders}
        for module in modules:
            if is_kept_off(module.name, codes):
                self.stand_ins[module.name] = codes[module.name]
            else:
                not_off = UnexpressedCode(
                    module.path, 1, "", NO_PACKAGE, module.name, kind=TO_LOOK_AT
                )
                self.left.append(not_off)
        if not self.stand_ins:
            return
        packages = [module.name for module in modules if module.is_package]
        row, body = old_pile(self.stand_ins, packages, self.project, self.origin)
        self.patches.insert(0, row)
        self.bodies["patch_old_pile"] = body

    def leave(
        self, reader: PileReader, placement: Placement, reason: str, dotted_name: str
    ) -> None:
        """List an attribute that no row sets.

        Args:
            reader: The reader of the module that sets it.
            placement: The placement that sets it.
            reason: Why no row does.
            dotted_name: The attribute.
        """
        statement = placement.statement
        first_line = ast.unparse(statement).partition("\n")[0]
        path = reader.module.path
        self.left.append(
            UnexpressedCode(path, statement.lineno, first_line, reason, dotted_name)
        )

    def _list_unexpressed(self, reader: PileReader) -> None:
        """List the attributes that a module sets and no row can: all if it is never imported."""
        name = reader.module.name
        parent = name.rpartition(".")[0]
        is_imported = name in self._imported or reader.module.is_package
        imported_neighbours = [
            neighbour
            for neighbour in self.modules_with_rows & self._imported
            if neighbour.startswith(f"{parent}.")
        ]
        not_imported = f"{parent} does not import {name}; --only {name} adopts it"
        for placement in reader.placements:
            # Where a package imports some of its modules, the others are dead code.
            if imported_neighbours and not is_imported:
                placement.reason = not_imported
            if placement.reason and not placement.is_own:
                for dotted_name in placement.dotted_names or [""]:  # "": none is known
                    self.leave(reader, placement, placement.reason, dotted_name)


class _ModuleRows:
    """Makes the rows of one module of a pile.

    Args:
        pile: The rows of the pile, to which they are added.
        reader: The reader of the module.
        guard: The conditions under which the pile imports the module.
        word: The word for the module in the names of its body and its rows.
    """

    def __init__(
        self, pile: PileRows, reader: PileReader, guard: Guard, word: str
    ) -> None:
        self.reader = reader
        self._pile = pile
        self._guard = guard
        self._word = word
        self._body_name = f"patch_{word}"
        self._expressible = reader.expressible
        only_builds = all(placement.builds for placement in self._expressible)
        self._first = begun_import(reader, pile.readers, pile.modules_with_rows)
        self._is_guarded = bool(guard.test or self._first)
        # If the body `patch_x` has other text than the module, the module's is in `code_x`.
        prefix = "code" if self._is_guarded or only_builds else "patch"
        self.code = f"{pile.pack}.{prefix}_{word}"
        title = f"Adopted from {pile.origin}: {reader.module.path}"
        self._title = " ".join(title.split())

    def run(self) -> None:
        """Add the module's rows to the pile's, and its text as their body."""
        pile = self._pile
        modules = [reader.module for reader in pile.readers]
        names = [module.name for module in modules]
        body = BodyText(self.reader, pile.codes, names)
        prose = prose_of(self.reader.module, modules, pile.origin)
        groups = list(self._groups(body))
        rows = [
            self._row(body, prose, placement, changes, is_alone=len(groups) == 1)
            for placement, changes in groups
        ]
        if rows:
            pile.bodies[last_of(self.code)] = body.text(self._title)
            pile.patches += self._guarded(rows) if self._is_guarded else rows

    def _guarded(self, rows: Sequence[Patch]) -> list[Patch]:
        """Write the body that imports the code only if the guard holds, for the rows to refer to.

        Args:
            rows: The rows, which refer to the code itself.
        """
        names: set[str] = set()
        guarded_rows = list[Patch]()
        for row in rows:
            if row.body != self._body_name:  # the row has a built value
                guarded_rows.append(row)
                continue
            conditions = [row.when, row.verify]
            conditions += [getattr(change, "when", None) for change in row.changes]
            names.update(name for name in conditions if name)
            guarded_rows.append(guarded(row, has_test=bool(self._guard.test)))
        text = self._guard.body(self.code, sorted(names), self._title, self._first)
        self._pile.bodies[self._body_name] = text
        return guarded_rows

    def _groups(self, body: BodyText) -> Iterator[tuple[Placement, Sequence[Change]]]:
        """Yield the first placement of each row, with the row's changes."""
        placements_by_key = grouped(
            (placement.key or placement.function, placement)
            for placement in self._expressible
        )
        for placements in sorted(
            placements_by_key.values(), key=lambda group: group[0].priority
        ):
            changes: dict[Change, None] = {}
            for placement in placements:
                changes.update(dict.fromkeys(self._changes(body, placement)))
            if changes:
                yield placements[0], list(changes)

    def _row(
        self,
        body: BodyText,
        prose: Mapping[str, str],
        placement: Placement,
        changes: Sequence[Change],
        *,
        is_alone: bool,
    ) -> Patch:
        """Make a row, and a body for it if its value has to be built.

        Args:
            body: The body of the module.
            prose: The texts of the row, by field.
            placement: The first placement of the row.
            changes: The changes of the row.
            is_alone: Whether it is the only row of the module.
        """
        texts = dict(prose)
        if placement.why:
            texts["why"] = placement.why
        roles: Collection[Role] = frozenset(Role)
        if "worker" in self._word.split("_"):  # by the module's name
            roles = {Role.WORKER}
        key = "" if is_alone else placement.key or placement.function
        row = Patch(
            name=row_name(self._word, key, self._pile.names),
            body=self._body_name,
            requires=self._guard.requires or (self._pile.requires,),
            roles=roles,
            changes=tuple(changes),
            **texts,
            required=self._guard.is_required,
            when=body.asked("when", placement.condition),
            verify=body.asked("verify", placement.verify),
        )
        self._pile.names.append(row.name)
        if placement.builds:
            return self._with_built_value(row)
        return row

    def _with_built_value(self, row: Patch) -> Patch:
        """Return a row with a body of its own, which calls the factory of its value."""
        change = next(iter(row.changes))
        factory = change.body_name
        body_name = f"patch_{row.name.replace('-', '_')}_built"
        head = f"# {self._title}\n{self._first}from {self.code} import {factory}\n"
        self._pile.bodies[body_name] = f"{head}\nbuilt = {factory}()\n"
        return row.__replace__(
            body=body_name, changes=(change.__replace__(by="built"),)
        )

    def _changes(self, body: BodyText, placement: Placement) -> Iterator[Change]:
        """Yield the changes of a placement; list the attributes that the release does not have."""
        try:
            targets = placed_targets(self._pile.release, placement)
        except ValueError as error:
            reason = f"no target says it: {error}"
            self._pile.leave(self.reader, placement, reason, placement.dotted_names[0])
            return
        owners = {
            placed.target.holder
            for placed in targets.values()
            if placed.facts is None or placed.is_present
        }
        for dotted_name, placed in targets.items():
            owner = placed.target.holder
            if placed.is_absent and owner in owners:
                continue  # `lib.f` and `lib.g` are alternatives: the release has the other one
            reason = fault_of(self.reader, placement, placed)
            if placed.is_absent and not placed.has_owner:
                reason = f"{self._pile.release.name} has no {owner}"
            if reason:
                self._pile.leave(self.reader, placement, reason, dotted_name)
                continue
            # None: the target is of another package than the release.
            facts = placed.facts or Facts("undecidable")
            if not placement.hook:  # the registry puts a function of its own there
                value = ReadValue(self.reader, placement)
                self._pile.values.setdefault(str(placed.target), []).append(value)
            change = self._change(body, placement, placed.target, facts)
            yield change.__replace__(requires=placement.requires)

    def _change(
        self, body: BodyText, placement: Placement, target: Target, facts: Facts
    ) -> Change:
        """Make the change of one attribute: a Wrap where possible, else an Add or a Replace."""
        is_wrap = can_be_wrapped(self.reader, self._pile.readers, placement, facts)
        if is_wrap and body.wrapped(placement, is_method=facts.kind in METHODS):
            by, _own_name = body.by(placement)
            return Wrap(str(target), by=by, rebind=False)
        by, own_name = body.by(placement)
        when = body.when(placement, own_name)
        if placement.hook not in ("", REPLACE):
            decorator = body.decorator(placement, by)
            package = self.reader.module.name.partition(".")[0]
            return Decorate(str(target), by=decorator, when=when, rebind=(package,))
        # A name of a module that was imported from the module that defines it.
        if facts.module not in ("", target.module) and "." not in target.qualname:
            self._pile.by_hand[str(target)] = f"{facts.module}:{facts.qualname}"
        if facts.state == "absent" or (placement.is_new and not facts.is_present):
            return Add(str(target), by=by, when=when, rebind=False)
        rebind: bool | tuple[str, ...] = False
        # A sweep of `sys.modules` sets copies, too, those in the pile's own package included.
        if placement.rebinds:
            rebind = (self.reader.module.name.partition(".")[0],)
        unrelated = is_unrelated(self.reader, placement, facts)
        return Replace(
            str(target), by=by, when=when, rebind=rebind, unrelated=unrelated
        )
