"""A copy of upstream's code in a body, merged with what upstream changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import row

from authoring.rebase.carried_row import BODY, COPY, F, carry, code, world, written

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes  # git

OLD_CLASS = """\
class A:
    size = 1

    def run(self, a):
        first = a + 1
        second = a + 2
        third = first * second
        return third

    def stop(self):
        return 1
"""
NEW_CLASS = OLD_CLASS.replace("a + 2", "a + 20").replace("return 1", "return 10")
OWN_RUN = """\
from up.mod import A


class Own(A):
    def run(self, a):
        first = a + 1
        second = a + 2
        third = first * second
        return third + 100
"""
REPLACE_CLASS = "Replace('up.mod:A', by='Own')"


def test_a_body_that_has_what_upstream_changed_is_for_the_later_release(
    world: World,
) -> None:
    """Somebody wrote it by hand from upstream's code, and changed it elsewhere than upstream."""
    new = code("function", step_2="step_2 = walk(2)")
    body = BODY.replace("run(2)", "walk(2)")
    rebase = carry(world, F, new, COPY, body=body)
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    assert "requires=('up>=2.0,<2.1',)" in written(rebase)
    assert [file.what for file in rebase.files] == ["row"]


def test_a_body_written_anew_for_a_function_that_upstream_wrote_anew(
    world: World,
) -> None:
    """It has next to nothing of the old function, and is a copy of the new one."""
    new = "def f(a):\n    one = walk(a)\n    two = walk(one)\n    return two\n"
    body = new.replace("return two", "return two + 1")
    rebase = carry(world, F, new, COPY, body=body)
    assert (rebase.result, rebase.conflicts) == ("merged", [])


def test_what_upstream_uses_by_now_is_imported_at_the_top(world: World) -> None:
    """The body is loaded after upstream's module: that has imported all of it already."""
    imports = (
        "import textwrap\nfrom json import loads\n\n\ndef walk(n):\n    return n\n\n\n"
    )
    new = code("function", step_2="step_2 = loads(textwrap.dedent(walk(2)))")
    rebase = carry(world, F, imports + new, COPY, body=BODY)
    assert rebase.conflicts == []
    (text,) = (file.text for file in rebase.files if file.what == "body")
    head, _, merged = text.partition("def f(a):")
    assert set(head.split("\n")) >= {
        "import textwrap",
        "from json import loads",
        "from up.mod import walk",
    }
    assert merged == BODY.partition("def f(a):")[2].replace(
        "run(2)", "loads(textwrap.dedent(walk(2)))"
    )


def test_what_a_person_has_left_out_is_imported(world: World) -> None:
    """The body has upstream's new code, written by hand, without the import that it needs."""
    new = "import textwrap\n\n\n"
    new += code("function", step_2="step_2 = textwrap.dedent(2)")
    body = BODY.replace("run(2)", "textwrap.dedent(2)")
    rebase = carry(world, F, new, COPY, body=body)
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    (text,) = (file.text for file in rebase.files if file.what == "body")
    assert text == f"import textwrap\n\n{body}"


def test_an_import_stays_inside_where_the_body_is_for_earlier_releases_too(
    world: World,
) -> None:
    """Another row with the same body is for a release in which the name may not be there."""
    new = (
        f"def walk(n):\n    return n\n\n\n{code('function', step_2='step_2 = walk(2)')}"
    )
    other = row("q", "patch_a", "Wrap('up.mod:f', by='more')")
    body = f"{BODY}\n\ndef more(wrapped, instance, args, kwargs):\n    return 1\n"
    rebase = carry(world, F, new, COPY, body=body, other_row=other)
    assert rebase.conflicts == []
    assert written(rebase, "body").startswith("deff(a):fromup.modimportwalk")


def test_an_import_that_nothing_needs_any_more_is_taken_out(world: World) -> None:
    """Upstream has taken out what it imports, which would make the body fail. Others stay."""
    old = f"LIMIT = 3\n\n\n{code('function', step_2='step_2 = LIMIT')}"
    body = "import json\nfrom up.mod import LIMIT\n\n\n"
    body += code("function", step_2="step_2 = LIMIT", step_7="step_7 = run(77)")
    rebase = carry(world, old, F, COPY, body=body)
    assert rebase.conflicts == []
    (text,) = (file.text for file in rebase.files if file.what == "body")
    assert text == f"import json\n\n\n{BODY}"


