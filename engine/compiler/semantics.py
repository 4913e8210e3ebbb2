"""The version of what a project means."""

from __future__ import annotations

from typing import Final

SEMANTICS_VERSION: Final = 1
"""Raised only when the SQL that we make, or what a file means, changes."""
