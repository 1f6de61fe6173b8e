"""Arms processes as Python starts: by a `.pth` in site-packages, or a `sitecustomize` of `run`."""
