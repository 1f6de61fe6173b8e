"""Prepares changes of every kind: checks each one, so that it can be applied later, or refuses it.

`objects` does this for Replace, Wrap and Add, `source` for Edit, `fields` for AddField, and
`modules` for Provide, BeforeImport and AfterImport. None of these imports another one; the modules
beside them are shared by all.
"""
