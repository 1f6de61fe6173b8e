"""Makes HTML pages that need no other file, and run no script but their own."""

import base64
import hashlib
from html import escape
from importlib import resources

from patchkit.cli.report.words import printable


def html_page(template: str, styles: str, script: str, **parts: str) -> str:
    """Fill in a template, and return the page.

    Args:
        template: The name of the template, a file of this folder.
        styles: The names of its style sheets, separated by spaces.
        script: The name of its script.
        **parts: The fields of the template, as HTML.
    """
    style_sheets = map(_file, styles.split())
    style = "".join(style_sheets)
    code = _file(script)
    # A content security policy: no script or style that a text of the report may bring along.
    style_hash = _hash(style)
    code_hash = _hash(code)
    allowed = f"style-src '{style_hash}'; script-src '{code_hash}'; img-src data:"
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}"
    page = _file(template)
    return page.format(policy=policy, style=style, script=code, **parts)


def escaped(text: str) -> str:
    """Return a text as HTML, without control characters.

    Args:
        text: The text.
    """
    text = printable(text)
    return escape(text)


def _file(name: str) -> str:
    folder = resources.files("patchkit.cli.report")
    file = folder.joinpath(name)
    return file.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash of a script or a style sheet, as a content security policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    encoded = base64.b64encode(digest).decode()
    return f"sha256-{encoded}"
