"""A vendor's package; its patches for workers are the pack `guide_distributed.worker`."""
