"""What differs between two texts of a module, as changes."""

from __future__ import annotations

import pytest

from patchkit.authoring.diffs.difference import difference
from patchkit.errors import UpstreamError

OLD = """
from up.lib import g
LIMIT = 1


def f(a):
    return g(a)


class C:
    size = 1

    def m(self):
        return super().m()

    @property
    def p(self):
        return 1

    @p.setter
    def p(self, value):
        self._p = value
"""


def changes(old: str, new: str) -> list[str]:
    """The kind and the place of each change of `up.mod`."""
    found = difference("up/mod.py", old.encode(), new.encode())
    return [f"{change.kind} {change.place}" for change in found.changes]


def left(old: str, new: str) -> list[str]:
    """The place of each difference that no change expresses, and the reason."""
    found = difference("up/mod.py", old.encode(), new.encode())
    return [f"{place.place}: {place.reason}" for place in found.left]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("LIMIT = 1", "LIMIT = 2"), ["Replace up.mod:LIMIT"]),
        (("LIMIT = 1", "LIMIT = 1\nMORE = 2"), ["Add up.mod:MORE"]),
        (("return g(a)", "return g(a) + 1"), ["Edit up.mod:f"]),
        (("size = 1", "size = 2"), ["Replace up.mod:C.size"]),
        (("self._p = value", "self._p = int(value)"), ["Edit up.mod:C.p.fset"]),
        (("super().m()", "super().m() + 1"), ["Edit up.mod:C.m"]),
        (
            ("    def m(self)", "    def n(self): ...\n\n    def m(self)"),
            ["Add up.mod:C.n"],
        ),
        (
            ("class C:", "class D:\n    def m(self): ...\n\n\nclass C:"),
            ["Add up.mod:D"],
        ),
        (("def f(a):", "@cached\ndef f(a):"), ["Replace up.mod:f"]),
        (("# nothing", ""), []),
        (("from up.lib import g", "from up.lib import g, h"), []),
        (
            (
                "g\nLIMIT = 1\n\n\ndef f(a):\n    return g(a)",
                "g, h\nLIMIT = 1\n\n\ndef f(a):\n    return h(a)",
            ),
            ["Add up.mod:h", "Edit up.mod:f"],
        ),
    ],
)
def test_each_definition_has_its_change(
    change: tuple[str, str], expected: list[str]
) -> None:
    assert changes(OLD, OLD.replace(*change)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("class C:", "class C(B):"), "up.mod:C: bases, decorators"),
        (("LIMIT = 1\n", ""), "up.mod:LIMIT: it is gone there"),
        (
            ("LIMIT = 1", "LIMIT = 1\nprint(LIMIT)"),
            "up.mod: it runs as the module is imported",
        ),
        (
            ("    def m(self)", "    new: int\n\n    def m(self)"),
            "up.mod:C.new: it is a field",
        ),
        (
            (
                "    def m(self)",
                "    def n(self):\n        return self.__x\n\n    def m(self)",
            ),
            "up.mod:C.n: it uses __x, which is private",
        ),
        (
            ("LIMIT = 1", "LIMIT = len(globals())"),
            "up.mod:LIMIT: it uses globals, which",
        ),
        (
            ("def f(a)", "n = 1; m = 2\n\n\ndef f(a)"),
            "up.mod:n: it cannot be taken out",
        ),
        (
            ("def f(a)", "def n():\n    global LIMIT\n\n\ndef f(a)"),
            "up.mod:n: it sets LIMIT",
        ),
    ],
)
def test_what_no_row_can_express_is_listed(
    change: tuple[str, str], expected: str
) -> None:
    new = OLD.replace(*change)
    assert changes(OLD, new) == []
    assert left(OLD, new)[0].startswith(expected)


def test_a_class_that_is_gone_is_listed_once() -> None:
    assert left(OLD, OLD[: OLD.index("class C")]) == [
        "up.mod:C: it is gone there, and stays here: no row takes it away"
    ]


def test_the_body_imports_what_it_uses() -> None:
    """A name comes from where upstream imports it, or from the module that defines it.

    What others may set is read there at each call.
    """
    new = OLD.replace(
        "    def m(self)",
        "    def n(self):\n        return super().n(g, LIMIT, len)\n\n    def m(self)",
    )
    body = difference("up/mod.py", OLD.encode(), new.encode()).body
    assert body == (
        "from __future__ import annotations\n\n"
        "from up.lib import g\nfrom up.mod import C\nimport up.mod as mod_module\n\n\n"
        "def n(self):\n    return super(C, self).n(g, mod_module.LIMIT, len)\n"
    )


def test_a_method_named_as_a_function_gets_another_name_in_the_body() -> None:
    """The body can then import that function, which another method uses."""
    new = OLD.replace(
        "class C:", "class C:\n    def f(self): ...\n\n    def n(self):\n        f(1)\n"
    )
    body = difference("up/mod.py", OLD.encode(), new.encode()).body
    assert "def C_f(self): ..." in body
    assert "from up.mod import f\n" in body


def test_the_name_of_the_module_stays_that_of_the_module() -> None:
    found = difference("up/mod.py", b"A = 1", b"A = lambda: (__name__, f.__name__)")
    assert found.body.endswith('\nA = lambda: ("up.mod", f.__name__)\n')


def test_the_body_has_what_the_type_of_a_field_names() -> None:
    old = "@dataclass\nclass C:\n    a: int\n"
    new = f"from typing import Any\n{old}    b: Any | None = None\n"
    found = difference("up/mod.py", old.encode(), new.encode())
    assert found.body.endswith("from typing import Any\n")


def test_a_new_field_of_a_dataclass_is_an_add_field() -> None:
    old = "@dataclass\nclass C:\n    a: int\n"
    found = difference("up/mod.py", old.encode(), f"{old}    b: str = 'x'\n".encode())
    (change,) = found.changes
    assert (change.kind, change.name, change.default) == (
        "AddField",
        "b",
        "x",
    )


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(UpstreamError, match=r"up/mod\.py: this Python cannot parse it"):
        difference("up/mod.py", b"def", b"")


@pytest.mark.parametrize("kind", ["staticmethod", "classmethod", "property"])
def test_a_method_that_loses_its_kind_is_listed(kind: str) -> None:
    """A plain function in its place would stay a static method, a class method or a property."""
    old = f"class C:\n    @{kind}\n    def f(self):\n        return 1\n"
    new = old.replace(f"    @{kind}\n", "")
    assert not changes(old, new)
    (reason,) = left(old, new)
    assert reason.startswith(f"up.mod:C.f: it is no {kind} any more")
    cached = old.replace(kind, "functools.cache")
    assert changes(old, cached) == ["Replace up.mod:C.f"]
