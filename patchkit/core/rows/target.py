"""Parses targets: `module:qualname`, or with items of containers, `module:TABLE['key'].run`."""

import re
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from patchkit.core.record import Record

_STEP = r"\.?(?P<name>[^\W\d]\w*)|\[(?P<item>[^\]]+)\]"
"""One step of a qualname: `TABLE` or `.run`, a name; `['key']`, an item."""


class Item(NamedTuple):
    """An item of a container, as the last or a middle step of a qualname.

    Args:
        key: The key of a mapping, or the index of a list.
    """

    key: object

    def __str__(self) -> str:
        return f"[{self.key!r}]"


TargetStep = str | Item
_LONGEST = 2_000
"""Characters of the longest target; no code has one of 200."""

_OF_TYPES = (
    r"__(call|init|new|del|repr|str|bytes|format|hash|bool|dir|sizeof|copy|fspath"
    r"|get|set|delete|set_name|getattr|getattribute|setattr|delattr|instancecheck|subclasscheck"
    r"|len|length_hint|getitem|setitem|delitem|missing|contains|reversed"
    r"|a?iter|a?next|a?enter|a?exit|await|lt|le|eq|ne|gt|ge"
    r"|[ir]?(add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|lshift|rshift|and|xor|or)"
    r"|neg|pos|abs|invert|complex|int|float|index|round|trunc|floor|ceil)__"
)
"""Matches methods that Python looks up on the type of an object, and never on the object itself."""


class Target(Record):
    """A module, or something in it; as text, `pkg.table:ROWS['key'][0]`.

    Args:
        module: The dotted name of the module.
        qualname: The dotted name in it, with items of containers; '' for the module itself.
    """

    module: str
    qualname: str = ""

    @classmethod
    @lru_cache(maxsize=4096)  # `Change.place` parses at every access
    def parse(cls, text: str) -> "Target":
        """Read a target.

        Args:
            text: `module:qualname` or `module`.

        Returns:
            The target.

        Raises:
            ValueError: The text is neither, or too long to be one.
        """
        module, colon, qualname = text.partition(":")
        if len(text) > _LONGEST:
            raise ValueError(f"a target of {len(text):,} characters")
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(text)
        if colon:
            steps_of(qualname)  # raises if it is malformed
        return cls(module, qualname)

    # Both are faster than Record's: targets are the keys of the facts of each release, and a check
    # of a thousand rows looks a million of them up.
    def __hash__(self) -> int:
        return hash((self.module, self.qualname))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target):
            return NotImplemented
        return self.qualname == other.qualname and self.module == other.module

    @property
    def steps(self) -> tuple[TargetStep, ...]:
        """The steps of the qualname: names and items; () for a module."""
        if not self.qualname:
            return ()
        return steps_of(self.qualname)

    @property
    def holder(self) -> "Target":
        """The target of which this is an attribute or item: `m:C` for `m:C.f`, `m` for `m:C`."""
        outer = self.steps[:-1]
        qualname = ""
        for step in outer:
            dot = "." if qualname and not isinstance(step, Item) else ""
            qualname += f"{dot}{step}"
        return Target(self.module, qualname)

    def __str__(self) -> str:
        if not self.qualname:
            return self.module
        return f"{self.module}:{self.qualname}"


def is_attribute(text: str) -> bool:
    """Whether a text is the target of an attribute: `module:qualname`.

    Args:
        text: The text.
    """
    try:
        return bool(Target.parse(text).qualname)
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def steps_of(qualname: str) -> tuple[TargetStep, ...]:
    """Split a qualname: `C.run` into `C` and `run`, `TABLE['key']` into `TABLE` and `Item('key')`.

    Args:
        qualname: A dotted name, with items of containers.

    Returns:
        The names and items.

    Raises:
        ValueError: The text is no qualname.
    """
    if "[" not in qualname:
        # Interned, as the names in compiled code are: a name that is set as an attribute again and
        # again stays one string.
        names = tuple(map(intern, qualname.split(".")))
        if not all(name.isidentifier() for name in names):
            raise ValueError(qualname)
        return names
    return tuple(_parse_items(qualname))


def _parse_items(qualname: str) -> list[TargetStep]:
    """Split a qualname with items; ValueError if it is malformed."""
    pattern = re.compile(_STEP)
    steps: list[TargetStep] = []
    start = 0
    while start < len(qualname):
        match = pattern.match(qualname, start)
        if match is None:
            raise ValueError(qualname)
        # The first step is a bare name, each further one begins with a dot or a bracket.
        is_first = start == 0
        is_connected = match[0].startswith(("[", "."))
        if is_connected is is_first:
            raise ValueError(qualname)
        if match["item"] is None:
            steps.append(match["name"])
        else:
            steps.append(_parse_item(qualname, match["item"]))
        start = match.end()
    return steps


def _parse_item(qualname: str, text: str) -> Item:
    """Read the key between brackets, a literal; ValueError if it is none."""
    from ast import literal_eval  # noqa: PLC0415 - few rows name an item, and it takes 5 ms

    try:
        key = literal_eval(text)
        hash(key)
        is_written_back = "]" not in repr(key) and literal_eval(repr(key)) == key
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(qualname) from error
    if not is_written_back:  # such as `...`, which `str` writes as a name
        raise ValueError(qualname)
    return Item(key)


def is_looked_up_on_type(name: str) -> bool:
    """Whether Python looks a method up on the type of an object, and never on the object itself.

    Args:
        name: The name of the method, such as `__call__`.
    """
    return re.fullmatch(_OF_TYPES, name) is not None
