"""Checks whether a change can be made in one release: what it needs, and what the release has."""

from collections.abc import Iterator, Mapping

from patchkit.analysis.check import codes
from patchkit.analysis.check.adding_fields import may_have, no_dataclass
from patchkit.analysis.check.calls import (
    FUNCTIONS,
    UNWRAPPABLE,
    is_named_as_class,
    is_no_function,
    is_stored_elsewhere,
    not_to_be_replaced,
    nothing_to_call,
    other_kind,
    other_result,
    other_type,
    other_wrapper_result,
    refused_calls,
)
from patchkit.analysis.check.compatibility import (
    bases_of,
    is_default_attribute,
    takes_no_arguments,
)
from patchkit.analysis.check.decorating import decorator_faults
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.elsewhere import elsewhere, storage_elsewhere
from patchkit.analysis.check.findings import RETIRE, REWRITE, Fault, undecidable, where
from patchkit.analysis.check.late_attributes import set_by_another_module
from patchkit.analysis.check.packages import packages_of
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.recursion import of_function, of_subclass
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.replacements import ANNOTATED
from patchkit.analysis.check.similar_names import splits
from patchkit.analysis.check.special_places import as_new_member, part_of_function
from patchkit.analysis.check.wrapping import wrapper_faults
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.named_elsewhere import OF_CLASS
from patchkit.analysis.upstream.resolving.natures import Nature
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    Change,
    Decorate,
    Edit,
    Provide,
    Replace,
    Row,
    SetByCall,
    Wrap,
)
from patchkit.core.rows.target import Target

_UNEDITABLE = UNWRAPPABLE | {Kind.GENERATED, Kind.OUTSIDE}
"""Kinds without the source of a function."""
_OR_REPLACE = "; or Replace it, if yours is to be used there"
_NARROW = "narrow the row's range, or point the change at the target's new place"


