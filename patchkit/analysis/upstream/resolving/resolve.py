"""From a target to what it is in a release, without running any of it; nothing is guessed."""

from copy import copy
from functools import cached_property

from patchkit.analysis.upstream.reading.files import Files, ParsedFiles, ReleaseSource
from patchkit.analysis.upstream.resolving import fields
from patchkit.analysis.upstream.resolving.classes import mro
from patchkit.analysis.upstream.resolving.constructors import call_signature
from patchkit.analysis.upstream.resolving.deciding import Platform
from patchkit.analysis.upstream.resolving.literals import item_of
from patchkit.analysis.upstream.resolving.module_tree import Modules, lines_of
from patchkit.analysis.upstream.resolving.release_lookup import ReleaseLookup
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, State, Value, Values
from patchkit.analysis.upstream.resolving.wrapped import WrappedCode, operator_values, wrapped_by
from patchkit.core.rows.target import Item, Step, Target


class Resolution:
    """What a target is in one release, each way of binding it a variant, the usual one first."""

    def __init__(self, target: Target, variants: Values, lookup: Lookup) -> None:
        self.target = target
        self.variants = variants
        self._lookup = lookup
        self._first = usual = variants[0]
        self.kind = usual.kind
        self.module, self.qualname = usual.module, usual.qualname
        """Where it is defined, after re-exports, aliases and inheritance."""
        self.path = usual.tree.path if usual.tree else ""
        """The file that defines it; '' where none does."""
        self.nodes = usual.nodes
        """What defines it: a statement, with those that shape it further."""

    def __repr__(self) -> str:
        what = self.kind if self.state == "present" else self.reason
        return f"<Resolution {self.target}: {self.state}, {what}>"

    @cached_property
    def state(self) -> State:
        """Whether it is there, on every way on which its module can be imported."""
        states = {variant.state for variant in self._deciding}
        return states.pop() if len(states) == 1 else "undecidable"

    @property
    def is_sure(self) -> bool:
        """Whether kind and signature are those of every variant, and are told."""
        return self.state == "present" and all(
            variant.is_sure
            and (variant.kind, variant.dotted) == (self._first.kind, self._first.dotted)
            for variant in self._deciding
        )

    @property
    def reason(self) -> str:
        """Why it is absent, undecidable or not sure; '' where nothing is to be said."""
        if len(self.variants) == 1:
            is_made = self.kind is Kind.ASSIGNMENT and not self._first.is_sure
            return self._first.reason or ("code makes what it is assigned" if is_made else "")
        return "; ".join(dict.fromkeys(_way(variant) for variant in self.variants))

    @property
    def defined(self) -> Target | None:
        """Where it is defined, as a target; None where that is unknown, or more than one place."""
        places = {(variant.module, variant.qualname) for variant in self._deciding}
        return Target(self.module, self.qualname) if self.module and len(places) == 1 else None

    @property
    def lines(self) -> tuple[int, int] | None:
        """The first and last line of its definition, decorators included."""
        return lines_of(self.nodes[:1])

    @cached_property
    def wrapped(self) -> tuple[tuple[WrappedCode, ...], ...]:
        """For each variant what defines the code that it runs beside its own."""
        return tuple(tuple(wrapped_by(self._lookup, variant)) for variant in self.variants)

    @cached_property
    def bases(self) -> tuple[Value, ...]:
        """The classes of the release that a class derives from, nearest first."""
        own = mro(self._lookup, self._first) if self._first.classes else ()
        return tuple(base for base in own[1:] if base.classes)

    @cached_property
    def source(self) -> str:
        """The text of its definition, decorators included; '' where there is none."""
        if self._first.tree is None or self.lines is None:
            return ""
        first, last = self.lines
        text = self._first.tree.source.decode(errors="replace").splitlines(keepends=True)
        return "".join(text[first - 1 : last])

    @cached_property
    def signature(self) -> Signature | None:
        """How it can be called, a class included; None where that is not told."""
        if not self.is_sure:
            return None
        called = {call_signature(self._lookup, variant) for variant in self._deciding}
        return called.pop() if len(called) == 1 else None

    @cached_property
    def _deciding(self) -> tuple[Value, ...]:
        return (
            tuple(variant for variant in self.variants if not variant.is_import_fallback)
            or self.variants
        )


class Resolver:
    """Resolves targets in one release, for one Python and one `sys.platform`."""

    def __init__(
        self,
        source: ReleaseSource,
        *,
        python: tuple[int, int] = (3, 11),
        system: str = "linux",
        parsed: ParsedFiles | None = None,  # keeps the parsed files of other releases as well
    ) -> None:
        self.source = source
        self.modules = Modules(Files(source, shared=parsed))
        self.lookup = ReleaseLookup(self.modules, Platform(python, system))

    def afresh(self) -> "Resolver":
        """Begin anew, as if nothing had been asked: files stay parsed, conclusions go."""
        resolver = copy(self)
        resolver.modules = Modules(self.modules.files)
        resolver.lookup = ReleaseLookup(resolver.modules, self.lookup.platform)
        return resolver

    def resolve(self, target: Target) -> Resolution:
        """Tell what a target is; raises UpstreamError where the release cannot be read."""
        values: Values = (self.lookup.module(target.module),)
        steps = target.steps
        for at, step in enumerate(steps, start=1):
            values = tuple(
                found.under(value.conditions)
                for value in values
                for found in self._step(value, step, is_last=at == len(steps))
            )
        if len(steps) > 3 and not isinstance(steps[-1], Item):
            values = tuple(
                found
                for value in values
                for found in operator_values(self.lookup, target.module, value)
            )
        # What is there first, and stand-ins last.
        order = sorted(
            _distinct(values), key=lambda one: (one.is_import_fallback, one.state != "present")
        )
        return Resolution(target, tuple(order), self.lookup)

    def storage(self, found: Resolution) -> str:
        """Say where that is kept which a target names on a class; '' where it lies on the class."""
        place = found.target
        *around, name = place.steps or ("",)
        if not around or isinstance(name, Item):
            return ""
        if name not in fields.HOOKS and found.kind not in fields.VALUES:
            return ""
        inherited = (one for one in found.variants if one.tree and one.qualname)
        owners = {place.holder, *(Target(one.module, one.qualname).holder for one in inherited)}
        words = (
            fields.instance_storage(self.lookup, one, name, value)
            for owner in owners
            for one in self.resolve(owner).variants
            if one.classes
            for value in found.variants
        )
        return next(filter(None, words), "")

    def _step(self, value: Value, step: Step, *, is_last: bool) -> Values:
        if isinstance(step, Item):
            return item_of(self.lookup, value, step, is_last=is_last)
        return self.lookup.member(value, step)


def _distinct(values: Values) -> Values:
    kept: dict[object, Value] = {}
    for value in values:
        place = (value.state, value.kind, value.module, value.qualname, value.dotted)
        nodes = tuple(id(node) for node in value.nodes)
        kept.setdefault((place, nodes or value.reason), value)
    return tuple(kept.values())


def _way(value: Value) -> str:
    what = str(value.kind) if value.state == "present" else value.state
    conditions = " and ".join(one.text for one in value.conditions) or "nothing else holds"
    text = f"{what} if {conditions}"
    return f"{text} ({value.reason})" if value.reason and value.state != "present" else text
