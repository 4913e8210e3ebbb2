"""A target's schema may come from the environment: it is a name, so it is shown, and the next command sees its new value."""

from __future__ import annotations

from pathlib import Path

from interlock.engine import api
from interlock.engine.project.environment import redactor

CONFIG = """[project]
id = "abc"
name = "shop"
[targets.dev]
type = "duckdb"
path = "${PLACE}.duckdb"
schema = "${TEAM}"
create = true
on_change = "rebuild"
"""


def test_each_command_takes_the_schema_of_its_own_environment(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "interlock.toml").write_text(CONFIG)
    (tmp_path / "models" / "a.sql").write_text("select 1 as id")
    (tmp_path / "models" / "a.toml").write_text('materialized = "table"')
    for team in ("analytics", "finance"):
        environment = {"TEAM": team, "PLACE": "hidden-place"}
        context = api.open_context(tmp_path, environment=environment)
        found = api.run(context)
        assert found.exit_code == 0
        assert found.body is not None
        assert [item.schema for item in found.body.items] == [team]
        assert redactor(context.project, environment)(f"{team} in hidden-place") == f"{team} in ***"
