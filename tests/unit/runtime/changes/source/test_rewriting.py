from __future__ import annotations

from textwrap import dedent

import pytest

from patchkit.core.text.rewriting import FunctionText, MiscountError, TextEdit, rewrite
from patchkit.errors import TargetError


def edited(text: str, old: str, new: str, times: int = 1) -> str:
    """The text of a function after one edit."""
    edit = TextEdit(dedent(old), dedent(new), times)
    return rewrite(FunctionText(dedent(text)), edit).text


BODY = """
    def f(a):
        if a:
            b()  # first
            c(1,
              2)
        return a
"""
START = BODY.index("    def")


def in_body(old: str, new: str) -> str:
    """The text of BODY's function after one edit."""
    return rewrite(FunctionText(BODY[START:]), TextEdit(old, new)).text


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("b()", "d()", "b()  # first", "d()  # first"),
        ("b()", "\n\nd()\ne()\n", "b()  # first", "d()\n            e()  # first"),
        ("    b()\n", "    d()  # new\n", "b()  # first", "d()  # first"),
        ("b()", "# why\nd()", "b()", "d()"),
        (
            "return a",
            "return (\n  a\n)",
            "return a",
            "return (\n          a\n        )",
        ),
        ("return a", "if a:\n\n  return a", "return a", "if a:\n\n          return a"),
        (
            "b()",
            "if x:\n  y()\nelse:\n  z()",
            "b()",
            "if x:\n              y()\n            else:\n              z()",
        ),
        ("return a", "return '''\n x\n'''", "return a", "return '''\n x\n'''"),
        ("1,\n2", "3", "1,\n              2", "3"),
        (
            "2)\nreturn",
            "3)\nd()\nreturn",
            "2)\n        return",
            "3)\n        d()\n        return",
        ),
        ("2)", "2)\nd()", "2)", "2)\n            d()"),
        ("1", "1,  # one\n 3", "1,", "1,  # one\n             3,"),
        ("1", "1  # one", "1,", "1,"),
        ("if a", "if not a", "if a", "if not a"),
        ("def f(a)", "def f(a, b=1)", "def f(a)", "def f(a, b=1)"),
    ],
)
def test_the_new_text_is_fitted_in(old: str, new: str, before: str, after: str) -> None:
    """It comes where the old was, indented like it; everything around stays as it was."""
    assert in_body(old, new) == BODY[START:].replace(before, after)


@pytest.mark.parametrize(
    ("old", "before", "after"),
    [
        ("b()", "b()  # first\n", "pass  # first\n"),
        ("b()\nc(1, 2)", "b()  # first\n            c(1,\n              2)", "pass"),
        ("return a", "return a\n", "pass\n"),
        (
            "if a:\n  b()\n  c(1, 2)\n",
            BODY[BODY.index("if") : BODY.index("\n        return")],
            "pass",
        ),
        ("1,", "1,", ""),
        (", 2", ",\n              2", ""),
    ],
)
def test_an_empty_new_text_takes_the_old_away(
    old: str, before: str, after: str
) -> None:
    """Where whole statements stood, so that a block would be empty, there is a `pass`."""
    assert in_body(old, "") == BODY[START:].replace(before, after)


@pytest.mark.parametrize(
    ("text", "old", "expected"),
    [
        ("def f(): g()\n", "g()", "def f(): pass\n"),
        ("def f():\n    if a: g()\n", "g()", "def f():\n    if a: pass\n"),
        (
            "def f():\n    '''Say.'''\n    g()\n",
            "g()",
            "def f():\n    '''Say.'''\n    pass\n",
        ),
        (
            "def f():\n  if a:\n    b()\n  else:\n    c()\n",
            "else:\n  c()",
            "def f():\n  if a:\n    b()\n  \n",
        ),
        ("def f():\n    g()\n", "g()\n", "def f():\n    pass\n"),
        ("def f():\n    if a:\n        b()\n    else:\n        c()\n", "b()", None),
        (
            "def f():\n  if a:\n    b()\n  c()\n  d()\n",
            "  b()\nc()\n",
            "def f():\n  if a:\n    pass\n  d()\n",
        ),
    ],
)
def test_what_is_left_of_a_block_compiles(
    text: str, old: str, expected: str | None
) -> None:
    """Whatever is taken away, the rest compiles, by a `pass` where a block would be empty."""
    after = edited(text, old, "")
    compile(after, "edited", "exec")
    assert after == (expected or text.replace(old, "pass"))


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("f(a", "f(a,\n  b", "f(a", "f(a,\n      b"),
        ("def f(a", "def f(a,\n    b", "f(a", "f(a,\n        b"),
        ("c(1", "c(0,\n  1", "c(1", "c(0,\n              1"),
        ("2", "2,\n 3", "2", "2,\n               3"),
    ],
)
def test_new_lines_within_brackets_are_indented(
    old: str, new: str, before: str, after: str
) -> None:
    """They are indented like the line that the old text begins on, the first one too."""
    assert in_body(old, new) == BODY[START:].replace(before, after)


