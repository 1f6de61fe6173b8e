from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from patchkit.scaffold.style import Style, style_of


@given(st.text(), st.sampled_from("'\""))
def test_a_text_means_itself(text: str, quote: str) -> None:
    """Whatever is in it, Python reads the same text, on one line."""
    written = Style(quote=quote).text(text)
    assert ast.literal_eval(written) == text
    assert len(written.splitlines()) == 1


@given(st.text(alphabet=st.characters(exclude_characters="'\"")))
def test_a_text_has_the_quotes_of_its_file(text: str) -> None:
    """Only a quote in the text asks for the other one."""
    assert Style(quote="'").text(text)[0] == "'"
    assert Style().text(text)[0] == '"'


def test_habits_are_read_from_the_file() -> None:
    """The first indentation, the more frequent quotes (docstrings do not count), the line ends."""
    text = '"""Doc."""\r\nif a:\r\n  b = \'c\'\r\n'
    assert style_of(text) == Style("  ", "'", "\r\n")
    assert style_of("a = 1\n") == Style()
