from __future__ import annotations

from patchkit.analysis.status.picture import draw

from .told import NOW, child, journal, line, look, role, running

HOUR = 3600


def verified(at: float) -> bytes:
    """The entry of a look at the patches, `at` seconds after NOW."""
    return line("verified", time=NOW + at)


def test_each_node_counts_by_its_own_clock() -> None:
    """An hour's difference makes no process old, and no new child a missing one."""
    early = look(journal(7, verified(95)), host="node")
    also = look(journal(8, verified(97), host="also"), host="also")
    ahead = look(
        journal(
            9,
            role("main"),
            child(10, at=HOUR + 98),
            verified(HOUR + 90),
            host="ahead",
            at=HOUR,
        ),
        host="ahead",
        now=NOW + HOUR + 100,
        processes={**running(9), **running(10, ppid=9)},
    )
    picture = draw([ahead, early, also])
    assert picture.now == NOW + 100
    ages = {
        one.pid: picture.now - one.verified for one in picture.processes if one.verified
    }
    assert ages == {7: 5, 8: 3, 9: 10}
    assert [one.pid for one in picture.processes if one.is_starting] == [10]
    assert not picture.findings
    (note,) = [note for note in picture.notes if "clock" in note]
    assert note.startswith("clocks that differ: ahead 3,600 s ahead; ")


def test_a_node_that_is_behind_is_told_too() -> None:
    """Its process is as old as its own clock says."""
    behind = look(
        journal(7, verified(95 - HOUR), at=-HOUR), now=NOW + 100 - HOUR, host="node"
    )
    others = [look(host=name) for name in ("one", "two")]
    picture = draw([behind, *others])
    (process,) = picture.processes
    assert (process.started, process.verified) == (NOW, NOW + 95)
    assert "node 3,600 s behind" in picture.notes[-1]


def test_a_folder_shows_a_clock_that_is_ahead() -> None:
    """Of a node that nobody looked at, the last entry is compared with the change of its file."""
    files = journal(7, verified(HOUR + 40), host="other", at=HOUR)
    (name,) = files
    picture = draw([look(files, modified={name: NOW + 40})])
    (process,) = picture.processes
    assert (process.started, process.verified) == (NOW, NOW + 40)
    assert "other 3,600 s ahead" in picture.notes[-1]
    # Without the change of the file, it is at least as far ahead as its last entry.
    (process,) = draw([look(files)]).processes
    assert process.verified == NOW + 100


def test_a_copied_file_changes_no_time() -> None:
    """A file that was changed long after its last entry may be a copy."""
    files = journal(7, verified(40), host="other")
    (name,) = files
    picture = draw([look(files, modified={name: NOW + 95})])
    (process,) = picture.processes
    assert (process.started, process.verified) == (NOW, NOW + 40)
    assert not [note for note in picture.notes if "clock" in note]


def test_many_wrong_clocks_are_one_note() -> None:
    """The first nodes are named, the others counted."""
    nodes = [look(host="here")]
    for number in range(8):
        host = f"node-{number}"
        files = journal(7, host=host, at=HOUR + number * HOUR)
        nodes[0]["journals"].update(files)
    note = draw(nodes).notes[-1]
    assert "node-0 3,500 s ahead, node-1 7,100 s ahead" in note
    assert "and 3 more; times" in note
