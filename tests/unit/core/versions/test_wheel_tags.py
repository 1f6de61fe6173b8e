"""Which files pip would install on a machine, by the tags in their names."""

from __future__ import annotations

import pytest

from patchkit.core.versions.wheel_tags import Machine
from patchkit.errors import RequirementError

ARM = Machine("manylinux_2_28_aarch64", "3.12")
X86 = Machine("linux_x86_64", "3.11")
MAC = Machine("macosx_14_0_arm64", "3.11")
WINDOWS = Machine("win_amd64", "3.10")


@pytest.mark.parametrize(
    ("machine", "file", "is_taken"),
    [
        (ARM, "up-1-cp312-cp312-manylinux2014_aarch64.whl", True),
        (ARM, "up-1-cp38-abi3-manylinux_2_28_aarch64.whl", True),
        (ARM, "up-1-cp38-abi3-manylinux_2_31_aarch64.whl", False),
        (ARM, "up-1-cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", False),
        (ARM, "up-1-cp311-cp311-manylinux2014_aarch64.whl", False),
        (ARM, "up-1-cp313-abi3-linux_aarch64.whl", False),
        (ARM, "up-1-py3-none-any.whl", True),
        (X86, "up-1-cp38-abi3-manylinux_2_34_x86_64.whl", True),
        (X86, "up-1-cp38-abi3-manylinux1_x86_64.whl", True),
        (X86, "up-1-cp38-abi3-linux_x86_64.whl", True),
        (X86, "up-1-cp38-abi3-musllinux_1_2_x86_64.whl", False),
        (MAC, "up-1-cp38-abi3-macosx_11_0_arm64.whl", True),
        (MAC, "up-1-cp38-abi3-macosx_15_0_arm64.whl", False),
        (WINDOWS, "up-1-cp310-cp310-win_amd64.whl", True),
        (WINDOWS, "up-1-cp310-cp310-win32.whl", False),
        (X86, "up-1.whl", False),
        (Machine(), "up-1-py3-none-any.whl", True),
        (Machine(python="3.12"), "up-1-cp312-none-any.whl", True),
        (Machine(python="3.12"), "up-1-cp313-none-any.whl", False),
    ],
)
def test_wheels_that_a_machine_takes(
    machine: Machine, file: str, is_taken: bool
) -> None:
    """A wheel is taken if it has a tag of the machine, its Python, and its ABI."""
    assert (machine.place_of(file) is not None) is is_taken


def test_better_tags_and_higher_builds_come_first() -> None:
    """The best of a wheel's tags counts: for this Python, then for any. Build 10 is before 9."""
    files = [
        "up-1-10-cp311-cp311-linux_x86_64.whl",
        "up-1-9-cp311-cp311-linux_x86_64.whl",
        "up-1-cp311-cp311-linux_x86_64.whl",
        "up-1-cp38.cp311-abi3-linux_x86_64.whl",
        "up-1-cp310-abi3-linux_x86_64.whl",
        "up-1-py3-none-any.whl",
    ]
    places = [place for file in files if (place := X86.place_of(file))]
    assert len(places) == len(files)
    assert sorted(places) == places


@pytest.mark.parametrize(
    ("python", "bounds", "is_taken"),
    [
        ("3.12", ">=3.10,<3.13", True),
        ("3.9", ">=3.10", False),
        ("3.9", "", True),
        ("3.9", "no bounds", True),
        ("", ">=3", True),
    ],
)
def test_versions_of_python_that_a_file_is_for(
    python: str, bounds: str, is_taken: bool
) -> None:
    """Bounds that cannot be read exclude nothing, as in pip."""
    assert Machine(python=python).takes_python(bounds) is is_taken


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (
            Machine("Linux x86"),
            "--platform: found 'Linux x86', expected a platform tag",
        ),
        (Machine(python="3"), "--python: found '3', expected a version such as 3.12"),
    ],
)
def test_what_names_no_machine_is_refused(machine: Machine, message: str) -> None:
    """The error names the option, what was found, and what was expected."""
    with pytest.raises(RequirementError, match=message):
        machine.check()
    ARM.check()
    Machine().check()


def test_a_machine_is_named_in_words() -> None:
    """The text has the platform and the Python, of this machine where none is given."""
    assert str(ARM) == "manylinux_2_28_aarch64, CPython 3.12"
    assert "CPython 3." in str(Machine())


DIGITS = "9" * 5_000
"""More digits than Python converts to a number."""
MANY = ".".join(f"t{number}" for number in range(1_000))


@pytest.mark.parametrize(
    "file", [f"up-1-{DIGITS}-py3-none-any.whl", f"up-1-{MANY}-{MANY}-{MANY}.any.whl"]
)
def test_a_name_that_no_tool_writes_is_taken_by_no_machine(file: str) -> None:
    """Neither one with a build number of any length, nor one that stands for a billion tags."""
    assert X86.place_of(file) is None


def test_bounds_on_python_of_any_length_allow_every_version() -> None:
    """As with others that cannot be read."""
    assert X86.takes_python(f">=3.{DIGITS}")


def test_a_long_version_of_python_is_refused() -> None:
    """It is wrong use, as is any other text that is no version."""
    with pytest.raises(RequirementError, match="--python"):
        Machine(python=f"3.{DIGITS}").check()


@pytest.mark.parametrize(
    "platform", [f"manylinux_2_{DIGITS}_x86_64", f"macosx_{DIGITS}_0_arm64"]
)
def test_a_platform_of_any_number_is_a_tag_of_its_own(platform: str) -> None:
    """It is not counted down from."""
    machine = Machine(platform)
    machine.check()
    assert machine.place_of(f"up-1-py3-none-{platform}.whl") is not None
    assert machine.place_of("up-1-py3-none-linux_x86_64.whl") is None
