"""Adds fields to dataclasses and pydantic's, and builds classes anew whose members change."""
