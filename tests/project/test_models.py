from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from tests.project.files import MODEL, codes, one, place, project

from interlock.engine.project.models import EFFECT
from interlock.engine.project.project import Materialization, ModelFile

APPEND = 'materialized = "incremental"\nstrategy = "append"\nwatermark = "at"\n'
MERGE = 'materialized = "incremental"\nstrategy = "merge"\nwatermark = "at"\nunique_key = ["id"]\n'
PARTITION = 'materialized = "incremental"\nstrategy = "partition"\nwatermark = "at"\npartition = "day"\n'
SNAPSHOT = 'materialized = "snapshot"\nunique_key = ["id"]\nupdated_at = "at"\n'


def model(root: Path, sidecar: str, **files: str) -> ModelFile:
    found = project(root, {"models/m.toml": sidecar, **files})
    assert found.findings == (), found.findings
    return found.models["m"]


@pytest.mark.parametrize("sidecar", [APPEND, MERGE, PARTITION, SNAPSHOT, "", 'materialized = "ephemeral"\n', 'materialized = "table"\n'])
def test_a_sidecar_that_is_right_has_no_findings(tmp_path: Path, sidecar: str) -> None:
    model(tmp_path, sidecar)


def test_every_key_reaches_the_model(tmp_path: Path) -> None:
    found = model(
        tmp_path,
        APPEND + 'description = "d"\nunique_key = "id"\nlookback = "2 days"\nuntil = "none"\nfuture = "refuse"\nlate = "count"\n'
        'on_conflict = "keep"\non_change = "continue"\non_schema_change = "append_columns"\nfull_refresh = false\nrestrict = ["m.at"]\n'
        'guard = "content"\ndeterministic = true\nschema = "marts"\nalias = "Orders"\ntags = ["a", "b"]\nrenamed_from = "old"\n',
    )
    assert found == ModelFile(
        name="m",
        path="models/m.sql",
        sidecar="models/m.toml",
        text=MODEL,
        description="d",
        materialized="incremental",
        strategy="append",
        watermark="at",
        unique_key=("id",),
        lookback="2 days",
        until="none",
        future="refuse",
        late="count",
        on_conflict="keep",
        on_change="continue",
        on_schema_change="append_columns",
        full_refresh=False,
        restrict=("m.at",),
        guard="content",
        deterministic=True,
        schema="marts",
        alias="Orders",
        tags=("a", "b"),
        renamed_from="old",
    )


def test_whole_numbers_are_kept_as_written(tmp_path: Path) -> None:
    found = model(tmp_path, PARTITION.replace('"day"', "1000") + "lookback = 50\n")
    assert (found.partition, found.lookback) == ("1000", "50")


def test_a_partitioned_column_is_the_watermark_where_no_other_is_named(tmp_path: Path) -> None:
    found = model(tmp_path, 'materialized = "incremental"\nstrategy = "partition"\npartition = "day"\npartition_column = "d"\n')
    assert (found.watermark, found.partition_column) == ("d", "d")


def test_a_partitioned_column_may_be_named_beside_the_watermark_that_it_is(tmp_path: Path) -> None:
    found = model(tmp_path, PARTITION + 'partition_column = "AT"\n')
    assert (found.watermark, found.partition_column) == ("at", "AT")


