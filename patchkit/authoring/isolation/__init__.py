"""Runs programs of others without a network, and with a folder of their own to write into."""
