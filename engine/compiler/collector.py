"""The collector of cycles, while many objects are made that live on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No cycles are looked for in here, and what was made in here is not gone through afterwards.

    For work that makes syntax trees: these have no cycles, live until the end, and are most of what there is, so each pass over them
    finds nothing. What goes by its count of references is freed as ever. A second time in one process, what the first one left is
    looked at again.
    """
    enabled = gc.isenabled()
    gc.unfreeze()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
