"""What of a profile changes answers: settings of the warehouse that a target here has too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interlock.engine.importers.dbt.collect import Found
from interlock.engine.importers.dbt.items import Item
from interlock.engine.importers.dbt.session import Rendering
from interlock.engine.importers.dbt.template import EVALUATION, CannotKeep
from interlock.engine.importers.dbt.yamls import table
from interlock.engine.warehouse.duckdb.settings import ANSWERS, COST_ONLY

_NULLS_GREATEST: Final = "nulls_last_on_asc_first_on_desc"
_NULLS_LEAST: Final = "nulls_first_on_asc_last_on_desc"
OF_WAREHOUSE: Final[Mapping[str, Mapping[str, str | bool]]] = {
    "postgres": {"default_null_order": _NULLS_GREATEST, "integer_division": True},
    "redshift": {"default_null_order": _NULLS_GREATEST, "integer_division": True},
    "snowflake": {"default_null_order": _NULLS_GREATEST},
    "bigquery": {"default_null_order": _NULLS_LEAST},
    "databricks": {"default_null_order": _NULLS_LEAST},
    "spark": {"default_null_order": _NULLS_LEAST},
}
"""What another warehouse does that DuckDB does too, if it is told to."""


def settings_of(found: Found) -> dict[str, str | int | bool]:
    """Settings for the new target; each key of the profile has its line in the report. Only known names are written."""
    profile = found.tree.profile
    kind = profile.get("type")
    if kind != "duckdb":
        return dict(OF_WAREHOUSE.get(str(kind), {}))
    names = {name.lower(): name for name in ANSWERS}
    made: dict[str, str | int | bool] = {}
    for key, value in table(profile.get("settings")).items():
        name = str(key).lower()
        if name in names:
            try:
                given: Any = found.session.value(value, Rendering("profiles.yml", found.session.root, of_project=True))
            except (CannotKeep, *EVALUATION) as error:
                _say(found, key, "refused", str(error), "give the target the setting by hand", "D810")
                continue
            if isinstance(given, str | int | bool):
                made[names[name]] = given
                _say(found, key, "converted", "a setting of the target")
            else:
                _say(found, key, "refused", "its value is no text, number or boolean", "give the target the setting by hand", "D810")
        elif name in COST_ONLY:
            _say(found, key, "documented", "it changes no answers")
        else:
            _say(
                found, key, "documented", "it was left out, and its value is written nowhere: give it to the target if its answers need it"
            )
    for key in ("extensions", "plugins", "secrets", "filesystems", "module_paths", "use_credential_provider", "config_options"):
        if profile.get(key):
            _say(found, key, "documented", "it was left out: nothing is loaded, and no secret is kept")
    return made


def _say(found: Found, key: Any, status: Any, why: str, remedy: str = "", code: str = "") -> None:
    path = "profiles.yml" if found.tree.profile_path == str(found.tree.root / "profiles.yml") else ""
    found.items.append(Item(kind="config", name=f"profile.{key}", status=status, path=path, why=why, remedy=remedy, code=code))
