"""Write the generated pages: `python -m interlock.engine.diagrams [SPECS]`."""

from __future__ import annotations

import sys
from pathlib import Path

from interlock.engine.diagrams.markdown import pages


def main(arguments: list[str]) -> None:
    """Write every page under the given directory, by default the `specs` beside this package."""
    specs = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "specs"
    for path, text in pages().items():
        page = specs / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
