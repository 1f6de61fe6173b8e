"""Provide, BeforeImport, AfterImport: a module that is lacking, and what runs beside one."""
