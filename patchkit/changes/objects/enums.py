"""
Members of an enum: put in, taken out, and given another value, in place.

The class stays the same one, and so do its other members. What Python keeps for look-ups by name
and by value, for iteration and for the bits of a Flag is kept in step.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from patchkit.changes.objects.facades import Facade
from patchkit.errors import TargetError
from patchkit.target import Item

if TYPE_CHECKING:
    from patchkit.changes.resolve import Location

_BITS = ("_flag_mask_", "_singles_mask_", "_all_bits_")


def member_name(location: Location) -> str | None:
    """Return the member that a location names (`Color.RED`, `Color['RED']`), or None."""
    name = location.name.key if isinstance(location.name, Item) else location.name
    if not isinstance(location.owner, enum.EnumMeta) or not isinstance(name, str):
        return None
    known: dict[str, Any] = location.owner._member_map_
    return name if isinstance(location.name, Item) or name in known else None


def becomes_member(location: Location, value: Any) -> bool:
    """Whether an enum makes a member of this value under this name."""
    name = location.name.key if isinstance(location.name, Item) else location.name
    if not isinstance(location.owner, enum.EnumMeta) or not isinstance(name, str):
        return False
    return not (name.startswith("_") or hasattr(type(value), "__get__"))


class Members(Facade):
    """The members of an enum by name, aliases included."""

    def __init__(self, owner: enum.EnumMeta) -> None:
        super().__init__(owner, owner.__qualname__)
        self._displaced: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self.thing._member_map_[name]

    def __setitem__(self, name: str, member: Any) -> None:
        bits = _bits(self.thing)
        if name in self.thing._member_map_:
            self._swap(self[name], member)
        else:
            self._add(name, member)
        _count_bits(self.thing, bits)

    def __delitem__(self, name: str) -> None:
        owner, member, bits = self.thing, self[name], _bits(self.thing)
        if name in vars(owner):
            type.__delattr__(owner, name)
        if member._name_ == name:
            owner._member_names_.remove(name)
            _forget_value(owner, member)
        del owner._member_map_[name]
        _count_bits(owner, bits)
        if name in self._displaced:
            _note_value(owner, self._displaced.pop(name))

    def _add(self, name: str, member: Any) -> None:
        owner = self.thing
        if member._name_ == name:  # else it is an alias
            composite = _by_value(owner, member._value_)
            if composite is not None:
                self._displaced[name] = composite
            member._sort_order_ = len(owner._member_names_)
            owner._member_names_.append(name)
            _note_value(owner, member)
        owner._member_map_[name] = member
        type.__setattr__(owner, name, member)

    def _swap(self, old: Any, new: Any) -> None:
        owner = self.thing
        for name, member in owner._member_map_.items():
            if member is old:
                owner._member_map_[name] = new
                if vars(owner).get(name) is old:
                    type.__setattr__(owner, name, new)
        _forget_value(owner, old)
        _note_value(owner, new)


class Values(Facade):
    """The values of an enum's members by name."""

    def __init__(self, owner: enum.EnumMeta) -> None:
        super().__init__(owner, f"{owner.__qualname__} values")

    def __getitem__(self, name: str) -> Any:
        return self.thing._member_map_[name]._value_

    def __setitem__(self, name: str, value: Any) -> None:
        owner, member = self.thing, self.thing._member_map_[name]
        bits = _bits(owner)
        _forget_value(owner, member)
        member._value_ = value
        _note_value(owner, member)
        _count_bits(owner, bits)


def new_member(owner: enum.EnumMeta, name: str, value: Any) -> Any:
    """
    Make a member as the class's own body would, or find the one that the name becomes an alias of.

    Raises:
        TargetError: the enum takes no such value.

    """
    member = _built(owner, name, value)
    known = (one for one in owner._member_map_.values() if one._value_ == member._value_)
    return next(known, member)


def changed_member(owner: Any, name: str, value: Any, *, anew: bool) -> tuple[Facade, Any]:
    """
    Say how a member gets another value: which facade's item becomes what.

    Args:
        owner: the enum.
        name: the member.
        value: the new value.
        anew: allow a new object in the member's place.

    Raises:
        TargetError: it cannot have it, or not in place.

    """
    member = owner._member_map_[name]
    if member._name_ != name:
        raise TargetError(f"{name} is another name of {member!r}; name {member._name_}")
    built = _built(owner, name, value)
    for other in owner._member_map_.values():
        if other is not member and other._value_ == built._value_:
            raise TargetError(f"{other!r} has the value {built._value_!r}")
    if _is_kept_in_place(owner):
        return Values(owner), built._value_
    if not anew:
        raise TargetError(
            f"{member!r} is made from its value ({owner._member_type_.__name__}, or a constructor "
            "of its own), so it cannot stay the same object; unrelated=True puts a new one in its "
            "place, and who holds the old one keeps it"
        )
    built._sort_order_ = getattr(member, "_sort_order_", 0)
    return Members(owner), built