def test_an_import_that_annotations_need_stays(world: World) -> None:
    """Upstream has taken out one use; annotations are text in this body, and still have it."""
    old = f"from json import loads\n\n\n{code('function', step_2='step_2 = loads')}"
    body = "from __future__ import annotations\n\nfrom json import loads\n\n\n"
    body += code("function", step_2="step_2 = loads", step_7="step_7: loads = run(77)")
    rebase = carry(world, old, F, COPY, body=body)
    assert rebase.conflicts == []
    assert "fromjsonimportloads" in written(rebase, "body")


def test_a_decorator_that_upstream_put_on_is_imported_before_the_function(
    world: World,
) -> None:
    """An import inside of the function would be too late."""
    imports = "import functools\n\n\n"
    rebase = carry(
        world, F, f"{imports}@functools.cache\n{F}", COPY, body=BODY, late=""
    )
    assert rebase.conflicts == []
    assert written(rebase, "body").startswith("importfunctools@functools.cachedeff")


def test_a_subclass_gets_what_upstream_changed_in_the_member_it_overrides(
    world: World,
) -> None:
    """Nothing else of upstream's class comes into it; a person is told that there is more."""
    rebase = carry(world, OLD_CLASS, NEW_CLASS, REPLACE_CLASS, body=OWN_RUN)
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    (text,) = (file.text for file in rebase.files if file.what == "body")
    assert text == OWN_RUN.replace("a + 2", "a + 20")
    assert [str(target) for target in rebase.to_review] == ["up.mod:A"]


def test_a_subclass_stays_where_upstream_changed_other_members(world: World) -> None:
    """It has no copy of them. A person is told that upstream's class has changed."""
    new = OLD_CLASS.replace("return 1", "return 10")
    rebase = carry(world, OLD_CLASS, new, REPLACE_CLASS, body=OWN_RUN)
    assert rebase.result == "unchanged"
    assert [str(target) for target in rebase.to_review] == ["up.mod:A"]


def test_a_member_that_calls_what_it_overrides_is_no_copy(world: World) -> None:
    """By `super().run` it does what upstream's member does in each release."""
    body = """\
        from up.mod import A


        class Own(A):
            def run(self, a):
                return super().run(a) + 100

            def more(self):
                return 2
    """
    body = "\n".join(line.removeprefix(" " * 8) for line in body.splitlines())
    rebase = carry(world, OLD_CLASS, NEW_CLASS, REPLACE_CLASS, body=body)
    assert (rebase.result, rebase.conflicts) == ("unchanged", [])


def test_a_member_that_skips_upstreams_class_is_a_copy(world: World) -> None:
    """`super(A, self)` begins above upstream's class, as upstream's own member does."""
    old = OLD_CLASS.replace("first = a + 1", "super().run(a)")
    new = NEW_CLASS.replace("first = a + 1", "super().run(a)")
    body = OWN_RUN.replace("first = a + 1", "super(A, self).run(a)")
    rebase = carry(world, old, new, REPLACE_CLASS, body=body)
    assert (rebase.result, rebase.conflicts) == ("merged", [])
    assert "second=a+20" in written(rebase, "body")


def test_a_member_that_upstream_took_out_is_a_conflict(world: World) -> None:
    """What the subclass overrides is called by nobody then."""
    new = OLD_CLASS.replace("def run", "def walk")
    rebase = carry(world, OLD_CLASS, new, REPLACE_CLASS, body=OWN_RUN)
    assert rebase.result == "conflict"


@pytest.mark.parametrize(
    ("more", "result"),
    [("", "retired"), ("\n    def more(self):\n        return 2\n", "merged")],
)
def test_a_subclass_of_which_upstream_has_the_members(
    world: World, more: str, result: str
) -> None:
    """Upstream has all of it only if it has no other members."""
    new = OLD_CLASS.replace("return third", "return third + 100")
    rebase = carry(world, OLD_CLASS, new, REPLACE_CLASS, body=OWN_RUN + more)
    assert (rebase.result, rebase.conflicts) == (result, [])
