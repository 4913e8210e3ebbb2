"""How properties are tried: without deadlines, since machines differ; and in CI by fixed examples, so that a failure is the change's."""

from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, settings

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

sys.setrecursionlimit(20_000)
"""As reading the first text sets it: Hypothesis calls it a failure where a test changes it, whichever comes first."""
