"""What the site has beside the folder `docs`: pages of the repository that these link to."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(\[(?P<words>[^\]]*)\])\((?P<to>[^)#\s:]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add each page of the repository that a page of the docs links to, as `repository/…`."""
    docs = Path(config.docs_dir)
    texts = (file.read_text("utf-8") for file in sorted(docs.glob("*.md")))
    named = {
        posixpath.normpath(posixpath.join("docs", found["to"]))
        for text in texts
        for found in _LINK.finditer(text)
    }
    for place in sorted(name for name in named if _is_outside(name)):
        text = (REPOSITORY / place).read_text("utf-8")
        files.append(File.generated(config, f"repository/{place}", content=text))
    return files


def on_page_markdown(
    markdown: str,
    page: Page,
    config: MkDocsConfig,  # noqa: ARG001 - as mkdocs calls it
    files: Files,
) -> str:
    """Let links lead to these pages; what is no page of the site is named, and not linked."""
    here = page.file.src_uri
    place = (
        here.removeprefix("repository/")
        if here.startswith("repository/")
        else f"docs/{here}"
    )

    def moved(found: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(place), found["to"]))
        uri = (
            f"repository/{name}"
            if not name.startswith("docs/")
            else name.removeprefix("docs/")
        )
        if uri == "README.md":
            uri = "index.md"
        if files.get_file_from_path(uri) is None:
            # A file that is no page is named; a link to nothing stays, and fails the build.
            return found["words"] if (REPOSITORY / name).exists() else found[0]
        to = posixpath.relpath(uri, posixpath.dirname(here) or ".")
        return f"{found[1]}({to}{found['anchor'] or ''})"

    return _LINK.sub(moved, markdown)


def _is_outside(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(("docs/", "../"))
