"""`make matrix` that is interrupted, or that finds what an interrupted one has left."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.lane_shop import (
    LANE,
    command_of,
    daemon_of,
    environ_of,
    kept,
    matrix,
    ran,
    shop,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.packages import World

pytestmark = pytest.mark.processes

__all__ = ["shop", "world"]

CTRL_C_AND_HANG_UP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def driving(shop: World, story: str, line: str) -> Iterator[subprocess.Popen[str]]:
    """A driver that runs with a story, and has written a line to its standard error."""
    (shop.folder / "story.json").write_text(story)
    command, environ = command_of(shop), environ_of(shop)
    with subprocess.Popen(
        command, env=environ, stderr=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stderr
        assert any(line in output for output in driver.stderr)
        yield driver


def environments(shop: World) -> list[str]:
    """The names of the environments that are there."""
    return [place.name for place in (shop.folder / "environments").iterdir()]


@pytest.mark.parametrize("number", CTRL_C_AND_HANG_UP)
def test_an_interruption_leaves_nothing_running(
    shop: World, number: signal.Signals
) -> None:
    """Even a daemon in a session of its own is ended, and the environment is deleted."""
    with driving(shop, '{"hang": ["a"]}', "checking a") as driver:
        pid = daemon_of(shop)
        driver.send_signal(number)
        assert driver.stderr
        rest = driver.stderr.read()
    assert driver.returncode == 130, rest
    assert not Path(f"/proc/{pid}").exists()
    assert environments(shop) == []


def test_a_driver_that_is_killed_takes_the_checks_along(shop: World) -> None:
    """What it could not delete, the next one does, whichever lanes that runs."""
    with driving(shop, '{"hang": ["a"]}', "checking a") as driver:
        left = daemon_of(shop)
        pid = int((shop.folder / "hanging").read_text())
        driver.kill()
        while Path(f"/proc/{pid}").exists():
            pass  # until pytest's own time is over
    with contextlib.suppress(ProcessLookupError):  # it may have ended with its leader
        # What the stand-in, unlike the real checks, leaves.
        os.killpg(pid, signal.SIGKILL)
    os.kill(left, signal.SIGKILL)
    assert environments(shop) == ["a"]
    assert matrix(shop, "--lanes", "0.32.0").returncode == 0
    assert environments(shop) == []


def test_an_environment_that_was_there_stays(shop: World) -> None:
    """One that `--keep` has left to its user is not deleted by the next run."""
    assert matrix(shop, "--lanes", "0.31.0", "--keep").returncode == 0
    assert matrix(shop, "--fresh").returncode == 0
    assert environments(shop) == ["a"]


def test_a_closed_pipe_leaves_no_environment(shop: World) -> None:
    """`make matrix 2>&1 | head -1` leaves no environment."""
    with driving(shop, '{"hang": ["b"]}', "checking a") as driver:
        assert driver.stderr
        driver.stderr.close()
    assert driver.returncode in (120, 130)  # 120: Python could not flush it either
    assert environments(shop) == []


def test_a_second_driver_at_a_time_is_refused(shop: World) -> None:
    """It touches nothing, and ends with exit code 2."""
    lock = shop.folder / "results" / "lock"
    (lock.parent / "made").mkdir(parents=True)
    (lock.parent / "made" / "a").touch()
    (shop.folder / "environments" / "a").mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = matrix(shop)
    assert (done.returncode, done.stderr) == (2, "matrix: another make matrix runs\n")
    assert environments(shop) == ["a"]


def test_each_lane_is_kept_as_it_ends(shop: World) -> None:
    """What has run is in the table, whatever becomes of the lanes after it."""
    with driving(shop, '{"hang": ["b"]}', "checking b") as driver:
        assert [*kept(shop)] == ["0.31.0"]
        driver.send_signal(signal.SIGINT)


def test_an_environment_for_which_there_is_no_room_fails_its_lane(shop: World) -> None:
    """The other lanes are run."""
    file = shop.folder / "lanes.toml"
    file.write_text(
        LANE.format(release="0.30.0", environment="full") + file.read_text()
    )
    done = matrix(shop)
    assert (done.returncode, ran(shop)) == (1, ["a", "b", "c"])
    assert (
        "0.30.0: environment: failed with vllm 0.30.0, ray 2.60.0: no space left"
        in done.stdout
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"lanes": 1}'])
def test_results_that_cannot_be_read_are_one_error(shop: World, text: str) -> None:
    """Nothing is run that could not be kept."""
    file = shop.folder / "compatibility.json"
    file.write_text(text)
    done = matrix(shop)
    assert (done.returncode, ran(shop), file.read_text()) == (2, [], text)
    assert done.stderr.startswith(f"matrix: {file}: found no results (")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "[]", "1"])
def test_a_kept_result_that_is_none_is_run_again(shop: World, text: str) -> None:
    """The lane is run as if there were no file."""
    matrix(shop)
    ran(shop)
    (shop.folder / "results" / "0.32.0.json").write_text(text)
    assert (matrix(shop).returncode, ran(shop)) == (0, ["b"])


def test_a_kept_result_that_was_edited_is_run_again(shop: World) -> None:
    """Its seal says so; one that was never sealed is kept, and gets no seal."""
    matrix(shop)
    ran(shop)
    for name in ("0.31.0", "0.32.0"):
        file = shop.folder / "results" / f"{name}.json"
        result = json.loads(file.read_text())
        if name == "0.31.0":
            del result["seal"]
        else:
            result["megabytes"] = 1
        file.write_text(json.dumps(result))
    assert (matrix(shop).returncode, ran(shop)) == (0, ["b"])
    assert ["seal" in result for result in kept(shop).values()] == [False, True, True]