def test_new_lines_are_indented_by_tabs_in_a_function_with_tabs() -> None:
    """New lines go to the blocks of the function, with as many tabs as those have."""
    after = edited(
        "def f(a):\n\tif a:\n\t\tb()\n",
        "if a:\n    b()",
        "if a:\n    c()\n    d()\ne()",
    )
    assert after == "def f(a):\n\tif a:\n\t\tc()\n\t\td()\n\te()\n"


def test_a_different_step_of_indentation() -> None:
    """New lines go to the blocks of the function, however far those are indented."""
    after = edited(
        "def f(a):\n  if a:\n     b()\n", "if a:\n    b()", "if a:\n    c()\n    b()"
    )
    assert after == "def f(a):\n  if a:\n     c()\n     b()\n"


def test_every_occurrence_is_replaced() -> None:
    """Each is fitted in at its own place."""
    text = "def f(a):\n    if a:\n        g(1)\n    g(1)\n"
    assert edited(text, "g(1)", "g(2)\nh()", 2) == (
        "def f(a):\n    if a:\n        g(2)\n        h()\n    g(2)\n    h()\n"
    )


def test_windows_line_ends() -> None:
    """An edit that was written with Windows line ends acts like any other."""
    text = "def f(a):\n    b()\n    c()\n"
    edit = TextEdit("b()\r\nc()\r\n", "d()\r\ne()\r\n")
    assert rewrite(FunctionText(text), edit).text == "def f(a):\n    d()\n    e()\n"


def test_decorators_are_not_edited() -> None:
    """A fragment that occurs in a decorator alone is not found: only text from `def` on is."""
    with pytest.raises(MiscountError):
        edited("@mark(1)\ndef f(): return 2\n", "1", "3")


@pytest.mark.parametrize("times", [1, 3])
def test_another_count_is_refused(times: int) -> None:
    """A fragment that occurs more or less often than expected is refused, with its places."""
    with pytest.raises(MiscountError) as caught:
        edited("def f(): return a + a\n", "a", "b", times)
    assert len(caught.value.starts) == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# only a comment", "x", "found old='# only a comment', expected code"),
        ("'open", "x", "old: no Python"),
        ("a", "'open", "new: no Python"),
        ("return a", "return a\nx = 1", None),
    ],
)
def test_what_is_no_edit_is_refused(old: str, new: str, words: str | None) -> None:
    """The error says which text is at fault."""
    text = "def f(a): return a\n" if words is None else "def f(a):\n    return a\n"
    with pytest.raises(TargetError, match=words or "ends the function") as caught:
        edited(text, old, new)
    assert not isinstance(caught.value, MiscountError)


AFTER = "\n    # said of what follows\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("def f(a): return a\n", "def f(a):"),
        ("    def f(a):  # why\n        return a\n", "def f(a):"),
        (
            "    @one({'a': 1})\n    # c\n    @two\n    async def f():\n        ...\n",
            "async def f():",
        ),
        ("def f(\n  a: int = {1: 2}[1],\n) -> 'x':\n    return a\n", None),
        (
            "\tdef f():\n\n\t\tif a:\n  # odd\n\t\t\tb()\n\t\treturn '''\nx\n'''  # end\n",
            "def f():",
        ),
        ("def f():\n    def g():\n        pass\n    return g\n", "def f():"),
    ],
)
@pytest.mark.parametrize("after", ["", AFTER, "@next\ndef g(): ...\n"])
def test_a_function_ends_where_its_block_ends(
    text: str, header: str | None, after: str
) -> None:
    """What follows is cut off, comments before it too; the header ends at its colon."""
    function = FunctionText(text + after)
    assert function.cut() == after
    assert function.text == text
    assert function.end == len(text)
    if header is not None:
        assert function.header == header


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "@a\nclass A: ...\n", "f = lambda: 1\n", "'open"]
)
def test_what_is_no_function_is_refused(text: str) -> None:
    """A text without a `def` statement of its own is refused."""
    with pytest.raises(TargetError, match="expected a function"):
        _ = FunctionText(text).tokens
