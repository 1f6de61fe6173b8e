"""Resolves targets in a release by reading its source; none of it is run."""

from copy import copy
from functools import cached_property

from patchkit.analysis.upstream.reading.files import Files, ParsedFiles, ReleaseSource
from patchkit.analysis.upstream.resolving.classes import mro
from patchkit.analysis.upstream.resolving.constructors import (
    call_signature,
    widest_call,
)
from patchkit.analysis.upstream.resolving.deciding import Platform
from patchkit.analysis.upstream.resolving.importer_changes import changed_where_imported
from patchkit.analysis.upstream.resolving.literals import item_of
from patchkit.analysis.upstream.resolving.module_tree import Modules, lines_of
from patchkit.analysis.upstream.resolving.named_elsewhere import (
    OF_OPERATOR,
    named_elsewhere,
)
from patchkit.analysis.upstream.resolving.natures import TO_CALL, Nature, nature_of
from patchkit.analysis.upstream.resolving.release_lookup import ReleaseLookup
from patchkit.analysis.upstream.resolving.storage import HOOKS, VALUES, instance_storage
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    State,
    Value,
    Values,
    undecided,
)
from patchkit.analysis.upstream.resolving.variants import distinct
from patchkit.analysis.upstream.resolving.wrapped import (
    WrappedCode,
    is_of_operator,
    operator_values,
    wrapped_by,
)
from patchkit.core.rows.target import Item, Target, TargetStep

TOO_DEEP = (
    "its source is nested too deep to be followed, or leads through too many modules"
)
"""Why a target is undecided that Python's stack is too small for."""


class Resolution:
    """What a target is in one release.

    Args:
        target: The target.
        variants: One value for each way in which it may be bound, the usual one first.
        lookup: The release.
    """

    def __init__(self, target: Target, variants: Values, lookup: Lookup) -> None:
        self.target = target
        self.variants = variants
        self._lookup = lookup
        self._first = variants[0]
        self.kind = self._first.kind
        self.module = self._first.module
        """The module that defines it, after re-exports, aliases and inheritance; '' if unknown."""
        self.qualname = self._first.qualname
        """Its name in that module."""
        self.path = ""
        if self._first.tree is not None:
            self.path = self._first.tree.path
        """The file that defines it; '' if none does."""
        self.nodes = self._first.nodes
        """The statement that defines it, then those that modify it later."""

    def __repr__(self) -> str:
        description = self.kind if self.state == "present" else self.reason
        return f"<Resolution {self.target}: {self.state}, {description}>"

    @cached_property
    def state(self) -> State:
        """Whether it exists, however its module is imported; "undecidable" if that differs."""
        states = {variant.state for variant in self._deciding}
        if len(states) != 1:
            return "undecidable"
        return states.pop()

    @property
    def is_sure(self) -> bool:
        """Whether its kind and signature are known, and the kind is the same in all variants."""
        if self.state != "present":
            return False
        for variant in self._deciding:
            is_alike = (
                variant.kind == self._first.kind
                and variant.dotted == self._first.dotted
            )
            if not variant.is_sure or not is_alike:
                return False
        return True

    @property
    def reason(self) -> str:
        """Why it is absent, undecidable or not sure; '' if there is nothing to say."""
        if len(self.variants) > 1:
            return "; ".join(dict.fromkeys(map(_described, self.variants)))
        if self._first.reason:
            return self._first.reason
        if self.kind is Kind.ASSIGNMENT and not self._first.is_sure:
            return "its value is computed"
        return ""

    @property
    def defined(self) -> Target | None:
        """The target that names its definition; None if that is unknown, or not a single one."""
        definitions = {(variant.module, variant.qualname) for variant in self._deciding}
        if not self.module or len(definitions) != 1:
            return None
        return Target(self.module, self.qualname)

    @property
    def lines(self) -> tuple[int, int] | None:
        """The first and last line of its definition, decorators included."""
        return lines_of(self.nodes[:1])

    @cached_property
    def wrapped(self) -> tuple[tuple[WrappedCode, ...], ...]:
        """For each variant, the code that it runs outside its own definition."""
        return tuple(
            tuple(wrapped_by(self._lookup, variant)) for variant in self.variants
        )

    @cached_property
    def bases(self) -> tuple[Value, ...]:
        """The classes of the release that a class derives from, nearest first."""
        if not self._first.has_class_statement:
            return ()
        return tuple(
            base
            for base in mro(self._lookup, self._first)[1:]
            if base.has_class_statement
        )

    @cached_property
    def source(self) -> str:
        """The text of its definition, decorators included; '' if there is none."""
        if self._first.tree is None or self.lines is None:
            return ""
        first, last = self.lines
        lines = self._first.tree.source.decode(errors="replace").splitlines(
            keepends=True
        )
        return "".join(lines[first - 1 : last])

    @cached_property
    def signature(self) -> Signature | None:
        """How it can be called, a class included; None if that is not known."""
        if not self.is_sure:
            return None
        signatures = {
            call_signature(self._lookup, variant) for variant in self._deciding
        }
        if len(signatures) != 1:
            return None
        return signatures.pop()

    @cached_property
    def widest_signature(self) -> Signature | None:
        """What takes all calls that a dataclass may take; None if it is none, or not known.

        It is for classes whose `signature` is not known.
        """
        deciding = self._deciding
        if not self.is_sure or self.signature is not None or len(deciding) != 1:
            return None
        return widest_call(self._lookup, deciding[0])

    @cached_property
    def nature(self) -> Nature:
        """What it is to a change; `UNKNOWN` where the source does not tell, or it depends."""
        natures = {nature_of(self._lookup, variant) for variant in self._deciding}
        if len(natures) == 1:
            return natures.pop()
        return Nature.ROUTINE if natures <= TO_CALL else Nature.UNKNOWN

    @cached_property
    def _deciding(self) -> tuple[Value, ...]:
        """The variants that tell state, kind and signature; all if there are only fallbacks.

        A stand-in from `except ImportError`, such as `X = None`, must not make them undecidable.
        """
        regular = tuple(
            variant for variant in self.variants if not variant.is_import_fallback
        )
        return regular or self.variants


