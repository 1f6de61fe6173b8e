"""Which versions run here, found without importing them, and which releases they stand for."""
