"""`python -m benchmarks`: the same as `make bench`."""

import sys

from benchmarks.app import main

# The children that run the benchmarks import this file too.
if __name__ == "__main__":
    sys.exit(main())