class Judge:
    """Checks the changes of one row in one release.

    Args:
        row: the row.
        release: the release.
        pack: the pack that the row is in.
        edits: the Edits of earlier rows that hold in the release; those of this row are added.
        provided: the modules that earlier rows provide in the release, each with its row.
    """

    def __init__(
        self,
        row: Row,
        release: CheckedRelease,
        pack: PackSource,
        edits: EditSequence,
        provided: Mapping[Target, Row] | None = None,
    ) -> None:
        self._row = row
        self._release = release
        self._facts = release.facts
        self._pack = pack
        self._edits = edits
        self._provided = provided or {}

    def faults(self, change: Change) -> Iterator[Fault]:
        """Return the faults of a change; none if it can be made.

        Args:
            change: the change, one of the row's.
        """
        if isinstance(change, Add):
            return self._add(change)
        if isinstance(change, Provide):
            return self._provide(change)
        return self._of_present(change)

    def _of_present(self, change: Change) -> Iterator[Fault]:
        """Check a change whose target has to be there."""
        facts = self._facts(change.place)
        if facts.state == "absent":
            yield self._missing(change.place, facts)
        elif facts.state == "undecidable":
            part = part_of_function(change.place, self._facts)
            yield part or undecidable(facts.reason)
        elif isinstance(change, Edit):
            yield from self._edit(change, facts)
        elif isinstance(change, (Wrap, Replace, Decorate)):
            yield from self._put_in_place(change, facts)
        elif isinstance(change, AddField):
            yield from self._add_field(change, facts)
        elif isinstance(change, SetByCall) and is_stored_elsewhere(facts):
            yield elsewhere(change, facts)

    def _missing(self, target: Target, facts: Facts) -> Fault:
        """Make the fault of a target that is not there, unless another module may set it."""
        setter = set_by_another_module(target, self._release)
        if setter:
            return undecidable(setter)
        if facts.setter:
            method = f"{target.holder}.{facts.setter}"
            fix = f"Wrap {method}, and change the attribute of the instance there"
            return Fault(codes.TARGET_MISSING, facts.reason, fix)
        reason = facts.reason or "it is not there"
        return Fault(codes.TARGET_MISSING, reason, _NARROW)

    def _put_in_place(
        self, change: Wrap | Replace | Decorate, facts: Facts
    ) -> Iterator[Fault]:
        """Check what is put in the place of a target that exists."""
        if storage_elsewhere(change, facts, self._body(change.by)):
            yield elsewhere(change, facts)
        elif isinstance(change, Wrap):
            yield from self._wrap(change, facts)
        elif isinstance(change, Decorate):
            yield from self._decorate(change, facts)
        else:
            yield from self._replace(change, facts)
            yield from self._super(change)

    # --- what has to be absent

    def _add(self, change: Add) -> Iterator[Fault]:
        """Check a new attribute or item: its holder has to be there, and itself must not be."""
        holder = change.place.holder
        holder_facts = self._facts(holder)
        facts = self._facts(change.place)
        ours = self._body(change.by)
        facts = as_new_member(self._release.resolver, change.place, facts, ours)
        if holder_facts.state == "absent":
            message = f"{holder} is not there: {holder_facts.reason}"
            yield Fault(codes.TARGET_MISSING, message, _NARROW)
        elif facts.storage == OF_CLASS:  # an object cannot have its own
            yield elsewhere(change, facts)
        elif facts.is_present:
            if not is_default_attribute(self._release.resolver, change.place, facts):
                message = f"upstream already has {change.place} ({where(facts)})"
                yield _already(message, _OR_REPLACE)
        elif facts.storage:  # set on the class, it would have no effect
            yield elsewhere(change, facts)
        elif facts.state == "undecidable":
            yield undecidable(facts.reason)
        else:
            setter = set_by_another_module(change.place, self._release)
            if setter:
                yield undecidable(setter)
        yield from self._super(change)

    def _provide(self, change: Provide) -> Iterator[Fault]:
        """Check a new module: its parent package has to be there, and itself must not be."""
        facts = self._facts(change.place)
        parent = change.module.rpartition(".")[0]
        if facts.is_present:
            yield _already(
                f"upstream already has the module {change.module} ({where(facts)})"
            )
        elif parent and not self._is_importable(parent):
            message = f"its parent package {parent} is not there"
            yield Fault(codes.TARGET_MISSING, message, _NARROW)

    def _is_importable(self, module: str) -> bool:
        """Whether a module is there: in the release, or by a Provide of this or an earlier row."""
        earlier = self._provided.get(Target(module))
        if earlier is not None and earlier.roles >= self._row.roles:
            return True  # `earlier` is in every process that this row is for
        for change in self._row.patch.changes:
            if isinstance(change, Provide) and change.module == module:
                return True
        return self._facts(Target(module)).is_present

    def _add_field(self, change: AddField, facts: Facts) -> Iterator[Fault]:
        """Check a new field: its target has to be a class, which has no such attribute."""
        field = Target(change.place.module, f"{change.place.qualname}.{change.name}")
        field_facts = self._facts(field)
        faults = list(no_dataclass(change.place, facts, self._release))
        if faults:
            yield from faults
        elif field_facts.is_present:
            yield _already(f"upstream already has {field} ({where(field_facts)})")
        # A ClassVar is a field of its own kind.
        elif may_have(field_facts) or ANNOTATED in field_facts.reason:
            yield undecidable(field_facts.reason)

    # --- what has to fit

    def _wrap(self, change: Wrap, facts: Facts) -> Iterator[Fault]:
        """Check a Wrap: of something to call, by a function that takes what wrappers are given."""
        fault = nothing_to_call(change, facts)
        if fault:
            yield fault
        if fault and fault.breaks:
            return
        ours = self._body(change.by)
        if ours is None:
            return
        yield from other_wrapper_result(change, facts, ours)
        place = Target(self._row.body, change.by)
        node = self._pack.definition(self._row, change.by)
        takes_none = takes_no_arguments(self._pack.as_release.resolver, place, ours)

        def method() -> Facts | None:
            # The holder was not looked up with the targets, and that takes milliseconds.
            is_in_class = self._facts(change.place.holder).kind == Kind.CLASS
            return facts if is_in_class else None

        yield from wrapper_faults(change.by, ours, node, method, takes_none=takes_none)
        if self._has_bare_super(change.by):
            message = (
                f"found super() in {change.by}, which stands in no class and fails when it is "
                "called; expected wrapped(*args, **kwargs), or super(Class, instance)"
            )
            yield Fault(codes.KIND_CHANGED, message, REWRITE, change.by)

    def _decorate(self, change: Decorate, facts: Facts) -> Iterator[Fault]:
        """Check what the decorator takes, and what it returns in the target's place."""
        decorator = self._body(change.by)
        if decorator is not None and decorator.is_sure:
            node = self._pack.definition(self._row, change.by)
            holder = change.place.holder
            is_bound = bool(holder.qualname) and self._facts(holder).kind != Kind.CLASS
            yield from decorator_faults(
                change.by, decorator, node, facts, is_bound=is_bound
            )

    def _replace(self, change: Replace, facts: Facts) -> Iterator[Fault]:
        """Check whether the body's object can be used as the target is: by kind, bases, calls."""
        ours = self._body(change.by)
        if ours is None or not ours.is_present or change.unrelated:
            return
        may_be_class = ours.kind == Kind.CLASS and is_named_as_class(change, facts)
        if facts.nature == Nature.CLASS or may_be_class:
            faults = [*self._subclass(change, facts, ours)]
            node = self._pack.definition(self._row, change.by)
            faults += of_subclass(change, facts, node)
            if faults and not (facts.is_sure and facts.nature):
                faults = [undecidable(f"{faults[0].message}, if that is a class")]
            yield from faults
        elif is_no_function(ours) and (
            fault := not_to_be_replaced(change, facts, ours)
        ):
            yield fault
        elif Nature.VALUE == facts.nature == ours.nature:
            yield from other_type(change, facts, ours)
        elif facts.kind == Kind.CACHED_PROPERTY and is_no_function(ours):
            return  # nobody calls it: who reads the attribute gets the value
        elif facts.shape and ours.shape == facts.shape:  # the name does not count
            message = (
                f"upstream's source is now the same as {change.by} ({where(facts)})"
            )
            yield Fault(codes.MERGED_UPSTREAM, message, RETIRE, change.by)
        else:
            yield from other_result(change, facts, ours)
            yield from refused_calls(change, facts, ours)
            node = self._pack.definition(self._row, change.by)
            tree = self._pack.as_release.resolver.modules.get(ours.module)
            yield from of_function(change, node, tree)

    def _super(self, change: Replace | Add) -> Iterator[Fault]:
        """Check a function that becomes a method: bare `super()` in it does not find the class."""
        if not self._has_bare_super(change.by):
            return
        if self._facts(change.place.holder).kind == Kind.CLASS:
            name = change.place.holder.qualname
            expected = f"expected the class by name: super({name}, self)"
            message = f"found super() in {change.by}, which is not a method of {name}; {expected}"
            yield Fault(codes.KIND_CHANGED, message, REWRITE, change.by)

    def _has_bare_super(self, name: str) -> bool:
        """Whether an object of the body is a function that calls `super()` without arguments."""
        return "" in self._pack.classes_of_super(self._row, name)

    def _subclass(self, change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
        """Check that the body's class derives from the one that it replaces."""
        if ours.is_sure and ours.kind in FUNCTIONS | {Kind.CONSTANT}:
            yield other_kind(
                change.place, facts, f"the kind of {change.by} ({ours.kind})"
            )
            return
        resolver = self._pack.as_release.resolver
        bases = bases_of(resolver, Target(self._row.body, change.by))
        if not bases.is_whole:
            return  # an unknown base may derive from the replaced class
        if any(self._derives(base, facts) for base in bases.outside):
            return
        base = "object"
        if bases.outside:
            base = bases.outside[0]
        expected = str(change.place)
        if facts.module:
            expected = f"{facts.module}:{facts.qualname}"
        message = (
            f"{change.by} derives from {base}, expected a class derived from {expected}"
        )
        yield Fault(codes.KIND_CHANGED, message, REWRITE, change.by)

    def _derives(self, base: str, facts: Facts) -> bool:
        """Whether a class of upstream is the target or derives from it; also if that is unknown.

        Args:
            base: the dotted name of the class, such as `vllm.a.B`.
            facts: what the release says of the target.
        """
        if facts.kind != Kind.CLASS:  # an item, or a class of another package
            return base != "builtins.object"  # any other may derive from it
        if base.partition(".")[0] not in packages_of([self._row]):
            return False  # such as one of the standard library
        target = self._target_of(base)
        if target is None:
            return True  # the lack of the class is reported as a use of the body
        name = (facts.module, facts.qualname)
        base_facts = self._facts(target)
        if (base_facts.module, base_facts.qualname) == name:
            return True  # the usual case; the modules of further bases need no parsing
        above = bases_of(self._release.resolver, target)
        return not above.is_whole or name in above.inside

    def _target_of(self, dotted: str) -> Target | None:
        """Split `vllm.a.B` after the longest module that is there; None where none is."""
        for candidate in splits(dotted):
            if self._facts(Target(candidate.module)).is_present:
                return candidate
        return None

    def _edit(self, change: Edit, facts: Facts) -> Iterator[Fault]:
        """Check an Edit: its target has to be a function, and neither inherited nor imported."""
        home = f"{facts.module}:{facts.qualname}"
        text = self._release.text(facts)
        if facts.is_sure and facts.kind in _UNEDITABLE:
            expected = "a function with its own source, as Edit needs"
            instead = "Replace it"
            if facts.kind == Kind.CLASS:
                instead = "Edit its methods, or Replace it"
            yield other_kind(change.place, facts, expected, instead)
        elif facts.owner:
            message = f"it is inherited from {facts.owner}, expected a target with its own source"
            yield Fault(codes.KIND_CHANGED, message, f"name {facts.owner} in the row")
        elif facts.is_sure and facts.module != change.place.module:
            message = (
                f"it is imported from {home}, expected a target with its own source"
            )
            yield Fault(codes.KIND_CHANGED, message, f"name {home} in the row")
        elif not text:
            yield undecidable("its source cannot be read")
        else:
            yield from self._edits.faults(self._row, change, facts, text)

    def _body(self, name: str) -> Facts | None:
        """Return the facts of an object of the body; None where the row has no body."""
        if self._row.patch.body is None:
            return None
        return self._pack.facts(self._row, name)


def _already(message: str, instead: str = "") -> Fault:
    return Fault(codes.ALREADY_UPSTREAM, message, f"{RETIRE}{instead}")
