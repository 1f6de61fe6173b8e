"""Prepares changes of every kind: each is looked at and may be refused, and is applied later.

Rooms hold what belongs together: `objects` (Replace, Wrap, Add), `source` (Edit), `fields`
(AddField), `modules` (Provide and import calls). They know nothing of one another; what lies
beside them, here, is shared by all.
"""
