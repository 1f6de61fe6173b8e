"""Rows against upstream, as it lies in any release: findings, and a grid of patches by releases."""
