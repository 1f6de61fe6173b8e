"""What is read from source, against what Python reads as it runs the same source."""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.uses.files import uses_of

NAMES = st.sampled_from(["C", "D", "m"])
IMPORTS = st.one_of(
    st.sampled_from(["import up", "import up.a", "import up.b", "from up import a"]),
    st.builds("import up.a as {}".format, NAMES),
    st.builds("from up.a import {}".format, NAMES),
    st.builds("from up.b import {} as {}".format, NAMES, NAMES),
)
READS = st.one_of(
    st.builds("{}.x".format, NAMES),
    st.builds("{}.x.y".format, NAMES),
    st.builds("up.a.{}.x".format, NAMES),
    st.builds("a.{}".format, NAMES),
    st.builds("[{0}.x for _ in '1']".format, NAMES),
)
BINDS = st.one_of(
    st.builds("{} = Own()".format, NAMES),
    st.builds("for {} in [Own()]: ...".format, NAMES),
    st.builds("[({} := Own()) for _ in '1']".format, NAMES),
    st.builds("def {}(): ...\n{}.x = Own()".format, NAMES, NAMES),
    st.builds("def f(): global {0}; {0} = Own()\nf()".format, NAMES),
    st.builds("def f({0}): return {0}.x\nf(Own())".format, NAMES),
    st.builds(
        "def f():\n    from up.b import {0}\n    return {0}.x\nf()".format, NAMES
    ),
)

FIRST = "import up.a as m\nfrom up import a\nfrom up.a import C\nfrom up.b import D"


class Recorder(ModuleType):
    """An object of `up`, or a module of it: whatever is asked for is there, and noted."""

    def __init__(self, name: str, read: set[str]) -> None:
        super().__init__(name)
        vars(self).update(_read=read, __path__=[])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        vars(self)["_read"].add(f"{self.__name__}.{name}")
        return Recorder(f"{self.__name__}.{name}", vars(self)["_read"])


class Own:
    """What a file binds itself: it has every attribute."""

    def __getattr__(self, name: str) -> Own:
        return self


def run(text: str) -> tuple[set[str], bool]:
    """Run a file; what it read of `up`, and whether it came to its end."""
    read: set[str] = set()
    modules = {name: Recorder(name, read) for name in ("up", "up.a", "up.b")}
    vars(modules["up"]).update(a=modules["up.a"], b=modules["up.b"])
    with mock.patch.dict(sys.modules, modules):
        try:
            exec(compile(text, "own", "exec"), {"Own": Own})  # the text is the test's
        except (NameError, AttributeError):
            return read, False
    return read, True


def reported(text: str) -> set[str]:
    """What is reported of a file, with the names that each use leads through, without modules."""
    tree = ModuleTree("own", "own.py", False, ast.parse(text), text.encode())
    # What it sets, it need not find.
    uses = [
        use
        for use in uses_of([tree], ["up"])
        if not use.guarded and not use.is_replacement
    ]
    names: set[str] = set()
    for use in uses:
        parts = str(use.target).replace(":", ".").split(".")
        names.update(".".join(parts[:end]) for end in range(3, 6))
    return names - {"up", "up.a", "up.b"}


@given(st.lists(st.one_of(IMPORTS, READS, BINDS), max_size=8))
def test_nothing_is_reported_that_is_not_read(lines: list[str]) -> None:
    """Of a file that runs to its end, each use that is reported was read by Python."""
    text = "\n".join([FIRST, *lines])
    read, has_ended = run(text)
    if has_ended:
        assert reported(text) <= read


@given(st.permutations(["C", "D", "m"]), st.lists(READS, max_size=6))
def test_where_nothing_is_bound_twice_all_is_reported(
    names: list[str], reads: list[str]
) -> None:
    """What Python reads of names that only an import binds is reported."""
    first, second, third = names
    imports = [
        f"from up.a import {first}",
        f"from up.b import m as {second}",
        "import up.a",
    ]
    text = "\n".join([*imports, "from up import a", f"import up.b as {third}", *reads])
    read, has_ended = run(text)
    assert has_ended
    assert reported(text) == read
