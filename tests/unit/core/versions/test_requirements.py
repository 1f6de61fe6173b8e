"""What versions count as, and what requirements ask for: laws over generated and real ones."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from support import strategies
from support.programs import program
from support.sampling import examples
from support.strategies import Drawn, bounds, versions

from patchkit.core.versions.requirements import (
    FoundVersion,
    allows_any,
    check_requirement,
    holds_between,
    parse_requirement,
    parse_version,
    satisfies,
)
from patchkit.errors import RequirementError, VersionError


def counts_as(version: str) -> str:
    """The release that a version counts as."""
    return FoundVersion("", version, "").counts_as


ROOT = Path(__file__).parents[4]
DATA = Path(__file__).parents[2] / "data"
DIGITS = "9" * 5_000
"""More digits than Python converts to a number."""

_REAL = re.compile(r"([0-9]+(?:\.[0-9]+)*)(rc[0-9]+)?(?:\.post([0-9]+))?")


def real(name: str) -> list[Drawn]:
    """The published versions of a distribution, read by a parser of the test's own."""
    drawn = []
    for text in (DATA / f"versions_{name}.txt").read_text(encoding="utf-8").split():
        match = _REAL.fullmatch(text)
        assert match, text
        release = tuple(map(int, match[1].split(".")))
        drawn.append(Drawn(text, 0, release, int(match[3]) if match[3] else None))
    return drawn


REAL = [*real("vllm"), *real("ray")]
ANY = versions() | st.sampled_from(REAL)
BOUND = bounds() | st.sampled_from(REAL)


SPECIFIERS = st.lists(
    st.tuples(
        st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]), st.sampled_from(REAL)
    ),
    min_size=1,
    max_size=3,
)


