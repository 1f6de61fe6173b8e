"""Judges an AddField: its target has to be a dataclass that can get another field."""

from collections.abc import Iterator

from patchkit.analysis.check.calls import other_kind
from patchkit.analysis.check.findings import Fault, undecidable
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.classes import class_effects
from patchkit.analysis.upstream.resolving.code_kinds import method_of
from patchkit.analysis.upstream.resolving.field_calls import option_value
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.natures import Nature
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

_DATACLASS = "a dataclass or a pydantic dataclass"
_ELSEWHERE = "name a dataclass as the target"


def no_dataclass(
    place: Target, facts: Facts, release: CheckedRelease
) -> Iterator[Fault]:
    """Find that a target is no dataclass, or cannot get a field.

    Args:
        place: the target.
        facts: what the release says of it.
        release: the release.

    Yields:
        The fault, if there is one.
    """
    if facts.kind != Kind.CLASS and facts.nature != Nature.UNKNOWN:
        yield other_kind(place, facts, "a class", _ELSEWHERE)
        return
    if facts.kind != Kind.CLASS or not facts.is_sure:
        reason = facts.reason or f"the source does not tell what {place} is"
        yield undecidable(f"{reason}; an AddField needs {_DATACLASS}")
        return
    mark = release.facts(Target(place.module, f"{place.qualname}.__dataclass_fields__"))
    if mark.state == "absent":
        yield other_kind(place, facts, _DATACLASS, _ELSEWHERE)
    elif mark.state == "undecidable" and not _is_made_a_dataclass(place, release):
        yield undecidable(f"{mark.reason}; an AddField needs {_DATACLASS}")
    elif _has_slots(place, release):
        yield other_kind(place, facts, "a dataclass without slots", _ELSEWHERE)
    elif _has_no_generated_init(place, release):
        yield other_kind(
            place,
            facts,
            "a dataclass with the __init__ that it generates",
            "Wrap its __init__ instead",
        )


def may_have(facts: Facts) -> bool:
    """Whether a class may have a member, unless a decorator sets it, which might set any name.

    Args:
        facts: what the release says of the member.
    """
    return facts.state == "undecidable" and "the decorator @" not in facts.reason


def _is_made_a_dataclass(place: Target, release: CheckedRelease) -> bool:
    """Whether a decorator makes a class a dataclass."""
    lookup = release.resolver.lookup
    return any(
        bool(class_effects(lookup, variant).flavour)
        for variant in release.resolver.resolve(place).variants
        if variant.has_class_statement
    )


def _has_slots(place: Target, release: CheckedRelease) -> bool:
    """Whether a decorator keeps the fields of a class in slots."""
    lookup = release.resolver.lookup
    for variant in release.resolver.resolve(place).variants:
        if variant.has_class_statement:
            slots = class_effects(lookup, variant).options.get("slots")
            if slots is not None and option_value(slots):
                return True
    return False


def _has_no_generated_init(place: Target, release: CheckedRelease) -> bool:
    """Whether a standard dataclass has an `__init__` of its own, so that nobody passes a field."""
    lookup = release.resolver.lookup
    for variant in release.resolver.resolve(place).variants:
        if variant.has_class_statement and flavour(lookup, variant) == "dataclass":
            option = class_effects(lookup, variant).options.get("init")
            is_left_out = option is not None and option_value(option) is False
            if is_left_out or method_of(variant.class_statement, "__init__"):
                return True
    return False
