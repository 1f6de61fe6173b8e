"""A body that was edited on disk is told from the one that runs."""

from __future__ import annotations

from binascii import crc32
from typing import TYPE_CHECKING, Any

import pytest
from analysis.status.told import Journals, journal, patch, role
from support import packages
from support.packages import World, row

from cli import journaled
from cli.journaled import answered
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

written = journaled.written
world = packages.world

REMARK = "body edited on disk since it was loaded"


def of_patch(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """What the JSON of `status` says of a patch, process by process."""
    return [
        told
        for process in data["processes"]
        for told in process["patches"]
        if told["name"] == name
    ]


@pytest.mark.processes
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_edit_on_disk_is_seen(
    world: World, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """The process and its child have loaded the body as it was; an edit afterwards is a remark."""
    world.module("up.mod", "def f(): return 1\n")
    change = "Replace('up.mod:f', by='f')"
    source = "def f(): return 2\n"
    world.pack(row("one", "patch_one", change), patch_one=source)
    (world.folder / "script.py").write_text(
        "import multiprocessing, sys\n"
        "import patchkit.auto, up.mod\n"
        "def child(): assert up.mod.f() == 2\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    process = context.Process(target=child)\n"
        "    process.start()\n"
        "    process.join()\n"
    )
    done = world.run("script.py", method)
    assert done.returncode == 0, done.stderr
    body = world.folder / "pack" / "patch_one.py"
    for told in of_patch(answered(capsys, str(world.journal)), "one"):
        assert told["body"]["file"] == str(body)
        assert told["body"]["loaded"] == f"{crc32(source.encode()):08x}"
        assert told["body"]["edited"] is False
    body.write_text("def f(): return 3\n")
    patches = of_patch(answered(capsys, str(world.journal)), "one")
    assert [told["body"]["edited"] for told in patches] == [True, True]
    assert main(["status", str(world.journal)]) == 0
    assert REMARK in capsys.readouterr().out
    assert main(["status", str(world.journal), "--patch", "one"]) == 0
    assert str(body) in capsys.readouterr().out
    body.unlink()
    patches = of_patch(answered(capsys, str(world.journal)), "one")
    assert [told["body"]["edited"] for told in patches] == [None, None]


@pytest.mark.processes
def test_a_body_of_two_rows_is_noted_as_it_was_loaded(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that is applied after the edit runs the text that was loaded before it."""
    for name in ("first", "second"):
        world.module(f"up.{name}", "def f(): return 1\n")
    world.pack(
        row("one", "patch_one", "Replace('up.first:f', by='f')"),
        row("two", "patch_one", "Replace('up.second:f', by='f')"),
        patch_one="def f(): return 2\n",
    )
    (world.folder / "script.py").write_text(
        "import patchkit.auto, up.first\n"
        "open('pack/patch_one.py', 'a').write('# edited')\n"
        "import up.second\n"
    )
    assert world.run("script.py").returncode == 0
    data = answered(capsys, str(world.journal))
    for name in ("one", "two"):
        (told,) = of_patch(data, name)
        assert told["body"]["edited"] is True


def worker(pid: int, checksum: str, name: str = "one") -> Journals:
    """A worker that has loaded a body with a checksum."""
    facts = {"module": "m", "layers": {"m:f": [name]}, "body": ["/a/b.py", checksum]}
    return journal(pid, role("worker"), patch(name, "applied", **facts))


def test_workers_with_different_texts_do_not_agree(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers that have loaded different texts of one body disagree, whatever files say now."""
    place = written(worker(7, "0000aaaa"), worker(8, "0000bbbb"))
    data = answered(capsys, str(place), code=1)
    assert data["agreement"] == {"worker": False}
    (finding,) = data["findings"]
    assert finding["kind"] == "disagreement"
    assert "one: its body was edited between the loads in pid 7" in finding["message"]


def test_workers_with_the_same_text_agree(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal checksums are the same text, wherever it lies."""
    place = written(worker(7, "0000aaaa"), worker(8, "0000aaaa"))
    assert answered(capsys, str(place))["agreement"] == {"worker": True}


@pytest.mark.parametrize(
    "body", [["/dev/zero", "0000aaaa"], ["/etc", "0000aaaa"], ["a"], "x", [1, 2], None]
)
def test_a_journal_that_names_anything_reads_no_device(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str], body: object
) -> None:
    """A name that is no plain file, or an entry that is torn, leaves it unknown."""
    facts = {"module": "m", "layers": {"m:f": ["one"]}, "body": body}
    place = written(journal(7, role("main"), patch("one", "applied", **facts)))
    (patch_one,) = of_patch(answered(capsys, str(place)), "one")
    assert (patch_one["body"] or {"edited": None})["edited"] is None
