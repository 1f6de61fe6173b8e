"""A class of a body that derives from upstream's, as the diff writes it into that."""

from __future__ import annotations

from textwrap import dedent

import pytest

from patchkit.authoring.source.body_code import BodyCode
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.module_text import ModuleText
from patchkit.authoring.source.transplant import make
from patchkit.core.rows.declaration import Replace
from patchkit.errors import ScaffoldError

UPSTREAM = '''\
"""What works."""

import os


class Base:
    def greet(self):
        return "base"


# It works.
class Worker(Base):
    """A worker."""

    SCALE = 2  # of the tests
    DOUBLE = SCALE * 2

    def run(self, x):
        """Run."""
        return x * self.SCALE

    @property
    def width(self):
        return 1

    @width.setter
    def width(self, value):
        self.size = value

    def clone(self):
        return Worker()
'''
MERGED = '''\
"""What works."""

import os
import json


class Base:
    def greet(self):
        return "base"


def helper(x):
    return x * 3


# It works.
class Worker(Base):
    """A worker."""

    SCALE = 2  # of the tests
    DOUBLE = SCALE * 2
    SIZES = [1]

    def run(self, x):
        return json.dumps(helper(x))

    @property
    def width(self):
        return 2

    def clone(self):
        return Worker()

    def greet(self):
        return super().greet() + Worker.SCALE
'''
BODY = '''\
import json

from up.lib import Worker


def helper(x):
    return x * 3


class PatchedWorker(Worker):  # type: ignore[misc, unused-ignore]
    """`Worker`, patched: override here what has to be another."""

    SIZES = [1]

    def run(self, x):
        return json.dumps(helper(x))

    @property
    def width(self):
        return 2

    def greet(self):
        return super().greet() + PatchedWorker.SCALE
'''


def merged(body: str, by: str, upstream: str = UPSTREAM) -> str:
    """Return what upstream's module becomes with a class of a body in place of `Worker`."""
    definitions = Definitions.of("pack/patch_lib.py", dedent(body).encode())
    code = BodyCode(
        definitions, target_names=frozenset({"Worker"}), derives=True, keeps_kind=True
    )
    module = ModuleText("up/lib.py", upstream)
    make(module, Replace("up.lib:Worker", by=by), "Worker", code)
    return module.text


def test_members_stand_where_a_person_would_put_them() -> None:
    """What is overridden is replaced in its place, what is new is added, with what it uses."""
    assert merged(BODY, "PatchedWorker") == MERGED


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ("def run(self, x):\n    return super().run(x)", "it calls super().run"),
        (
            "def run(self, x):\n    return Worker.run(self, x)",
            "upstream's own Worker.run",
        ),
        ("def run(self, x):\n    return Worker()", "it uses Worker as upstream has it"),
        (
            "def run(self, x):\n    return super()",
            "super() otherwise than for a method",
        ),
        ("MORE = Worker.SCALE", "its members are made from upstream's Worker"),
        ("SCALE = 3", "upstream's class reads SCALE as it is made, in line 16"),
        ("MORE = SCALE", "SCALE is a name of its module, and a member of upstream's"),
        ("__slots__ = ('a',)", "its class has __slots__"),
        (
            "if True:\n    def run(self, x): ...",
            "a statement that names no single member",
        ),
        ("A, B = 1, 2", "a statement that names no single member"),
        ("'''Words alone.'''", "its class Patched overrides nothing"),
    ],
)
def test_what_would_do_something_else_is_refused(members: str, reason: str) -> None:
    """The reason is said in a few words."""
    indented = members.replace("\n", "\n    ")
    body = f"from up.lib import Worker\nSCALE = 1\nclass Patched(Worker):\n    {indented}\n"
    with pytest.raises(ScaffoldError) as error:
        merged(body, "Patched")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("class Patched(Mixin, Worker):", "has bases or keywords beside"),
        ("class Patched(Worker, metaclass=type):", "has bases or keywords beside"),
        (
            "@other\nclass Patched(Worker):",
            "has decorators that upstream's class lacks",
        ),
    ],
)
def test_a_class_that_is_made_otherwise_is_refused(head: str, reason: str) -> None:
    """Further bases, keywords and decorators are no members."""
    body = f"from up.lib import Worker\n{head}\n    def run(self, x): ...\n"
    with pytest.raises(ScaffoldError, match=reason):
        merged(body, "Patched")


def test_a_class_of_the_same_name_is_told_apart() -> None:
    """A class of the body may be named as upstream's: `class Worker(lib.Worker)`."""
    head = "from up import lib\nclass Worker(lib.Worker):\n"
    body = f"{head}    def run(self, x):\n        return x\n"
    text = merged(body, "Worker")
    assert "def run(self, x):\n        return x\n" in text
    assert text.count("class Worker") == 1


def test_what_a_method_calls_above_upstreams_class_is_called_there() -> None:
    """`super(Worker, self)` means the bases of upstream's class before and after."""
    body = """
    from up.lib import Worker
    class Patched(Worker):
        def run(self, x):
            return super(Worker, self).greet()
    """
    assert "return super().greet()" in merged(body, "Patched")
