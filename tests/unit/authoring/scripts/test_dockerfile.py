"""Dockerfiles as instructions."""

from __future__ import annotations

from patchkit.authoring.scripts.dockerfile import read_instructions

TEXT = r"""# syntax=docker/dockerfile:1
FROM vllm/vllm-openai:v0.32.0

run --mount=type=bind,source=fixes,target=/fixes --network=none sed -i s/a/b/ x && \
    # a comment between
    sed -i s/c/d/ y
RUN <<EOF
set -e
sed -i s/e/f/ z
EOF
RUN python3 - <<'PY'
print("RUN x")
PY
RUN ["sed", "-i", "s/a b/c/", "x"]
COPY a b /c/
"""


def test_lines_that_are_continued_are_one_instruction() -> None:
    """Comments between them do not count, and options stand apart."""
    first, run, *_ = read_instructions(TEXT)
    assert (first.keyword, first.text, first.line) == (
        "FROM",
        "vllm/vllm-openai:v0.32.0",
        2,
    )
    assert run.keyword == "RUN"
    assert run.line == 4
    assert run.text.split("&&") == ["sed -i s/a/b/ x ", "     sed -i s/c/d/ y"]
    assert run.flags == [
        ("mount", "type=bind,source=fixes,target=/fixes"),
        ("network", "none"),
    ]


def test_documents_belong_to_their_instruction() -> None:
    """A document without a command is the script; else it follows the command."""
    _, _, alone, with_command, *_ = read_instructions(TEXT)
    assert alone.script == "set -e\nsed -i s/e/f/ z\n"
    assert with_command.script == "python3 - <<'PY'\nprint(\"RUN x\")\nPY\n"


def test_a_list_has_its_words() -> None:
    *_, as_list, copy = read_instructions(TEXT)
    assert as_list.as_list == ["sed", "-i", "s/a b/c/", "x"]
    assert copy.as_list is None
    assert (copy.keyword, copy.text, copy.line) == ("COPY", "a b /c/", 15)


def test_a_text_that_only_begins_like_a_list_is_a_text() -> None:
    (run,) = read_instructions("RUN [ -f x ] && y")
    assert run.as_list is None