def _built(owner: Any, name: str, value: Any) -> Any:
    if isinstance(value, enum.auto):
        value = _next_value(owner, name)
    try:
        member = _made(owner, value)
    except Exception as error:
        raise TargetError(f"{owner.__qualname__} takes no value {value!r}: {error}") from error
    member._name_ = name
    member.__objclass__ = owner
    return member


def _is_kept_in_place(owner: Any) -> bool:
    """Whether nothing in a member but its value depends on that."""
    plain = getattr(enum.Enum, "__init__", object.__init__)
    return owner._member_type_ is object and owner.__init__ is plain and not _constructor(owner)[1]


def _next_value(owner: Any, name: str) -> Any:
    last = [owner._member_map_[one]._value_ for one in owner._member_names_]
    return owner._generate_next_value_(name, 1, len(last), last)


def _made(owner: Any, value: Any) -> Any:
    kind = owner._member_type_
    args = value if isinstance(value, tuple) else (value,)
    if kind is tuple:
        args = (args,)
    new, takes_value = _constructor(owner)
    member = new(owner, *args) if takes_value else new(owner)
    if not hasattr(member, "_value_"):
        member._value_ = value if kind is object else kind(*args)
    member.__init__(*args)
    return member


def _constructor(owner: Any) -> tuple[Any, bool]:
    """The class's `__new__` before Enum put its look-up in its place, and whether it takes args."""
    if hasattr(owner, "_use_args_"):
        return owner._new_member_, owner._use_args_
    new = getattr(owner, "__new_member__", None)  # Python 3.10
    if new in (None, getattr(enum.Enum, "__new_member__", None)):
        new = owner._member_type_.__new__
    return new, new is not object.__new__


def _by_value(owner: Any, value: Any) -> Any:
    try:
        return owner._value2member_map_.get(value)
    except TypeError:
        return None


def _note_value(owner: Any, member: Any) -> None:
    value = member._value_
    try:
        owner._value2member_map_[value] = member
    except TypeError:  # of a list or dict, which Python looks for one by one
        for values in _unhashable(owner, member):
            values.append(value)
        return
    for values in _listed(owner):
        values.append(value)


def _forget_value(owner: Any, member: Any) -> None:
    value = member._value_
    try:
        if owner._value2member_map_.get(value) is member:
            del owner._value2member_map_[value]
    except TypeError:
        for values in _unhashable(owner, member):
            values.remove(value)
        if not getattr(owner, "_unhashable_values_map_", {}).get(member._name_, True):
            del owner._unhashable_values_map_[member._name_]
        return
    for values in _listed(owner):
        if value in values:
            values.remove(value)


def _unhashable(owner: Any, member: Any) -> list[list[Any]]:
    """The lists of values that cannot be keys; which there are depends on the Python."""
    found = [owner._unhashable_values_] if hasattr(owner, "_unhashable_values_") else []
    if hasattr(owner, "_unhashable_values_map_"):
        found.append(owner._unhashable_values_map_.setdefault(member._name_, []))
    return found


def _listed(owner: Any) -> list[list[Any]]:
    return [owner._hashable_values_] if hasattr(owner, "_hashable_values_") else []


def _bits(owner: Any) -> int:
    if not issubclass(owner, enum.Flag):
        return 0
    total = 0
    for member in owner._member_map_.values():
        total |= member._value_
    return total


def _count_bits(owner: Any, before: int) -> None:
    """Have a Flag know its bits, and forget combinations of bits that have come or gone."""
    if not issubclass(owner, enum.Flag):
        return
    total, single = _bits(owner), 0
    for member in owner._member_map_.values():
        single |= member._value_ if member._value_ & (member._value_ - 1) == 0 else 0
    for name, bits in zip(_BITS, (total, single, 2 ** total.bit_length() - 1), strict=True):
        if hasattr(owner, name):  # from Python 3.11 on
            type.__setattr__(owner, name, bits)
    _forget_combinations(owner, before ^ total)


def _forget_combinations(owner: Any, changed: int) -> None:
    named = {id(member) for member in owner._member_map_.values()}
    for value, member in list(owner._value2member_map_.items()):
        if id(member) not in named and (value < 0 or value & changed):
            del owner._value2member_map_[value]
        elif hasattr(owner, "_inverted_"):
            member._inverted_ = None
