"""What a patched process loads: it watches imports, applies patches, and undoes them."""
