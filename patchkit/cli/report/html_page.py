"""A page for a browser that needs nothing beside itself, and runs nothing but its own script."""

import base64
import hashlib
from html import escape
from importlib import resources

from patchkit.cli.report.words import printable


def html_page(template: str, styles: str, script: str, **parts: str) -> str:
    """Fill in a template of this folder; the parts are HTML."""
    style, code = "".join(map(_file, styles.split())), _file(script)
    # The page's own style and script, and nothing that a report may have brought in.
    allowed = f"style-src '{_hash(style)}'; script-src '{_hash(code)}'; img-src data:"
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}"
    return _file(template).format(policy=policy, style=style, script=code, **parts)


def escaped(text: str) -> str:
    """Write a text as HTML, without control characters."""
    return escape(printable(text))


def _file(name: str) -> str:
    return resources.files("patchkit.cli.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
