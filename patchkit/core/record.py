"""Classes that only hold values: what `dataclasses` makes, for what every start has to make.

`import dataclasses` brings `inspect`, `ast` and `tokenize` along, and compiles six methods for each
class: together half of what arming took. Here no code is compiled. Each class gets an `__init__`
with parameters of its own, so that Python itself reads the arguments and words the errors; all else
is inherited.

To everybody else these are dataclasses: `dataclasses.fields`, `replace` and `asdict` work, and so
do `copy.replace`, pickle and `match`. That module is imported when it is asked for the first time.
"""

from __future__ import annotations

from functools import cache
from reprlib import recursive_repr
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import Field

    from typing_extensions import Self, dataclass_transform
else:  # type checkers alone need it

    def dataclass_transform(**_: object) -> Any:  # noqa: D103
        return lambda cls: cls


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_REQUIRED = object()


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """List the values of each key; both in the order in which they come."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


class _Made:
    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def __repr__(self) -> str:
        return "<factory>"


def field(*, default_factory: Callable[[], _Value]) -> _Value:
    """Declare a field whose default is made anew for each object."""
    return cast("_Value", _Made(default_factory))


class _Asked:
    """What dataclasses have; made when somebody asks."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, cls: type[Record]) -> Any:
        return getattr(_twin(cast("Any", cls)), self._name)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """Holds the values of the fields that its subclass annotates; two are equal where these are.

    Args of a subclass, `class Point(Record, eq=False)`:
        frozen: nothing can be assigned; it has a hash if it is compared.
        kw_only: the fields of this class, not of others, are given by keyword.
        eq: compared by values, not by identity.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = cast("Any", _Asked())
    __dataclass_params__: ClassVar[Any] = _Asked()

    # By name: the annotation, the default, whether it is given by keyword only.
    _declared: ClassVar[dict[str, tuple[Any, Any, bool]]] = {}
    _made: ClassVar[tuple[tuple[str, _Made], ...]] = ()

    def __init_subclass__(
        cls, *, frozen: bool = True, kw_only: bool = False, eq: bool = True
    ) -> None:
        super().__init_subclass__()
        cls._declared = _declared(cls, kw_only=kw_only)
        defaults = ((name, default) for name, (_, default, _) in cls._declared.items())
        cls._made = tuple(pair for pair in defaults if isinstance(pair[1], _Made))
        if "__match_args__" not in vars(cls):
            cls.__match_args__ = _names(cls, kw_only=False)  # type: ignore[misc]
        if "__init__" not in vars(cls):
            cls.__init__ = _init_of(cls)  # type: ignore[method-assign]
        _unlike(cls, frozen=frozen, eq=eq)

    def __post_init__(self) -> None:
        """Do what is left once all values are there."""

    @recursive_repr()
    def __repr__(self) -> str:
        pairs = zip(self._declared, self._values(), strict=True)
        fields = ", ".join([f"{name}={value!r}" for name, value in pairs])
        return f"{type(self).__qualname__}({fields})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == cast("Self", other)._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: object) -> None:
        _refuse("assign to", name)

    def __delattr__(self, name: str) -> None:
        _refuse("delete", name)

    def __replace__(self, **changes: Any) -> Self:
        """Serve `copy.replace`."""
        return type(self)(**{**dict(zip(self._declared, self._values(), strict=True)), **changes})

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._declared])

    def _complete(self) -> None:
        held = self.__dict__
        for name, made in self._made:
            if held[name] is made:
                held[name] = made.make()
        self.__post_init__()


def _declared(cls: type[Record], *, kw_only: bool) -> dict[str, tuple[Any, Any, bool]]:
    fields: dict[str, tuple[Any, Any, bool]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= vars(base).get("_declared", {})
    for name, kind in cls.__annotations__.items():
        if "ClassVar[" not in str(kind):
            fields[name] = (kind, default := getattr(cls, name, _REQUIRED), kw_only)
            if isinstance(default, _Made):
                delattr(cls, name)
    return fields


def _names(cls: type[Record], *, kw_only: bool) -> tuple[str, ...]:
    return tuple([name for name, one in cls._declared.items() if one[2] is kw_only])


# `locals()` are the parameters of the class that has this code: its fields, as they were given.
def _keep(self: Record) -> None:
    self.__dict__.update(locals())
    del self.__dict__["self"]
    self._complete()


def _init_of(cls: type[Record]) -> Any:
    by_place, by_name = _names(cls, kw_only=False), _names(cls, kw_only=True)
    code = _keep.__code__.replace(
        co_name="__init__",
        co_argcount=1 + len(by_place),
        co_kwonlyargcount=len(by_name),
        co_nlocals=1 + len(cls._declared),
        co_varnames=("self", *by_place, *by_name),
    )
    last, by_keyword = _defaults(cls, by_place), _defaults(cls, by_name)
    if [*last] != [*by_place[len(by_place) - len(last) :]]:
        raise TypeError(f"{cls.__qualname__}: a field without default follows one that has it")
    made = FunctionType(code, globals(), "__init__", tuple(last.values()))
    made.__kwdefaults__, made.__qualname__ = by_keyword, f"{cls.__qualname__}.__init__"
    kinds: dict[str, Any] = {name: kind for name, (kind, *_) in cls._declared.items()}
    made.__annotations__ = {**kinds, "return": None}
    return made


def _defaults(cls: type[Record], names: tuple[str, ...]) -> dict[str, Any]:
    defaults = {name: cls._declared[name][1] for name in names}
    return {name: default for name, default in defaults.items() if default is not _REQUIRED}


def _unlike(cls: Any, *, frozen: bool, eq: bool) -> None:
    """Take from a class what it does not want of that which all inherit."""
    if not frozen:
        cls.__setattr__, cls.__delattr__ = object.__setattr__, object.__delattr__
    if not eq:
        cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__
    elif not frozen:
        cls.__hash__ = None


def _refuse(what: str, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - only on the way to an error

    raise FrozenInstanceError(f"cannot {what} field {name!r}")


@cache
def _twin(cls: Any) -> type:
    import dataclasses  # noqa: PLC0415 - no start pays for it

    def field_of(default: Any, kw_only: bool) -> Any:
        if isinstance(default, _Made):
            return dataclasses.field(default_factory=default.make, kw_only=kw_only)
        given = dataclasses.MISSING if default is _REQUIRED else default
        return dataclasses.field(default=given, kw_only=kw_only)

    fields = [(name, kind, field_of(*more)) for name, (kind, *more) in cls._declared.items()]
    frozen = cls.__setattr__ is not object.__setattr__
    return dataclasses.make_dataclass(
        cls.__name__, fields, frozen=frozen, eq=cls.__eq__ is not object.__eq__
    )
