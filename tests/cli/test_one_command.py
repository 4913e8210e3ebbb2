"""The command line is made only as far as it is needed, and is the same."""

from __future__ import annotations

from interlock.engine.cli import invocation


def test_a_command_that_is_made_alone_is_the_one_among_all() -> None:
    whole = invocation._command(None)
    assert len(whole.commands) > 20
    for name, command in whole.commands.items():
        alone = invocation._command(name)
        assert list(alone.commands) == [name]
        assert [param.name for param in alone.params] == [param.name for param in whole.params]
        below = [command, *getattr(command, "commands", {}).values()]
        found = [alone.commands[name], *getattr(alone.commands[name], "commands", {}).values()]
        assert [each.name for each in below] == [each.name for each in found]
        assert [[param.opts for param in each.params] for each in below] == [[param.opts for param in each.params] for each in found]
    assert list(invocation._command("no such command").commands) == list(whole.commands)