class Resolver:
    """Resolves targets in one release.

    Args:
        source: The files of the release.
        python: The version of Python that the release is read for.
        system: The `sys.platform` that it is read for.
        parsed: Where parsed files are kept, those of other releases as well.
    """

    def __init__(
        self,
        source: ReleaseSource,
        *,
        python: tuple[int, int] = (3, 11),
        system: str = "linux",
        parsed: ParsedFiles | None = None,
    ) -> None:
        self.source = source
        self.modules = Modules(Files(source, shared=parsed))
        self.lookup = ReleaseLookup(self.modules, Platform(python, system))

    def afresh(self) -> "Resolver":
        """Return a resolver of the same release without results; files stay parsed.

        Its `modules.answers` will then be what its own results depend on, and not more.
        """
        resolver = copy(self)
        resolver.modules = Modules(self.modules.files)
        resolver.lookup = ReleaseLookup(resolver.modules, self.lookup.platform)
        return resolver

    def resolve(self, target: Target) -> Resolution:
        """Return what a target is.

        Args:
            target: The target.

        Raises:
            UpstreamError: The release cannot be read.
        """
        try:
            variants = self._variants(target)
        except RecursionError:
            variants = (undecided(TOO_DEEP),)
        return Resolution(target, variants, self.lookup)

    def _variants(self, target: Target) -> Values:
        """Return what a target may be, the present values first."""
        fault = self._package_fault(target.module)
        if fault:
            return (undecided(fault),)
        values: Values = (self.lookup.module(target.module),)
        steps = target.steps
        for number, step in enumerate(steps, start=1):
            reached = self._follow(values, step, is_last=number == len(steps))
            values = self._changed_by_importer(target, values, reached, number)
        # `torch.ops.namespace.name` has four steps.
        if len(steps) > 3 and not isinstance(steps[-1], Item):
            values = self._with_operators(target.module, values)
        # Present values first, fallbacks of imports last.
        variants = sorted(
            distinct(values),
            key=lambda value: (value.is_import_fallback, value.state != "present"),
        )
        return tuple(variants)

    def _changed_by_importer(
        self, target: Target, holders: Values, reached: Values, number: int
    ) -> Values:
        """Return what a step reaches, for what the target's module does to a class it imports.

        Args:
            target: The target.
            holders: What the steps before lead to.
            reached: What this step leads to.
            number: The number of the step.
        """
        step = target.steps[number - 1]
        tree = self.modules.get(target.module)
        if number != 2 or isinstance(step, Item) or tree is None:
            return reached
        if not any(one.has_class_statement and one.tree is not tree for one in holders):
            return reached
        return changed_where_imported(tree, str(target.steps[0]), step, reached)

    def _package_fault(self, module: str) -> str:
        """Say which package around a module cannot be read, and so not imported; '' for none."""
        package = module.rpartition(".")[0]
        while package:
            tree = self.modules.get(package)
            if tree is not None and tree.fault:
                return f"{tree.path}: {tree.fault}"
            package = package.rpartition(".")[0]
        return ""

    def storage(self, resolution: Resolution) -> str:
        """Say where instances store what a target seems to name on a class.

        Args:
            resolution: What the target was resolved to.

        Returns:
            Words for the report, such as "a member of an enum"; '' for an attribute of the class.
        """
        target = resolution.target
        if len(target.steps) < 2:  # a module, or a name of one
            is_of_torch = all(map(is_of_operator, resolution.variants))
            return OF_OPERATOR if is_of_torch else ""
        name = target.steps[-1]
        holder = self.resolve(target.holder)
        elsewhere = named_elsewhere(
            self.lookup, holder.variants, name, resolution.variants
        )
        if elsewhere or isinstance(name, Item):
            return elsewhere
        if name not in HOOKS and resolution.kind not in VALUES:
            return ""
        # The class of the target, and the bases that it inherits the name from. A value may also be
        # found in another class, as for `support = Support.ALWAYS`, which says nothing of this one.
        bases = {Target(base.module, base.qualname) for base in holder.bases}
        owners = {target.holder}
        for variant in resolution.variants:
            if variant.tree and variant.qualname:
                defining_class = Target(variant.module, variant.qualname).holder
                if holder.kind is not Kind.CLASS or defining_class in bases:
                    owners.add(defining_class)
        for owner in owners:
            storage = self._storage_in(owner, name, resolution.variants)
            if storage:
                return storage
        return ""

    def _storage_in(self, owner: Target, name: str, variants: Values) -> str:
        """Say where instances of one class store an attribute; '' for an attribute of the class."""
        for owner_variant in self.resolve(owner).variants:
            if not owner_variant.has_class_statement:
                continue
            for variant in variants:
                storage = instance_storage(self.lookup, owner_variant, name, variant)
                if storage:
                    return storage
        return ""

    def _follow(self, values: Values, step: TargetStep, *, is_last: bool) -> Values:
        """Follow one step of a target, an attribute or an item, from each value."""
        reached: list[Value] = []
        for value in values:
            if isinstance(step, Item):
                results = item_of(self.lookup, value, step, is_last=is_last)
            else:
                results = self.lookup.member(value, step)
            reached += [result.under(value.conditions) for result in results]
        return tuple(reached)

    def _with_operators(self, module: str, values: Values) -> Values:
        """Replace names below `torch.ops` by the functions that the operators run."""
        replaced: list[Value] = []
        for value in values:
            replaced += operator_values(self.lookup, module, value)
        return tuple(replaced)


def _described(value: Value) -> str:
    """Say what a target is in one variant, and under which conditions."""
    kind = str(value.kind) if value.state == "present" else value.state
    conditions = [condition.text for condition in value.conditions]
    text = f"{kind} if {' and '.join(conditions) or 'nothing else holds'}"
    if value.reason and value.state != "present":
        return f"{text} ({value.reason})"
    return text
