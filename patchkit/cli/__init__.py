"""The command `patchkit`: one file a command, with its `--format json`."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0: fine, 1: findings, 2: wrong use or broken input."""
    from patchkit.cli.app import run  # noqa: PLC0415 - who imports the package needs no click

    return run(argv)
