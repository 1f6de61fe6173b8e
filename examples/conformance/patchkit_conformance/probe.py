"""Which platform vLLM finds here; a script, whose last line of output is one JSON object."""

from __future__ import annotations

import json


def main() -> None:
    """Ask vLLM and torch."""
    import torch
    from vllm.platforms import current_platform

    kind = current_platform.device_type
    asked = getattr(getattr(torch, kind, None), "device_count", None)
    count = asked() if asked else 1
    try:
        name = str(current_platform.get_device_name(0))
    except Exception:  # noqa: BLE001 - not every platform tells
        name = ""
    print(json.dumps({"platform": kind, "devices": count, "device": name}), flush=True)


if __name__ == "__main__":
    main()
