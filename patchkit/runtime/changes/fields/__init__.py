"""AddField, and members of classes that are built from them: dataclasses, pydantic's classes."""
