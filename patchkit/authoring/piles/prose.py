"""Reads why a pile has its patches, from its docstrings and from catalogues in comments.

A pile is a package that patches upstream as it is imported. Some have a catalogue: comments that
list the patched files, each with labels such as `Why:` and `Future plan:`.
"""

import ast
import re
from collections.abc import Iterable, Mapping

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree

_LABEL = re.compile(
    r"(why|how|scope|related|future|sunset|remove|upstream|fragility)\b[^:\uff1a]*[:\uff1a]\s*"
)
"""A label such as `why:` or `future plan:`, in lower case; a colon of Chinese texts counts, too."""
_LINK = re.compile(r"https://\S+/(?:pull|issues)/\d+")
_RULE = re.compile(r"[-=~*]{3,}")
_LABELS_BY_FIELD = {
    "why": ("why",),
    "upstream": ("related", "upstream"),
    "sunset": ("future", "remove", "sunset"),
}


def prose_of(
    module: ModuleTree, modules: Iterable[ModuleTree], origin: str
) -> dict[str, str]:
    """Return the fields `why`, `upstream` and `sunset` of the rows for a module of a pile.

    An entry of a catalogue, in whichever module, takes precedence over the module's docstring.

    Args:
        module: The module.
        modules: All modules of the pile.
        origin: The pile's name, for fields of which the pile says nothing.

    Returns:
        The texts, by field.
    """
    texts_by_label = _entry_of(module, modules)
    default_texts = {
        "why": f"Adopted from {origin}.",
        "upstream": f"none: adopted from {origin}",
        "sunset": "upstream has these changes",
    }
    docstring = ast.get_docstring(module.tree) or ""
    texts = {
        field: _first_text(texts_by_label, labels)
        for field, labels in _LABELS_BY_FIELD.items()
    }
    if not texts["why"]:
        texts["why"] = docstring.partition("\n\n")[0]
    # A link under the label of the field comes before those under others, such as `why`.
    link = _LINK.search(" ".join([texts["upstream"], *texts_by_label.values()]))
    if link:
        texts["upstream"] = link[0]
    return {
        field: " ".join(text.split()) or default_texts[field]
        for field, text in texts.items()
    }


def _first_text(texts_by_label: Mapping[str, str], labels: Iterable[str]) -> str:
    """Return the text of the first label that has one; '' where none does."""
    for label in labels:
        if texts_by_label.get(label):
            return texts_by_label[label]
    return ""


def _entry_of(module: ModuleTree, modules: Iterable[ModuleTree]) -> Mapping[str, str]:
    """Find the entry of a module in the catalogues of a pile.

    It begins with a comment that names the module's file, perhaps with folders: `# worker/a.py`.

    Returns:
        The texts of the first entry with a label, by label; empty where there is none.
    """
    folder, _, file = module.path.rpartition("/")
    file_name = re.compile(rf"\b{re.escape(file)}\b")
    for catalogue in modules:
        lines = catalogue.source.decode(errors="replace").split("\n")
        for number, line in enumerate(lines):
            is_heading = line.startswith("#") and file_name.search(line)
            if is_heading and folder.endswith(_named_folder(line, file)):
                texts_by_label = _texts_by_label(lines[number + 1 :])
                if texts_by_label:
                    return texts_by_label
    return {}


def _named_folder(line: str, file: str) -> str:
    """Return the folder before a file's name in a line: `a/worker` for `# a/worker/f.py`.

    That is '' where the line has the name alone.
    """
    text_before, _, _ = line.partition(file)
    words = re.split(r"[\s`*:]", text_before)
    return words[-1].strip("/")


def _texts_by_label(lines: Iterable[str]) -> Mapping[str, str]:
    """Read one entry of a catalogue.

    Args:
        lines: The lines after its heading.

    Returns:
        The texts of the entry, by label: `{"why": …}`.
    """
    texts: dict[str, str] = {}
    label = ""  # of the text that the line continues; '' for text that is skipped
    for line in lines:
        text = line.lstrip("#").strip()
        is_next_heading = text.rstrip("*` :").endswith(".py")
        if not line.startswith("#") or is_next_heading:
            break
        match = _LABEL.match(text.lower())
        if match:
            # Of a label that occurs again, only the first text counts.
            label = match[1] if match[1] not in texts else ""
            text = text[match.end() :]
        elif re.match(r"\d+\. ", text):  # the next numbered patch of the file
            label = ""
        if label and not _RULE.fullmatch(text):
            texts[label] = f"{texts.get(label, '')} {text}".strip()
    return texts
