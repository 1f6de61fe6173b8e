"""The base of classes that only hold values: a faster `dataclass` for what every start loads.

`import dataclasses` imports `inspect`, `ast` and `tokenize`, and compiles six methods for each
class: together half the time of arming. Here no code is compiled. Each class gets an `__init__`
with its fields as parameters, so that Python itself binds arguments and reports errors; the other
methods are inherited.

To other code these are dataclasses: `dataclasses.fields`, `replace` and `asdict` work, and so do
`copy.replace`, pickle and `match`. `dataclasses` is imported when such code first needs it.
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

    # The annotation, the default, whether it is given by keyword only.
    _Declared = tuple[Any, Any, bool]
    _Fields = dict[str, _Declared]
else:  # type checkers alone need it

    def dataclass_transform(**_: object) -> Any:  # noqa: D103
        return lambda cls: cls


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_REQUIRED = object()


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Group values by key.

    Args:
        pairs: A key and a value each.

    Returns:
        The values of each key; keys and values are in the order in which they come.
    """
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class _Factory:
    """The default of a field that is made anew for each object."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def __repr__(self) -> str:
        return "<factory>"


def field(*, default_factory: Callable[[], _Value]) -> _Value:
    """Declare a field whose default is made anew for each object.

    Args:
        default_factory: Makes the default; it is called without arguments.

    Returns:
        What the field is to be assigned in the body of its class.
    """
    return cast("_Value", _Factory(default_factory))


class _DataclassAttribute:
    """A descriptor for what `dataclasses` reads of a class: `__dataclass_fields__` and the like.

    The value is that of a real dataclass with the same fields, which is made when it is first read.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, cls: type[Record]) -> Any:
        twin = _twin(cast("Any", cls))
        return getattr(twin, self._name)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """An object with the fields that its class annotates; two with equal values are equal.

    Args of a subclass, as in `class Point(Record, eq=False)`:
        frozen: Whether assignments are refused; if not, and `eq` is set, objects have no hash.
        kw_only: Whether the fields of this class (not those of its bases) are passed by keyword.
        eq: Whether objects are compared by values, or else by identity.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]] = cast(
        "Any", _DataclassAttribute()
    )
    __dataclass_params__: ClassVar[Any] = _DataclassAttribute()

    _declared: ClassVar[_Fields] = {}  # by name
    _factories: ClassVar[tuple[tuple[str, _Factory], ...]] = ()

    def __init_subclass__(
        cls, *, frozen: bool = True, kw_only: bool = False, eq: bool = True
    ) -> None:
        """Make a subclass what `@dataclass` would make it, with an `__init__` for its fields.

        The other methods are inherited from here; those that its options switch off are taken away.
        """
        super().__init_subclass__()
        cls._declared = _fields_of(cls, kw_only=kw_only)
        factories: list[tuple[str, _Factory]] = []
        for name, (_annotation, default, _is_kw_only) in cls._declared.items():
            if isinstance(default, _Factory):
                factories.append((name, default))
        cls._factories = tuple(factories)
        # A class may bring one of these two itself.
        if "__match_args__" not in vars(cls):
            cls.__match_args__ = _names(cls, kw_only=False)  # type: ignore[misc]
        if "__init__" not in vars(cls):
            cls.__init__ = _init_of(cls)  # type: ignore[method-assign]
        _drop_disabled(cls, frozen=frozen, eq=eq)

    def __post_init__(self) -> None:
        """Do what a subclass has to do once all values are there."""

    @recursive_repr()
    def __repr__(self) -> str:
        pairs = zip(self._declared, self._values(), strict=True)
        fields = [f"{name}={value!r}" for name, value in pairs]
        arguments = ", ".join(fields)
        kind = type(self).__qualname__
        return f"{kind}({arguments})"

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
        """Make a copy with other values of some fields, for `copy.replace`."""
        pairs = zip(self._declared, self._values(), strict=True)
        values = dict(pairs)
        values.update(changes)
        cls = type(self)
        return cls(**values)

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._declared])

    def _complete(self) -> None:
        """Replace each factory that came as a default by a new value, as `__init__` ends."""
        values = self.__dict__
        for name, factory in self._factories:
            if values[name] is factory:  # the caller has passed no value
                values[name] = factory.make()
        self.__post_init__()


def _fields_of(cls: type[Record], *, kw_only: bool) -> _Fields:
    """Read the fields of a class and its bases, and remove defaults that are factories from it.

    An object that lacks the attribute would else find the factory in its class, as if it were a
    value.
    """
    fields: _Fields = {}
    # The nearest base comes first. It is read last, so that its fields replace those of others.
    bases = cls.__mro__[1:]
    for base in reversed(bases):
        attributes = vars(base)
        fields |= attributes.get("_declared", {})
    for name, kind in cls.__annotations__.items():
        if "ClassVar[" in str(kind):
            continue  # no field, as in a dataclass
        default = getattr(cls, name, _REQUIRED)
        fields[name] = (kind, default, kw_only)
        if isinstance(default, _Factory):
            delattr(cls, name)
    return fields


def _names(cls: type[Record], *, kw_only: bool) -> tuple[str, ...]:
    """Return the names of the fields that are keyword-only, or of those that are not."""
    names = []
    for name, declared in cls._declared.items():
        _annotation, _default, is_kw_only = declared
        if is_kw_only is kw_only:
            names.append(name)
    return tuple(names)


def _keep_parameters(self: Record) -> None:
    """Set all parameters as attributes: the code of every `__init__`, which `_init_of` copies.

    In the copy the parameters are the fields of a class, so `locals()` has the value of each.
    """
    self.__dict__.update(locals())
    del self.__dict__["self"]
    self._complete()


def _init_of(cls: type[Record]) -> Any:
    """Make the `__init__` of a class, with its fields as parameters.

    Its code is that of `_keep_parameters`, which sets whatever parameters it has (`locals()`) as
    attributes. So a copy of that code with other names of parameters is all that is needed.

    Raises:
        TypeError: A field without a default follows one that has a default.
    """
    positional = _names(cls, kw_only=False)
    by_keyword = _names(cls, kw_only=True)
    parameters = ("self", *positional, *by_keyword)
    code = _keep_parameters.__code__.replace(
        co_name="__init__",
        co_argcount=1 + len(positional),  # `self` is the one
        co_kwonlyargcount=len(by_keyword),
        co_nlocals=1 + len(cls._declared),
        co_varnames=parameters,
    )
    # Python takes `argdefs` for the defaults of the last parameters. So all that come before those
    # have to be fields without a default.
    defaults = _defaults(cls, positional)
    required_count = len(positional) - len(defaults)
    leading = positional[:required_count]
    if any(name in defaults for name in leading):
        raise TypeError(
            f"{cls.__qualname__}: a field without default follows one that has it"
        )
    init = FunctionType(
        code,
        globals(),
        name="__init__",
        argdefs=tuple(defaults.values()),
    )
    init.__kwdefaults__ = _defaults(cls, by_keyword)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    annotations: dict[str, Any] = {}
    for name, declared in cls._declared.items():
        annotation, _default, _is_kw_only = declared
        annotations[name] = annotation
    annotations["return"] = None
    init.__annotations__ = annotations
    return init


def _defaults(cls: type[Record], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the defaults of fields by name; a field without a default is left out."""
    defaults = {}
    for name in names:
        _annotation, default, _is_kw_only = cls._declared[name]
        if default is not _REQUIRED:
            defaults[name] = default
    return defaults


