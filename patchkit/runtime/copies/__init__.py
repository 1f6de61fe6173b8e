"""Finds the copies of an original, repoints those that can be, and names the others.

A copy is found by identity, and known by where it was bound from: the same object elsewhere is
somebody else's. What `from x import y` left in a module and what a class body stored is repointed,
where the row's `rebind` says so. What holds one otherwise (a default, a closure, a container) is
out of reach.
"""
