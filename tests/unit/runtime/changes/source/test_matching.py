from __future__ import annotations

import ast
import io
import json
import textwrap
import tokenize
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.text.matching import (
    NEWLINE,
    LexicalError,
    Token,
    find,
    lex,
    same,
    without_optional_commas,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


WORDS = [
    "a",
    "foo",
    "1",
    "'x'",
    "(",
    ")",
    "[",
    "]",
    ",",
    "+",
    "if",
    ":",
    "not",
    "f'{x}'",
]
SPACES = st.sampled_from([" ", "  ", "\t", " \\\n "])
IN_BRACKETS = st.one_of(SPACES, st.sampled_from(["\n", " # why\n  ", "\n\n\t"]))


def matches(fragment: str, text: str) -> list[str]:
    """The places of the text at which the fragment occurs."""
    text = dedent(text)
    found_matches = find(
        list(lex(dedent(fragment))), without_optional_commas(lex(text))
    )
    return [text[match.start : match.end] for match in found_matches]


def occurs(fragment: str, text: str) -> bool:
    """Whether the fragment occurs in the text."""
    return bool(matches(fragment, text))


@pytest.mark.parametrize(
    ("fragment", "text", "match"),
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
def test_layout_does_not_count(fragment: str, text: str, match: str) -> None:
    """Line breaks in brackets, comments, quotes, trailing commas and indentation may differ."""
    assert matches(fragment, text) == [match]


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
    """No match where a tuple, argument, literal, block or end of a statement differs."""
    assert not occurs(fragment, text)


def test_occurrences_do_not_overlap() -> None:
    """Occurrences are counted from the left without overlap, as `str.count` does."""
    assert matches("a, a", "f(a, a, a, a, a)") == ["a, a", "a, a"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), st.data())
def test_a_fragment_matches_itself_in_any_layout(
    words: list[str], data: st.DataObject
) -> None:
    """The same tokens match, whatever spaces, breaks in brackets and comments lie between."""
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
    is_same = changed == balanced
    fragment = f"f({' '.join(balanced)} + 0)"
    text = f"f({' '.join(changed)} + 0)"
    if "," not in {other, balanced[at]}:
        assert occurs(fragment, text) is is_same


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
    """Line breaks of a fragment match where the text has brackets around them."""
    tokens = list(lex("\n    a,\n    b,\n"))
    assert [token.kind for token in tokens].count(NEWLINE) == 2
    assert occurs("\n    a,\n    b,\n", "f(z, a, b)")


LIBRARY = [
    Path(module.__file__) for module in (ast, io, json, textwrap, tokenize, pytest)
]
ODD = [
    "x = 0x_ff + 1_0.5e-3j - .5 + 1.\n",
    "r'\\\\'; rb'''a'b\n\\\\''' ; u\"x\" \"\" '' ''''''\n",
    "if'a'in\"b\": pass\n",
    "@ a\nasync def f(a, /, *b: int, **c) -> ...: a @= b; a //= c; a **= 1; a <<= 2; a := 1\n",
    "x = [\n  1, # c\n\n  2]\n\n# comment\n\ty = \\\n  3\n",
    "f'{x!r:{w}.{p}}' f\"{{}}{a['b']}\" rf'\\{x}' f'\\N{DASH}{1:{2}}' f'''{\nx\n:>3}'''\n",
    "f'{x:=^{n}}' f'{d[\"a:b\"]:%H:%M}' f'{(lambda: 1)()}' f'{x!=y}'\n",
    "é = ñ_1\n",
]


def reference(text: str) -> list[str]:
    """What `tokenize` finds; an f-string is one token, as it is before Python 3.12."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [word for _, word in _joined(tokens, text)]


def _joined(
    tokens: Iterator[tokenize.TokenInfo], text: str
) -> Iterator[tuple[tuple[int, int], str]]:
    nested = 0
    begin = (0, 0)
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            begin = begin if nested else token.start
            nested += 1
        elif name.endswith("STRING_END"):
            nested -= 1
            if not nested:
                yield begin, _between(text, begin, token.end)
        elif not nested and name not in {
            "NL",
            "COMMENT",
            "INDENT",
            "DEDENT",
            "ENDMARKER",
        }:
            yield token.start, "\n" if name == "NEWLINE" else token.string


def _between(text: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    lines = text.split("\n")[start[0] - 1 : end[0]]
    lines[-1] = lines[-1][: end[1]]
    lines[0] = lines[0][start[1] :]
    return "\n".join(lines)


@pytest.mark.parametrize("text", [*(file.read_text("utf-8") for file in LIBRARY), *ODD])
def test_the_tokens_are_those_of_tokenize(text: str) -> None:
    """On whole modules `lex` agrees with `tokenize` of this Python, and places are right."""
    tokens = list(lex(text))
    assert [token.text for token in tokens] == reference(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("daemon=True,\n)", ["daemon", "=", "True", ",", "\n", ")"]),
        ("a)\n  (b", ["a", ")", "\n", "(", "b"]),
        ("f(\n  a,", ["f", "(", "a", ","]),
        ("else:", ["else", ":"]),
        ("\n\n  # nothing\n", []),
    ],
)
def test_a_fragment_needs_no_balance(fragment: str, words: list[str]) -> None:
    """Brackets that are closed and not opened, or opened and not closed, are tokens."""
    assert [token.text for token in lex(fragment)] == words


def test_where_lines_begin_and_how_deep() -> None:
    """The first token of a logical line has its indentation, others have none."""
    tokens = [
        (token.text, token.depth, token.margin)
        for token in lex("  f(a,\n b)\n\t# c\n\tg\n")
    ]
    assert tokens == [
        ("f", 0, "  "),
        ("(", 0, None),
        ("a", 1, None),
        (",", 1, None),
        ("b", 1, None),
        (")", 1, None),
        ("\n", 0, None),
        ("g", 0, "\t"),
        ("\n", 0, None),
    ]


@pytest.mark.parametrize(
    "text", ["'a", '"""a"', "f'{a", "f'{a:", "f'\\N{a", "f'a\n'", "a ? b"]
)
def test_what_is_no_python_is_refused(text: str) -> None:
    """A string without end, or a character that begins nothing, is an error."""
    with pytest.raises(LexicalError):
        list(lex(text))


def _single_token(text: str) -> Token:
    (token,) = lex(text)
    return token


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("'a'", '"a"', True),
        ("'a\\n'", '"""a\n"""', True),
        ("r'a'", "'a'", True),
        ("u'a'", "'a'", True),
        ("b'a'", "'a'", False),
        ("'a'", "'a '", False),
        ("f'{x}'", 'f"{ x }"', True),
        ("f'{x}'", "f'{x!r}'", False),
        ("f'{x:>{n}}'", 'f"{x:>{n}}"', True),
        ("f'a'", "'a'", False),
        ("0xFF", "0xff", True),
        ("255", "0xff", True),
        ("1_000", "1000", True),
        ("1", "1.0", False),
        ("1.0", "1.", True),
        ("a", "'a'", False),
        ("a", "b", False),
    ],
)
def test_how_a_literal_is_written_does_not_count(
    first: str, second: str, is_same: bool
) -> None:
    """How a string is quoted and a number written is layout; its value and type are not."""
    assert same(_single_token(first), _single_token(second)) is is_same
