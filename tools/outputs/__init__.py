"""Outputs of the command line on fixed inputs, to prove that a refactoring changes none of them."""