def _drop_disabled(cls: Any, *, frozen: bool, eq: bool) -> None:
    """Undo what a class inherits and its own options switch off: being frozen, and equality.

    A class that can change, and is compared by its values, has no hash.
    """
    if not frozen:
        cls.__setattr__ = object.__setattr__
        cls.__delattr__ = object.__delattr__
    if not eq:
        cls.__eq__ = object.__eq__
        cls.__hash__ = object.__hash__
    elif not frozen:
        cls.__hash__ = None


def _refuse(action: str, name: str) -> NoReturn:
    """Raise the error that a frozen dataclass raises."""
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - only on the way to an error

    raise FrozenInstanceError(f"cannot {action} field {name!r}")


@cache
def _twin(cls: Any) -> type:
    """Make the real dataclass with the fields and options of a Record, for `dataclasses`."""
    import dataclasses  # noqa: PLC0415 - no start pays for it

    fields = []
    for name, (kind, default, kw_only) in cls._declared.items():
        if isinstance(default, _Factory):
            declared = dataclasses.field(default_factory=default.make, kw_only=kw_only)
        elif default is _REQUIRED:
            declared = dataclasses.field(kw_only=kw_only)
        else:
            declared = dataclasses.field(default=default, kw_only=kw_only)
        fields.append((name, kind, declared))
    # `_drop_disabled` has put these methods of `object` where the options are off.
    frozen = cls.__setattr__ is not object.__setattr__
    eq = cls.__eq__ is not object.__eq__
    return dataclasses.make_dataclass(
        cls.__name__,
        fields,
        frozen=frozen,
        eq=eq,
    )
