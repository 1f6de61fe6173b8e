"""A vendor's package; its patches for main and engine-core are `guide_platform.platform`."""
