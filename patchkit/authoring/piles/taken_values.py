"""Writes rows of what a call of a pile's function sets: the call is made, and its values are taken.

A pile is a package that patches upstream. What one of its functions sets may have no name that a
row could give. A body calls the function, puts back what was there before, and has the values;
each becomes a change of its own, which can be ordered, checked, left out and undone like others.
"""

import re
from collections.abc import Iterable, Sequence

from patchkit.authoring.piles.observed import ObservedChange
from patchkit.authoring.piles.row_names import unused
from patchkit.core.rows.declaration import Add, Change, Decorate, Replace
from patchkit.core.rows.target import Item, Target

TAKEN_MODULE = "code_taken"
TAKEN_TEXT = '''\
"""Calls functions of the pile, and keeps what they set, for rows to set it."""

from importlib import import_module

MISSING = object()


class Taken:
    """What a function sets.

    Args:
        function: The function.
        places: By name, what it sets: a module and the way to an attribute, or, in a list, to an
            item.
    """

    def __init__(self, function, places):
        self.function = getattr(function, "adopted", function)
        self.places = places
        self.returned = None
        self.before, self.values = self.run({})

    def run(self, given):
        """Call the function, put back what was there before, and return both.

        Args:
            given: By name, other originals than those that are there.
        """
        owners = {name: owner_of(place) for name, place in self.places.items()}
        before = {name: get(owners[name], place[-1]) for name, place in self.places.items()}
        start = before | given
        try:
            for name, value in given.items():
                put(owners[name], self.places[name][-1], value)
            self.returned = self.function()
            now = {name: get(owners[name], place[-1]) for name, place in self.places.items()}
        finally:
            for name, value in before.items():
                put(owners[name], self.places[name][-1], value)
        return before, {name: value for name, value in now.items() if value is not start[name]}

    def made_of(self, name, original):
        """Return what the function makes of an original; the original itself where it leaves it."""
        values = self.values
        if original is not self.before[name]:
            _, values = self.run({name: original})
        return values.get(name, original)

    def asks(self, name):
        """Return what asks whether the function has set something."""
        return lambda: name in self.values or "the function does not set it here"


def owner_of(place):
    """Return the module, the class or the container that has what a place names."""
    module, *steps, _last = place
    owner = import_module(module)
    for step in steps:
        owner = owner[step[0]] if isinstance(step, list) else getattr(owner, step)
    return owner


def get(owner, step):
    """Return what an owner itself has; MISSING for nothing."""
    if isinstance(step, list):
        (key,) = step
        is_there = key in owner if isinstance(owner, dict) else key < len(owner)
        return owner[key] if is_there else MISSING
    return vars(owner).get(step, MISSING)


def put(owner, step, value):
    """Put a value back, if it is not there; MISSING for nothing."""
    if get(owner, step) is value:
        return
    if isinstance(step, list):
        (key,) = step
        if value is MISSING:
            del owner[key]
        else:
            owner[key] = value
    elif value is MISSING:
        delattr(owner, step)
    else:
        setattr(owner, step, value)
'''
_TAKEN = """
from {module} import Taken

taken = Taken(
    {function},
    {{
{places}    }},
)
"""
_DECORATOR = '''

def {name}(original):
    """Return what {target} becomes."""
    return taken.made_of("{name}", original)
'''
_VALUE = """
{name} = taken.values.get("{name}")
when_{name} = taken.asks("{name}")
"""


def can_be_taken(change: ObservedChange) -> bool:
    """Return whether what a call sets can be taken, and be a change of its own.

    Args:
        change: What was observed.
    """
    if change.form == "item":
        return change.target.endswith("]")
    return change.form == "attribute"


class TakenBody:
    """The end of a body that calls a function, and the changes that it is for.

    Args:
        changes: What the function was observed to set.
        function: The function, as an expression.
        pack: The name of the pack.
        names: The names that the body has.
    """

    def __init__(
        self,
        changes: Iterable[ObservedChange],
        function: str,
        pack: str,
        names: Sequence[str],
    ) -> None:
        self.changes: list[Change] = []
        taken_names = ["Taken", "taken", *names]
        places = ""
        values = ""
        decorators = ""
        for change in changes:
            target = Target.parse(change.target)
            word = re.sub(r"\W+", "_", target.qualname).strip("_")
            name = unused(word, taken_names)
            taken_names += [name, f"when_{name}"]
            places += f'        "{name}": {_place(target)!r},\n'
            row_change = _row_change(change, name)
            self.changes.append(row_change)
            if isinstance(row_change, Decorate):
                decorators += _DECORATOR.format(name=name, target=change.target)
            else:
                values += _VALUE.format(name=name)
        head = _TAKEN.format(
            module=f"{pack}.{TAKEN_MODULE}", function=function, places=places
        )
        self.text = head + values + decorators


def _place(target: Target) -> tuple[object, ...]:
    """Return a module and the way from it: names, and keys of items in lists."""
    steps = list[object]()
    for step in target.steps:
        steps.append([step.key] if isinstance(step, Item) else step)
    return (target.module, *steps)


def _row_change(change: ObservedChange, name: str) -> Change:
    """Return the change of a target to what a body has under a name."""
    when = f"when_{name}"
    if change.is_new and not change.is_inherited:
        return Add(change.target, by=name, when=when, rebind=False)
    if change.is_function and not change.is_new and not change.is_unrelated:
        return Decorate(change.target, by=name, rebind=False)
    return Replace(
        change.target,
        by=name,
        when=when,
        rebind=False,
        unrelated=change.is_unrelated,
    )
