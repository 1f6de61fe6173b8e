from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.changes.source.matching import NEWLINE, find, lex, read

WORDS = ["a", "foo", "1", "'x'", "(", ")", "[", "]", ",", "+", "if", ":", "not", "f'{x}'"]
SPACES = st.sampled_from([" ", "  ", "\t", " \\\n "])
IN_BRACKETS = st.one_of(SPACES, st.sampled_from(["\n", " # why\n  ", "\n\n\t"]))


def matches(fragment: str, text: str) -> list[str]:
    """The places of the text at which the fragment occurs."""
    found = find(list(lex(dedent(fragment))), read(lex(dedent(text))))
    return [dedent(text)[match.start : match.end] for match in found]


def occurs(fragment: str, text: str) -> bool:
    return bool(matches(fragment, text))


@pytest.mark.parametrize(
    ("fragment", "text", "found"),
    [
        ("daemon=True", "f(a, daemon = True)", "daemon = True"),
        ("f(a,\n  b)", "x = f( # c\n a, b ,)", "f( # c\n a, b ,)"),
        ("f(a, b,)", "x = f(a, b)", "f(a, b)"),
        ("a,\n b,\n", "f(\n a,\n b,\n)", "a,\n b,"),
        ("a,\n b,", "f(a, b)", "a, b"),
        ("b,\n)\ng()", "f(a, b)\ng()", "b)\ng()"),
        ("x['k']", 'x["k"]', 'x["k"]'),
        ("[1, 2,]", "y = [1, 2]", "[1, 2]"),
        ("{1: 2}", "y = {1: 2,}", "{1: 2,}"),
        ("from a import (b)", "from a import (b,)", "from a import (b,)"),
        ("a, b = (c, d,)", "a, b = (c, d)", "a, b = (c, d)"),
        ("if a:\n  b()\nc()", "if a:\n      b()\nc()", "if a:\n      b()\nc()"),
        ("    b()\nc()", "if a:\n  b()\nc()", "b()\nc()"),
        ("a = 1\n\n# c\nb = 2", "a = 1  # one\nb = 2", "a = 1  # one\nb = 2"),
    ],
)
def test_layout_does_not_count(fragment: str, text: str, found: str) -> None:
    """Line breaks in brackets, comments, quotes, trailing commas, indentation."""
    assert matches(fragment, text) == [found]


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("(a,)", "x = (a)"),
        ("x = (a)", "x = (a,)"),
        ("x[a]", "x[a,]"),
        ("return (a)", "return (a,)"),
        ("f(a)", "f(b)"),
        ("f(a)", "f(a, b)"),
        ("f(a, b)", "f(a)"),
        ("f(a=1)", "f(a=1.0)"),
        ("x = 'a'", "x = b'a'"),
        ("return x\n", "return x + 1\n"),
        ("if a:\n  b()\n  c()", "if a:\n  b()\nc()"),
        ("if a:\n  b()\nc()", "if a:\n  b()\n  c()"),
        ("a\nb", "a; b"),
        ("a b", "a\nb"),
        ("a\nb", "if x:\n  a\nb"),
    ],
)
def test_meaning_counts(fragment: str, text: str) -> None:
    """A tuple is not its element, a block is not another, a statement ends where it ends."""
    assert not occurs(fragment, text)


def test_occurrences_do_not_overlap() -> None:
    """They are counted as `str.count` counts."""
    assert matches("a, a", "f(a, a, a, a, a)") == ["a, a", "a, a"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), st.data())
def test_a_fragment_matches_itself_in_any_layout(words: list[str], data: st.DataObject) -> None:
    """However spaces, breaks in brackets and comments are put between the same tokens."""
    opened = "f(" + " ".join(_balanced(words)) + ")"
    spaced = "f("
    for word in _balanced(words):
        quoted = word.replace("'", '"') if data.draw(st.booleans()) else word
        spaced += data.draw(IN_BRACKETS) + quoted
    assert occurs(opened, f"y = {spaced}{data.draw(IN_BRACKETS)})\n")


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    st.integers(0, 8),
    st.sampled_from(WORDS),
)
def test_another_word_is_another_meaning(words: list[str], at: int, other: str) -> None:
    """Where one token differs, the text does not match; only commas may mean nothing."""
    balanced = _balanced(words)
    changed = list(balanced)
    at %= len(changed)
    changed[at] = other
    same = changed == balanced
    if "," not in {other, balanced[at]}:
        assert occurs("f(" + " ".join(balanced) + " + 0)", f"f({' '.join(changed)} + 0)") is same


def _balanced(words: list[str]) -> list[str]:
    """Close what is open and drop what closes nothing."""
    kept: list[str] = []
    closers: list[str] = []
    for word in words:
        if word in {")", "]"}:
            if not closers or closers[-1] != word:
                continue
            closers.pop()
        if word in {"(", "["}:
            closers.append({"(": ")", "[": "]"}[word])
        kept.append(word)
    return [*kept, *reversed(closers)] or ["a"]


def test_newlines_of_the_fragment_are_soft_in_brackets() -> None:
    """A fragment does not know the brackets around it."""
    tokens = list(lex("\n    a,\n    b,\n"))
    assert [token.kind for token in tokens].count(NEWLINE) == 2
    assert occurs("\n    a,\n    b,\n", "f(z, a, b)")
