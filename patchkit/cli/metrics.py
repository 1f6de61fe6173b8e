"""Serves the metrics of `patchkit status` to a scrape."""

from collections.abc import Callable
from contextlib import suppress

import click

from patchkit.analysis.status import Picture
from patchkit.cli.output import say
from patchkit.cli.report.status_metrics import PictureCollector, require_client


def serve(port: int, draw_now: Callable[[], Picture]) -> None:
    """Answer scrapes at a port until the user interrupts.

    Args:
        port: The port, on all addresses of this machine.
        draw_now: Returns the picture of now; it is called for each scrape.

    Raises:
        UsageError: prometheus_client is not installed, or the port is not free.
    """
    require_client()
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - an extra

    registry = CollectorRegistry(auto_describe=False)
    registry.register(PictureCollector(draw_now))
    try:
        server, thread = start_http_server(port, registry=registry)
    except OSError as error:
        raise click.UsageError(
            f"--port {port}: cannot be served ({error.strerror})"
        ) from error
    say(f"metrics are served at http://localhost:{port}/metrics")
    with suppress(KeyboardInterrupt):
        thread.join()
    server.shutdown()
    server.server_close()
