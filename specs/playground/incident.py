"""Plants an incident to be found: a load job of the old days was never switched off, and loads the newest page views once more.

It writes into the table by itself, as any program can that may open the file. What then happens, and how it is found, is told
in Interlock's `specs/incident.md`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

DATABASE = Path(__file__).parent / "shop.duckdb"

LOAD_AGAIN = """
INSERT INTO marts.fct_page_views
SELECT * FROM marts.fct_page_views
WHERE CAST(received_at AS DATE) = (SELECT CAST(max(received_at) AS DATE) FROM marts.fct_page_views)
"""


def main() -> None:
    """Load the newest day a second time."""
    with duckdb.connect(str(DATABASE)) as connection:
        (rows,) = connection.execute(LOAD_AGAIN).fetchone() or (0,)
    print(f"the old job loaded {rows} page views, which were there already")


if __name__ == "__main__":
    main()