class TestLaws:
    @given(ANY, BOUND)
    @example(Drawn("0.12.0rc1", 0, (0, 12, 0), None), Drawn("0.12", 0, (0, 12), None))
    @example(
        Drawn("0.12.0.dev1+g1", 0, (0, 12, 0), None), Drawn("0.12", 0, (0, 12), None)
    )
    @example(Drawn("0.5.0.post1", 0, (0, 5, 0), 1), Drawn("0.5.0", 0, (0, 5, 0), None))
    def test_order_is_that_of_the_releases(self, version: Drawn, bound: Drawn) -> None:
        """All four ordering operators say what the plain order of the two releases says."""
        answers = {
            op: satisfies(version.text, op + bound.text) for op in strategies.ORDERED
        }
        assert answers == {
            "<": version.key < bound.key,
            "<=": version.key <= bound.key,
            ">": version.key > bound.key,
            ">=": version.key >= bound.key,
        }

    @given(ANY, BOUND)
    def test_below_or_not_below(self, version: Drawn, bound: Drawn) -> None:
        """Of `<X` and `>=X`, and of `<=X` and `>X`, and of `==X` and `!=X`, exactly one holds."""
        for this, other in (("<", ">="), ("<=", ">"), ("==", "!=")):
            assert satisfies(version.text, this + bound.text) != satisfies(
                version.text, other + bound.text
            )

    @given(ANY, BOUND)
    def test_equal_is_the_same_release(self, version: Drawn, bound: Drawn) -> None:
        """`==X` holds for all that counts as the release X counts as, and for nothing else."""
        assert satisfies(version.text, "==" + bound.text) == (version.key == bound.key)

    @given(ANY, strategies.RELEASES, st.sampled_from([0, 1]))
    def test_wildcard_is_a_prefix(
        self, version: Drawn, prefix: tuple[int, ...], epoch: int
    ) -> None:
        """`==1.2.*` holds where the release begins so, and `!=1.2.*` holds elsewhere."""
        written = (f"{epoch}!" if epoch else "") + ".".join(map(str, prefix)) + ".*"
        padded = (*version.release, *([0] * len(prefix)))[: len(prefix)]
        expected = version.epoch == epoch and padded == prefix
        assert satisfies(version.text, f"=={written}") is expected
        assert satisfies(version.text, f"!={written}") is not expected

    @given(ANY, BOUND.filter(lambda bound: len(bound.release) > 1))
    def test_compatible_release(self, version: Drawn, bound: Drawn) -> None:
        """`~=1.2.3` holds from 1.2.3 on, as long as the release begins with 1.2."""
        prefix = bound.release[:-1]
        padded = (*version.release, *([0] * len(prefix)))[: len(prefix)]
        same = version.epoch == bound.epoch and padded == prefix
        expected = same and version.key >= bound.key
        assert satisfies(version.text, f"~={bound.text}") is expected

    @given(ANY)
    def test_normal_form(self, version: Drawn) -> None:
        """A version counts as its release, post part and epoch; what it counts as stays so."""
        normal = counts_as(version.text)
        epoch = f"{version.epoch}!" if version.epoch else ""
        post = "" if version.post is None else f".post{version.post}"
        assert normal == epoch + ".".join(map(str, version.release)) + post
        assert counts_as(normal) == normal

    @given(versions(local=False), strategies.LOCALS, BOUND)
    def test_local_part_never_decides(
        self, version: Drawn, local: str, bound: Drawn
    ) -> None:
        """A local part changes no answer, on the version's side or the bound's."""
        other = f"{version.text}+{local}"
        for op in (*strategies.ORDERED, "==", "!="):
            assert satisfies(version.text, op + bound.text) == satisfies(
                other, op + bound.text
            )
        assert satisfies(version.text, f"=={other}")
        assert satisfies(other, f"=={version.text}+something.else")

    @given(ANY, BOUND, BOUND)
    def test_bounds_are_all_asked(
        self, version: Drawn, low: Drawn, high: Drawn
    ) -> None:
        """Several bounds hold where each of them does."""
        expected = low.key <= version.key < high.key
        assert satisfies(version.text, f">={low.text}, <{high.text}") is expected

    def test_real_versions_by_real_versions(self) -> None:
        """Among all published versions, each is below exactly those that its release is below."""
        for name in ("vllm", "ray"):
            published = real(name)
            assert len(published) > 100
            keys = sorted({drawn.key for drawn in published})
            for drawn in published[:: 1 + len(published) // 40]:
                below = {
                    other.key
                    for other in published
                    if satisfies(other.text, f"<{drawn.text}")
                }
                assert sorted(below) == keys[: keys.index(drawn.key)]

    def test_arbitrary_equality_compares_text(self) -> None:
        """`===` compares the text as found, even where that says nothing else."""
        assert satisfies("0.12.0rc1", "===0.12.0RC1")
        assert not satisfies("0.12.0", "===0.12")
        assert satisfies("0.1.dev16577+gabc", "===0.1.dev16577+gabc")

    def test_no_bounds_hold(self) -> None:
        """A requirement without bounds holds for what cannot be compared."""
        assert satisfies("dev", "")


class TestSaysNothing:
    @pytest.mark.parametrize(
        "text",
        [
            "0.1.dev16577+g0abc123",
            "0.1.dev1",
            "0.0.1.dev2",
            "0.1.0.dev3",
            "0.0.post1.dev3+gabc",
        ],
    )
    def test_fallback_versions(self, text: str) -> None:
        """A dev build of release 0.1 or lower was numbered by nobody, and is refused."""
        with pytest.raises(VersionError, match="does not say which release"):
            counts_as(text)

    @pytest.mark.parametrize(
        "text", ["dev", "empty", "unknown", "", "0.11.x", "v", "latest"]
    )
    def test_what_is_no_version(self, text: str) -> None:
        """What cannot be parsed is refused, and the message shows it."""
        with pytest.raises(VersionError, match=re.escape(repr(text))):
            satisfies(text, ">=0.11")

    @pytest.mark.parametrize("text", [DIGITS, f"1.{DIGITS}", f"1+{DIGITS}"])
    def test_a_number_without_end_is_no_version(self, text: str) -> None:
        """Python refuses to convert it; so do we, as for other texts."""
        assert parse_version(text) is None
        with pytest.raises(VersionError, match="which is no version"):
            counts_as(text)

    @pytest.mark.parametrize(
        "text", ["0.1.0", "0.0.1", "0.1.7", "0.1rc1", "0.1.1.dev3", "1!0.1.dev1"]
    )
    def test_early_releases_say_something(self, text: str) -> None:
        """Only dev builds are suspected: 0.0.1 and 0.1.7 were published."""
        assert counts_as(text)

    def test_way_out_for_vllm(self) -> None:
        """For vLLM, the error says what was found and where, and asks for VLLM_VERSION."""
        with pytest.raises(VersionError) as caught:
            _ = FoundVersion("vllm", "0.1.dev16577+gabc", "distribution vllm").counts_as
        for words in (
            "vllm: found '0.1.dev16577+gabc' in distribution vllm",
            "Set VLLM_VERSION",
        ):
            assert words in str(caught.value)

    def test_way_out_for_others(self) -> None:
        """For another distribution, the error asks for PATCHKIT_VERSIONS with its name."""
        with pytest.raises(VersionError, match="Set PATCHKIT_VERSIONS=ray=release"):
            _ = FoundVersion("ray", "dev", "ray/_version.py").counts_as

    @given(st.text(max_size=12))
    def test_any_text_counts_or_is_refused(self, text: str) -> None:
        """Whatever the text, there is a release or a VersionError, never another exception."""
        with contextlib.suppress(VersionError):
            assert counts_as(counts_as(text)) == counts_as(text)


class TestRequirement:
    @given(strategies.nearly_requirements())
    @example("vllm>=0.11\n")
    @example("vllm>=0.11,")
    @example("ray==1*")
    @example("ray==1.*.1")
    @example("ray~=1")
    @example("ray>=1.*")
    @example("ray>=\u0661")
    @settings(max_examples=examples(few=50, many=200))
    def test_checked_as_packaging_does(self, text: str) -> None:
        """The short cut accepts nothing that packaging refuses, and refuses nothing it accepts."""
        try:
            allowed = Requirement(text).url is None
        except InvalidRequirement:
            allowed = False
        try:
            check_requirement(text)
            checked = True
        except RequirementError:
            checked = False
        assert checked is allowed

    @pytest.mark.processes
    @pytest.mark.parametrize(
        "text",
        [
            "vllm",
            "vllm>=0.11,<0.13",
            "torch_npu",
            "ray == 2.35.*",
            "vllm~=0.11.0rc1",
            "a!=1",
        ],
    )
    def test_plain_forms_need_no_packaging(self, text: str) -> None:
        """Checking a plain row imports neither packaging nor pathlib nor importlib.metadata."""
        command = [
            sys.executable,
            "-S",
            "-c",
            program(__file__, "plain_requirement"),
            text,
        ]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == ""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "vllm>=",
            "vllm>=0.11<0.13",
            ">=0.11",
            "vllm >= banana",
            "vllm; nothing > 1",
            f"vllm<{DIGITS}",
            f"vllm>=0.{DIGITS},==1.*",
            f"vllm>=1.0rc{DIGITS}",
        ],
    )
    def test_refused(self, text: str) -> None:
        """What is no requirement is refused with what was found and what was expected."""
        with pytest.raises(RequirementError) as caught:
            check_requirement(text)
        assert repr(text) in str(caught.value)
        assert "expected a name with bounds such as 'vllm>=0.11,<0.13'" in str(
            caught.value
        )

    def test_url_is_refused(self) -> None:
        """A requirement with a URL is refused: it names no versions."""
        with pytest.raises(RequirementError, match="URL names no versions"):
            check_requirement("vllm @ https://example.org/vllm.whl")

    @pytest.mark.parametrize("end", ["", " and more"])
    def test_url_is_not_shown(self, end: str) -> None:
        """It may have a password in it, whatever else is wrong with it."""
        with pytest.raises(RequirementError, match="found 'vllm @ …'") as caught:
            check_requirement(f"vllm @ https://me:cret@example.org/vllm.whl{end}")
        assert "cret" not in str(caught.value)

    def test_bounds_that_are_none(self) -> None:
        """Bounds that cannot be read are refused with the text."""
        with pytest.raises(RequirementError, match=r"found '0\.11'"):
            satisfies("0.11", "0.11")

    def test_parsed(self) -> None:
        """A requirement is read into packaging's own value."""
        assert parse_requirement("vllm>=0.11").name == "vllm"


