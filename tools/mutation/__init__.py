"""How many of a sample of broken lines the unit tests notice: see `__main__`."""
