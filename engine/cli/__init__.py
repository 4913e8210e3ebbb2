"""The command line: parse, call one use case, show, exit. The only room that knows typer."""

from interlock.engine.cli.entry import main

__all__ = ["main"]