@pytest.mark.parametrize(
    ("sidecar", "code", "key"),
    [
        ('materialized = "incremental"\nwatermark = "at"\n', "S105", "strategy"),
        ('materialized = "incremental"\nstrategy = "append"\n', "S105", "watermark"),
        (MERGE.replace('unique_key = ["id"]\n', ""), "S105", "unique_key"),
        (MERGE.replace('watermark = "at"\n', ""), "S105", "watermark"),
        (PARTITION.replace('partition = "day"\n', ""), "S105", "partition"),
        (PARTITION.replace('watermark = "at"\n', ""), "S105", "watermark"),
        (APPEND + 'partition = "day"\n', "S116", "partition"),
        (MERGE + 'partition_column = "d"\n', "S116", "partition_column"),
        (PARTITION + 'partition_column = "d"\n', "S116", "watermark"),
        (APPEND + 'lookback = "1 day"\n', "S116", "lookback"),
        (APPEND + 'on_conflict = "keep"\n', "S116", "on_conflict"),
        (MERGE + 'on_conflict = "keep"\n', "S116", "on_conflict"),
        (MERGE + 'lookback = "yesterday"\n', "S104", "lookback"),
        (MERGE + "lookback = -1\n", "S104", "lookback"),
        (APPEND + 'until = "5"\n', "S104", "until"),
        (APPEND + 'until = "soon"\n', "S104", "until"),
        (APPEND + 'restrict = ["at"]\n', "S104", "restrict"),
        (APPEND + 'restrict = ["nothing.at"]\n', "S104", "restrict[0]"),
        (PARTITION.replace('"day"', '"decade"'), "S104", "partition"),
        (PARTITION.replace('"day"', "0"), "S104", "partition"),
        (PARTITION.replace('"at"', '" "'), "S104", "watermark"),
        (SNAPSHOT.replace('unique_key = ["id"]\n', ""), "S105", "unique_key"),
        (SNAPSHOT.replace('updated_at = "at"\n', ""), "S105", "snapshot_by"),
        (SNAPSHOT.replace('updated_at = "at"\n', 'snapshot_by = "updated_at"\n'), "S105", "updated_at"),
        (SNAPSHOT + 'compare = ["a"]\n', "S116", "compare"),
        (SNAPSHOT + 'snapshot_by = "columns"\n', "S116", "updated_at"),
        (SNAPSHOT + 'until = "soon"\n', "S104", "until"),
        ('materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "columns"\nuntil = "none"\n', "S116", "until"),
        ('materialized = "snapshot"\nunique_key = ["id"]\nsnapshot_by = "columns"\nfuture = "hold"\n', "S116", "future"),
        (SNAPSHOT.replace('["id"]', '["id", "ID"]'), "S104", "unique_key"),
        (SNAPSHOT.replace('["id"]', "[]"), "S104", "unique_key"),
        ('schema = "Interlock"\n', "S108", "schema"),
        ('schema = "my schema"\n', "S108", "schema"),
        ('alias = "a.b"\n', "S108", "alias"),
        ('tags = ["a b"]\n', "S108", "tags[0]"),
        ('renamed_from = "M"\n', "S104", "renamed_from"),
        ('materialized = "ephemeral"\n[contract.columns.id]\nnullable = false\n', "S116", "contract.columns.id.nullable"),
        ("[contract]\n", "S105", "contract.columns"),
        ("[contract.columns]\n", "S105", "contract"),
        ("[contract.columns]\nid = 1\n", "S104", "contract.columns.id"),
        ('[contract.columns]\nid = "BIGINT"\nID = "BIGINT"\n', "C306", "contract.columns.ID"),
        ('[contract.columns]\nid = ""\n', "C304", "contract.columns.id"),
        ('[contract]\nextra = "refuse"\n[contract.columns]\nid = "BIGINT"\n', "S103", "contract.extra"),
        ('materialized = "tabel"\n', "S104", "materialized"),
        ("materialized = true\n", "S104", "materialized"),
        ('full_refresh = "false"\nmaterialized = "snapshot"\nunique_key = "id"\nupdated_at = "at"\n', "S104", "full_refresh"),
        ('matrialized = "table"\n', "S103", "matrialized"),
        ('unique_keys = ["id"]\n', "S103", "unique_keys"),
    ],
)
def test_a_sidecar_that_is_wrong_says_which_key(tmp_path: Path, sidecar: str, code: str, key: str) -> None:
    finding = one(project(tmp_path, {"models/m.toml": sidecar}))
    assert (finding.code, place(finding)[3]) == (code, key)
    assert finding.remedy


def test_a_misspelt_key_names_the_nearest(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"models/m.toml": 'description = "x"\n  matrialized = "table"\n'}))
    assert finding.remedy == "did you mean `materialized`?"
    assert place(finding)[:3] == ("models/m.toml", 2, 3)
    assert finding.at is not None
    assert (finding.at.length, finding.at.excerpt) == (11, '  matrialized = "table"')


def test_a_slip_in_a_key_or_its_value_is_not_also_a_missing_key(tmp_path: Path) -> None:
    merge = 'materialized = "incremental"\nstrategy = "merge"\nunique_key = "id"\nwatermark = "at"\n'
    value = one(project(tmp_path / "value", {"models/m.toml": merge.replace('"merge"', '"mrege"')}))
    assert (value.code, value.remedy) == ("S104", "did you mean `merge`?")
    key = one(project(tmp_path / "key", {"models/m.toml": merge.replace("unique_key", "uniqe_key")}))
    assert (key.code, key.remedy) == ("S103", "did you mean `unique_key`?")


