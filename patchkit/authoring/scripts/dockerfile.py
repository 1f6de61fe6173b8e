"""Reads a Dockerfile as instructions, with the documents that follow them (`RUN <<EOF`)."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_CONTINUED = re.compile(r"\\\s*$")
_DOCUMENT = re.compile(r"(?<!<)<<(-?)([\"']?)([A-Za-z_][\w.-]*)\2")
_FLAG = re.compile(r"\s*--(\w[\w-]*)(?:=(\S+))?(?=\s)")
_WITH_DOCUMENTS = frozenset({"RUN", "COPY", "ADD"})
_COMMENT = "#"


class Document(NamedTuple):
    """A text that stands below an instruction: `<<EOF`, its lines, and `EOF`.

    Args:
        name: The word that ends it.
        text: Its lines.
        start: What stands for it in the instruction, such as `<<'EOF'`.
    """

    name: str
    text: str
    start: str


class Instruction(NamedTuple):
    """One instruction of a Dockerfile.

    Args:
        keyword: Its name in capital letters, such as `RUN`.
        text: What follows the name and the options, on one line.
        line: The number of its first line.
        flags: Its options, such as `--mount=…`: name and value of each.
        documents: The documents below it.
    """

    keyword: str
    text: str
    line: int
    flags: Sequence[tuple[str, str]] = ()
    documents: Sequence[Document] = ()

    @property
    def as_list(self) -> list[str] | None:
        """The words of an instruction that is written as a list, as `["sed", "-i"]`; else None."""
        if not self.text.startswith("["):
            return None
        try:
            words = json.loads(self.text)
        except ValueError:
            return None
        return [str(word) for word in words]

    @property
    def script(self) -> str:
        """The text for a shell: with the documents, or the document if there is nothing else."""
        if self.documents and self.text == self.documents[0].start:
            return self.documents[0].text
        documents = [f"{document.text}{document.name}\n" for document in self.documents]
        return "\n".join([self.text, *documents])


def read_instructions(text: str) -> list[Instruction]:
    """Return the instructions of a Dockerfile, in their order.

    Args:
        text: The Dockerfile.
    """
    return list(_instructions(text.replace("\r\n", "\n").split("\n")))


def mount_options(text: str) -> dict[str, str]:
    """Read the value of `--mount`, such as `type=bind,source=a,target=/b`, by name.

    Args:
        text: The value.

    Returns:
        The options.
    """
    options: dict[str, str] = {}
    for option in text.split(","):
        name, _, value = option.partition("=")
        options[name] = value
    return options


def _instructions(lines: Sequence[str]) -> Iterator[Instruction]:
    """Yield the instructions in some lines, each with the documents that follow it."""
    index = 0
    while index < len(lines):
        line_number = index + 1
        index, joined = _logical_line(lines, index)
        keyword, _, flags_and_text = joined.strip().partition(" ")
        if not keyword:  # an empty line, or a comment
            continue
        keyword = keyword.upper()
        flags, text = _flags(flags_and_text)
        documents: list[Document] = []
        if keyword in _WITH_DOCUMENTS:
            for match in _DOCUMENT.finditer(text):
                name = match[3]
                index, body = _document(lines, index, name)
                documents.append(Document(name, body, start=match[0]))
        yield Instruction(keyword, text.strip(), line_number, flags, documents)


def _logical_line(lines: Sequence[str], index: int) -> tuple[int, str]:
    """Join a line with those that continue it; comments between them do not count.

    Returns:
        The index of the line below, and the joined line; '' for a comment.
    """
    parts: list[str] = []
    while index < len(lines):
        line = lines[index]
        index += 1
        is_comment = line.lstrip().startswith(_COMMENT)
        if is_comment and not parts:
            break
        if is_comment or (parts and not line.strip()):
            continue  # Docker skips such lines within an instruction
        parts.append(_CONTINUED.sub("", line))
        if not _CONTINUED.search(line):
            break
    return index, "".join(parts)


def _flags(text: str) -> tuple[list[tuple[str, str]], str]:
    """Split the options of an instruction off, such as `--mount=…`.

    Returns:
        Name and value of each, and the text behind them.
    """
    flags: list[tuple[str, str]] = []
    match = _FLAG.match(text)
    while match:
        flags.append((match[1], match[2] or ""))
        text = text[match.end() :]
        match = _FLAG.match(text)
    return flags, text


def _document(lines: Sequence[str], index: int, name: str) -> tuple[int, str]:
    """Read a document up to the word that ends it.

    Returns:
        The index of the line below, and the text.
    """
    body: list[str] = []
    while index < len(lines) and lines[index].strip() != name:
        body.append(f"{lines[index]}\n")
        index += 1
    return index + 1, "".join(body)
