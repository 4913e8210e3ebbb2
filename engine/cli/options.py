"""The options that commands share: names, help, and how they are read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Project: TypeAlias = Annotated[
    Path | None,
    typer.Option("--project", metavar="DIR", help="The project's directory; else searched upwards from here; e.g. --project shop"),
]
Target: TypeAlias = Annotated[
    str | None,
    typer.Option("--target", metavar="NAME", help="The target in interlock.toml; else its default; e.g. --target dev"),
]
Variables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--vars", metavar="NAME=VALUE", help="Another value for a variable; may be repeated; e.g. --vars region=EU"),
]
Json: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object (specs/schemas/output.json) instead of text."),
]
Wait: TypeAlias = Annotated[
    float | None,
    typer.Option("--wait", min=0, metavar="SECONDS", help="Wait so long for a database that is in use; e.g. --wait 60"),
]
Select: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        "-s",
        metavar="TERM...",
        help="Only these models: a name, +name, name+, tag:, path:, state:modified; a,b is both; e.g. --select +fct_orders tag:daily",
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="TERM...", help="Not these models, in the same terms; e.g. --exclude tag:slow"),
]


class FindingsFormat(StrEnum):
    """Formats of findings."""

    TEXT = "text"
    GITHUB = "github"
    SARIF = "sarif"


FindingsAs: TypeAlias = Annotated[
    FindingsFormat,
    typer.Option("--format", help="How findings are written: for people, as annotations of GitHub Actions, or SARIF; e.g. --format github"),
]
FullRefresh: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--full-refresh", metavar="MODEL", help="Build this incremental model or snapshot anew; may be repeated; e.g. --full-refresh events"
    ),
]
AllowShrink: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-shrink",
        metavar="MODEL",
        help="Let its full refresh end with less than it had; may be repeated; e.g. --allow-shrink events",
    ),
]
OnChange: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--on-change",
        metavar="MODEL=ACT",
        help="For a changed incremental model, once: refuse, rebuild or continue; e.g. --on-change events=rebuild",
    ),
]
Force: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--force", metavar="MODEL", help="Build it although nothing changed; may be repeated; e.g. --force dim_customers"),
]
DropOrphans: TypeAlias = Annotated[
    bool,
    typer.Option("--drop-orphans", help="Drop relations that no model makes any more."),
]
AsOf: TypeAlias = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="The time that $as_of stands for; else now; e.g. --as-of 2025-01-31T00:00:00Z"),
]
Low: TypeAlias = Annotated[
    str | None,
    typer.Option("--from", metavar="VALUE", help="Backfill partition and merge models from here; e.g. --from 2025-01-01"),
]
High: TypeAlias = Annotated[
    str | None,
    typer.Option("--to", metavar="VALUE", help="Backfill up to, and without, this; e.g. --to 2025-02-01"),
]
VerifyContent: TypeAlias = Annotated[
    bool,
    typer.Option("--verify-content", help="Compare the rows that stand there with their receipts' content fingerprints first."),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", help="Models at once; else the target's number; e.g. --threads 4"),
]
FailFast: TypeAlias = Annotated[
    bool,
    typer.Option("--fail-fast", help="Start nothing more once a model is refused."),
]
Unreviewed: TypeAlias = Annotated[
    bool,
    typer.Option("--unreviewed", help="Run against a protected target without a plan that was seen; it is recorded."),
]
Yes: TypeAlias = Annotated[
    bool,
    typer.Option("--yes", help="Do it without asking."),
]
Reason: TypeAlias = Annotated[
    str,
    typer.Option("--reason", metavar="TEXT", help='Why, for the ledger; e.g. --reason "restored a backup"'),
]
