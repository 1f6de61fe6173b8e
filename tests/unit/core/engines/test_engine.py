from __future__ import annotations

import importlib
from typing import Any

import pytest

from patchkit.core.engines.engine import Engine, Server, check_engine, server_in
from patchkit.core.engines.entry_points import OWN_ENGINES, own_engines
from patchkit.core.rows.declaration import Role, names_of, roles_named
from patchkit.core.rows.processes import ProcessRow
from patchkit.errors import EngineError

VLLM, SGLANG = own_engines()
ROW = ProcessRow("name", "Mine-", Role.WORKER)


def engine(**fields: Any) -> Engine:
    """A small engine that is in order, but for some fields."""
    return Engine(**{"name": "Mine", "package": "mine", "processes": (ROW,), **fields})


def test_own_engines_are_found_by_their_modules() -> None:
    """Each of these modules holds one engine, named like the module."""
    for module, own in zip(OWN_ENGINES, own_engines(), strict=True):
        assert importlib.import_module(module).ENGINE is own
        assert own.package == module.rpartition(".")[2]


def test_an_engine_that_is_in_order() -> None:
    """It is returned as it is, beside those that are there."""
    mine = engine(configuration="mine_settings", digest_in="_patches")
    assert check_engine("here", mine, own_engines()) is mine


@pytest.mark.parametrize(
    ("given", "place", "found", "expected"),
    [
        (None, "", "None", "an Engine"),
        (engine(name=""), ".name", "''", "the name of the engine"),
        (engine(name=3), ".name", "3", "a string"),
        (engine(package="my.engine"), ".package", "'my.engine'", "a top-level package"),
        (engine(package="vllm"), ".package", "which another engine has", "another"),
        (engine(titles="Mine::"), ".titles", "'Mine::'", "a tuple"),
        (engine(plugins_since="new"), ".plugins_since", "'new'", "a release, or ''"),
        (engine(helper="mine.helper"), ".helper", "'mine.helper'", "'module:qualname'"),
        (engine(helper=".:."), ".helper", "'.:.'", "'module:qualname'"),
        (engine(titles=("",)), ".titles", "''", "what titles begin with"),
        (engine(servers=("x serve",)), ".servers", "'x serve'", "a Server with words"),
        (engine(servers=(Server((), "1"),)), ".servers", "Server(", "a Server with"),
        (engine(servers=(Server(5, "1"),)), ".servers", "Server(", "a Server with"),  # type: ignore[arg-type]
        (engine(servers=(Server((1,), "1"),)), ".servers", "Server(", "a Server with"),  # type: ignore[arg-type]
        (engine(servers=(Server(("x",), 1),)), ".servers", "Server(", "a Server with"),  # type: ignore[arg-type]
        (
            engine(processes=(ProcessRow("call", "x:f.<locals>.g", Role.MAIN),)),
            ", PROCESSES[0].what",
            "'x:f.<locals>.g'",
            "'module:qualname'",
        ),
        (
            engine(processes=(ProcessRow("name", 5, Role.MAIN),)),  # type: ignore[arg-type]
            ", PROCESSES[0].what",
            "5",
            "'module:qualname', or a string",
        ),
        (engine(digest_in="a b"), ".digest_in", "'a b'", "the name of an attribute"),
        (engine(digest_in="_a"), ".digest_in", "'_a'", "set where `configuration` is"),
        (
            engine(processes=(ROW, ROW)),
            ", PROCESSES[1].what",
            "'Mine-', which another row has",
            "another",
        ),
        (
            engine(processes=VLLM.processes[:1]),
            ", PROCESSES[0].what",
            "which another row has",
            "another",
        ),
    ],
)
def test_a_malformed_engine_is_refused(
    given: Any, place: str, found: str, expected: str
) -> None:
    """The error names where it is declared, the field, what was found and what was expected."""
    with pytest.raises(EngineError) as raised:
        check_engine("distribution mine", given, own_engines())
    message = str(raised.value)
    assert message.startswith(f"distribution mine, ENGINE{place}: found ")
    assert found in message
    assert expected in message.partition(", expected ")[2]


@pytest.mark.parametrize(
    ("command", "port"),
    [
        ("vllm serve MODEL", "8000"),
        ("/usr/bin/vllm serve MODEL", "8000"),
        ("nice -n 5 sglang serve --model-path MODEL", "30000"),
        ("python -m sglang.launch_server --model-path MODEL", "30000"),
        ("vllm bench serve", None),
        ("python serve.py vllm", None),
        ("", None),
    ],
)
def test_the_server_that_a_command_starts(command: str, port: str | None) -> None:
    """It is known by words that follow one another; programs may be paths."""
    server = server_in(command.split(), own_engines())
    assert (server.port if server else None) == port


def test_where_the_words_of_a_server_begin() -> None:
    """The position is that of the first word, which a later mention does not move."""
    server = Server(("vllm", "serve"), "8000")
    assert server.position_in(["a", "bin/vllm", "serve", "vllm", "serve"]) == 1
    assert server.position_in(["vllm"]) is None


@pytest.mark.parametrize("roles", [(), (Role.MAIN,), (Role.WORKER, Role.ENGINE_CORE)])
def test_roles_as_one_word(roles: tuple[Role, ...]) -> None:
    """What `names_of` writes, in one order, `roles_named` reads."""
    assert roles_named(names_of(roles)) == frozenset(roles)
    assert names_of(reversed(roles)) == names_of(roles)


def test_a_word_that_names_no_role() -> None:
    """Among names of roles, any other word is a ValueError."""
    with pytest.raises(ValueError, match="chief"):
        roles_named("worker,chief")


def test_the_scheduler_of_sglang_is_engine_core_and_worker() -> None:
    """Its rows have both roles, and no row of SGLang is a row of vLLM."""
    by_what = {row.what: row for row in SGLANG.processes}
    scheduler = by_what["sglang.srt.managers.scheduler:run_scheduler_process"]
    assert scheduler.roles == {Role.ENGINE_CORE, Role.WORKER}
    assert by_what.keys().isdisjoint(row.what for row in VLLM.processes)