def test_a_key_that_was_written_below_a_table_is_told_where_it_belongs(tmp_path: Path) -> None:
    found = one(project(tmp_path, {"models/m.sql": "SELECT 1 AS id", "models/m.toml": '[[checks]]\nunique = "id"\nalias = "x"\n'}))
    assert (found.code, found.remedy) == ("S103", "it is a key of the file itself: write it above the first line that begins with `[`")


def test_one_table_where_a_list_of_them_is_meant_says_how_its_heading_is_written(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"models/m.toml": '[checks]\nunique = ["id"]\n'}))
    assert (finding.code, finding.remedy) == ("S104", "write its heading as `[[checks]]`: there may be more than one")


VALUES = {
    "strategy": '"append"',
    "unique_key": '["id"]',
    "lookback": '"1 day"',
    "partition": '"day"',
    "until": '"none"',
    "future": '"hold"',
    "late": '"count"',
    "on_conflict": '"keep"',
    "on_change": '"rebuild"',
    "on_schema_change": '"refuse"',
    "full_refresh": "false",
    "restrict": '["m.at"]',
    "guard": '"content"',
    "snapshot_by": '"columns"',
    "compare": '["a"]',
    "hard_deletes": '"close"',
    "checks": '[{ unique = ["id"] }]',
}


@pytest.mark.parametrize(("key", "materialized"), list(product(EFFECT, get_args(Materialization))))
def test_a_key_without_effect_is_refused_and_no_other(tmp_path: Path, key: str, materialized: Materialization) -> None:
    found = project(tmp_path, {"models/m.toml": f'materialized = "{materialized}"\n{key} = {VALUES.get(key, chr(34) + "at" + chr(34))}\n'})
    useless = [finding for finding in found.findings if finding.code == "S116" and finding.summary == f"`{key}` has no effect"]
    assert bool(useless) == (materialized not in EFFECT[key])
    if useless:
        assert place(useless[0])[1] == 2


# --- defaults of folders ---


def test_the_nearest_default_wins_key_by_key_and_lists_replace(tmp_path: Path) -> None:
    found = project(
        tmp_path,
        {
            "models/_defaults.toml": 'materialized = "table"\nschema = "base"\ntags = ["all"]\n[[checks]]\nnot_null = "id"\n',
            "models/marts/_defaults.toml": 'schema = "marts"\ntags = ["marts"]\n',
            "models/marts/a.sql": MODEL,
            "models/marts/deep/b.sql": MODEL,
            "models/marts/deep/b.toml": 'tags = []\nschema = "b"\nchecks = []\n',
        },
    )
    assert found.findings == ()
    seen = {name: (file.materialized, file.schema, file.tags, len(file.checks)) for name, file in found.models.items()}
    assert seen == {
        "a": ("table", "marts", ("marts",), 1),
        "b": ("table", "b", (), 0),
        "m": ("table", "base", ("all",), 1),
    }


def test_a_default_that_does_not_fit_a_model_is_not_held_against_it(tmp_path: Path) -> None:
    defaults = 'schema = "s"\non_change = "rebuild"\nlate = "count"\n[[checks]]\nnot_null = "id"\n'
    found = project(tmp_path, {"models/_defaults.toml": defaults, "models/m.toml": 'materialized = "ephemeral"\n'})
    assert found.findings == ()
    assert (found.models["m"].schema, found.models["m"].on_change, found.models["m"].checks) == (None, None, ())


def test_a_folders_default_is_strict_too(tmp_path: Path) -> None:
    found = project(
        tmp_path, {"models/_defaults.toml": 'schema = "interlock"\nwatermark = "at"\nmaterialized = "tables"\ntags = ["x y"]\n'}
    )
    assert sorted(codes(found)) == ["S103", "S104", "S108", "S108"]


def test_a_default_reaches_seeds_and_other_folders_never(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"models/a/_defaults.toml": 'schema = "a"\n', "models/ab/x.sql": MODEL, "seeds/s.csv": "c\n1\n"}
    found = project(tmp_path, files)
    assert (found.models["x"].schema, found.models["m"].schema, found.seeds["s"].schema) == (None, None, None)


def test_a_finding_about_a_default_points_at_the_default(tmp_path: Path) -> None:
    found = project(
        tmp_path, {"models/_defaults.toml": 'until = "soon"\n', "models/m.toml": APPEND, "models/n.sql": MODEL, "models/n.toml": APPEND}
    )
    assert place(one(found))[:2] == ("models/_defaults.toml", 1)