@given(SPECIFIERS, st.sets(st.sampled_from(REAL), min_size=2))
def test_what_holds_between_two_releases_holds_for_each(
    clauses: list[tuple[str, Drawn]], chosen: set[Drawn]
) -> None:
    """A requirement that is decided for a run of releases is right about every one of them."""
    releases = sorted(chosen, key=lambda release: release.key)
    first = releases[0].text
    last = releases[-1].text
    bounds = ",".join(f"{operator}{bound.text}" for operator, bound in clauses)
    try:
        decided = holds_between(f"vllm{bounds}", first, last)
    except RequirementError:
        return  # `~=` of a version with one number
    answers = {satisfies(release.text, bounds) for release in releases}
    if decided is not None:
        assert answers == {decided}
    is_half_line = len(clauses) == 1 and clauses[0][0] in ("<", ">=")
    if is_half_line:
        assert decided is not None or len(answers) == 2


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("", True),
        (">=0.11,<0.14", True),
        (">=0.12,<0.14", None),
        ("<0.11", False),
        ("==0.11.*", None),
        ("==0.12.0", None),
        ("!=0.12.0", None),
        ("~=0.11", True),
        (">=0.14,==0.12.0", False),
    ],
)
def test_what_holds_from_0_11_to_0_13(bounds: str, expected: bool | None) -> None:
    """`holds_between` decides a requirement only if the answer is the same for all in between."""
    assert holds_between(f"vllm{bounds}", "0.11.0", "0.13.0") is expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["up"], True),
        (["up>=1,<2"], True),
        (["up>=2,<1"], False),
        (["up>=2", "up<2"], False),
        (["up>1,<1.0.1"], True),
        (["up==1.*,!=1.0"], True),
        (["up==1.*", "up>=2"], False),
        (["up>=1,<1.1,!=1.0.*"], False),
        (["up~=1.2,>1.2"], True),
        (["up~=1.2,>=2"], False),
        (["up>1!2,<1!3"], True),
        (["up===x,<1"], True),
        (["up>1.0,<1.0.post2"], True),
    ],
)
def test_whether_a_range_allows_any_release(texts: list[str], expected: bool) -> None:
    """`allows_any` says whether a release, published or not, could be within all of the bounds."""
    assert allows_any(texts) is expected


@given(versions(local=False), st.lists(strategies.clauses(), max_size=4))
def test_a_range_with_a_version_in_it_is_not_empty(
    version: Drawn, texts: list[str]
) -> None:
    """No range is called empty that a version is in."""
    holding = [f"up{text}" for text in texts if satisfies(version.text, text)]
    assert allows_any(holding)
