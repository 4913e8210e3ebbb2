"""`diff --contracts`: promises that got weaker are breaking, with the columns that they reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.engine import api
from interlock.engine.cases import promises
from interlock.engine.diagnostics import Refused

CONFIG = '[project]\nid = "abc"\nname = "shop"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\ncreate = true\n'
CONTRACT = """\
materialized = "table"
[contract]
extra_columns = "refuse"
[contract.columns.id]
type = "BIGINT"
nullable = false
[contract.columns.size]
type = "BIGINT"
"""


def changed(root: Path, contract: str, *, runs: int = 1) -> dict[str, tuple[str, str, str]]:
    (root / "models").mkdir(parents=True)
    (root / "interlock.toml").write_text(CONFIG)
    (root / "models" / "a.sql").write_text("select 1::bigint as id, 2::bigint as size")
    (root / "models" / "a.toml").write_text(CONTRACT)
    (root / "models" / "b.sql").write_text("select size + 1 as more from a")
    for _ in range(runs):
        api.run(api.open_context(root, environment={}))
    (root / "models" / "a.toml").write_text(contract)
    found = api.diff_contracts(api.open_context(root, environment={}))
    assert found.exit_code == (3 if any(each.code for each in found.differences) else 0)
    return {each.subject: (each.planned, each.found, each.remedy) for each in found.differences}


@pytest.mark.parametrize(
    ("before", "after", "subject", "said", "kind"),
    [
        ("nullable = false\n", "", "a.id", "BIGINT", "breaking"),
        ('type = "BIGINT"\nnullable = false', "nullable = false", "a.id", "any type without nulls", "breaking"),
        ('[contract.columns.size]\ntype = "BIGINT"\n', '[contract.columns.size]\ntype = "BIGINT"\nnullable = false\n', "a.size", "BIGINT without nulls", "compatible"),
        ('extra_columns = "refuse"\n', "", "a.extra_columns", "allow", "breaking"),
    ],
)  # fmt: skip
def test_a_weaker_promise_is_breaking(before: str, after: str, subject: str, said: str, kind: str, tmp_path: Path) -> None:
    found = changed(tmp_path / "shop", CONTRACT.replace(before, after))
    assert list(found) == [subject]
    assert found[subject][1] == f"{said} ({kind})"


def test_a_column_that_is_no_longer_promised_says_what_it_reaches(tmp_path: Path) -> None:
    contract = CONTRACT.replace('[contract.columns.size]\ntype = "BIGINT"\n', "").replace('extra_columns = "refuse"\n', "")
    found = changed(tmp_path / "shop", contract)
    assert found["a.size"][1] == "no longer promised (breaking)"
    assert "b.more" in found["a.size"][2]


def test_nothing_changed(tmp_path: Path) -> None:
    assert changed(tmp_path / "shop", CONTRACT) == {}


def test_a_plan_that_did_nothing_for_a_model_promised_nothing_else(tmp_path: Path) -> None:
    assert changed(tmp_path / "same", CONTRACT, runs=3) == {}
    found = changed(tmp_path / "gone", 'materialized = "table"\n', runs=3)
    assert {subject: said for subject, (_, said, _) in found.items()} == {
        "a.id": "no longer promised (breaking)",
        "a.size": "no longer promised (breaking)",
        "a.extra_columns": "allow (breaking)",
    }


def test_without_a_plan_that_was_applied_there_is_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text(CONFIG)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.sql").write_text("select 1 as id")
    with pytest.raises(Refused) as refusal:
        api.diff_contracts(api.open_context(tmp_path, environment={}))
    assert refusal.value.findings[0].code == "P401"


class Shop:
    """A project whose model `a` is edited, applied, and compared again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "models").mkdir(parents=True)
        (root / "interlock.toml").write_text(CONFIG)
        self.write("models/a.sql", "select 1::bigint as id, 2::bigint as size")
        self.write("models/b.sql", "select size + 1 as more from a")

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)

    def promise(self, text: str) -> None:
        self.write("models/a.toml", f'materialized = "table"\n{text}')

    def run(self, *select: str) -> None:
        api.run(api.open_context(self.root, environment={}), select=select)

    def changes(self) -> dict[str, str]:
        """What is found now, by subject."""
        found = api.diff_contracts(api.open_context(self.root, environment={}))
        assert all(bool(each.code) == each.found.endswith("(breaking)") for each in found.differences)
        assert found.exit_code == (3 if any(each.code for each in found.differences) else 0)
        return {each.subject: each.found for each in found.differences}


ID = "[contract.columns.id]\n"
RATING = '[[checks]]\nname = "rated"\n'


@pytest.mark.parametrize(
    ("strong", "weak", "subject", "now", "before"),
    [
        (f"{ID}protected = true\n", ID, "a.id", "any type", "any type, protected"),
        (f'{ID}type = "BIGINT"\nprotected = true\n', f'{ID}type = "BIGINT"\n', "a.id", "BIGINT", "BIGINT, protected"),
        (f"{ID}nullable = false\n", ID, "a.id", "any type", "any type without nulls"),
        (f'{ID}type = "BIGINT"\n', ID, "a.id", "any type", "BIGINT"),
        (f'{ID}type = "BIGINT"\n', f'{ID}type = "BIGINT"\nassignable = true\n', "a.id", "any type that fits BIGINT", "BIGINT"),
        (
            f'{ID}type = "BIGINT"\nassignable = true\n',
            f'{ID}type = "HUGEINT"\nassignable = true\n',
            "a.id",
            "any type that fits HUGEINT",
            "any type that fits BIGINT",
        ),
        (f'[contract]\nextra_columns = "refuse"\n{ID}[contract.columns.size]\n', f"{ID}[contract.columns.size]\n", "a.extra_columns", "allow", "refuse"),
        ('[[checks]]\nunique = ["id"]\n', "", "a.checks.unique_id", "no longer asked", "not asked"),
        ('[[checks]]\nnot_null = ["id"]\n', '[[checks]]\nnot_null = ["id"]\nseverity = "warn"\n', "a.checks.not_null_id", "warn", "error"),
        (f'{RATING}expression = "id > 0"\n', f'{RATING}expression = "id > 0"\nafter = "publication"\n', "a.checks.rated", "error after publication", "error"),
        (f'{RATING}expression = "id > 0"\n', f'{RATING}expression = "id > -5"\n', "a.checks.rated", "error, and it asks something else", None),
        (f'{RATING}unique = ["id"]\n', f'{RATING}unique = ["id", "size"]\n', "a.checks.rated", "error, and it asks something else", None),
        (f'{RATING}accepted_values = {{ column = "id", values = [1] }}\n', f'{RATING}accepted_values = {{ column = "id", values = [1, 2] }}\n', "a.checks.rated", "error, and it asks something else", None),
        (f'{RATING}sql = "select * from a where id > 9"\n', f'{RATING}sql = "select * from a where id > 99"\n', "a.checks.rated", "error, and it asks something else", None),
        (f'{RATING}expression = "id > 0"\nafter = "publication"\n', "", "a.checks.rated", "no longer asked", "not asked"),
    ],
)  # fmt: skip
def test_what_is_taken_back_is_breaking_and_what_is_added_is_not(
    strong: str, weak: str, subject: str, now: str, before: str | None, tmp_path: Path
) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(strong)
    shop.run()
    assert shop.changes() == {}
    shop.promise(weak)
    assert shop.changes() == {subject: f"{now} (breaking)"}
    if before is None:
        return  # a question that is another one may be weaker in either direction
    shop.run()
    assert shop.changes() == {}
    shop.promise(strong)
    found = shop.changes()
    assert list(found) == [subject]
    assert found[subject].endswith("(compatible)")


@pytest.mark.parametrize("weak", ["", f'{RATING}expression = "id > 0"\nseverity = "error"\n'])
def test_a_check_that_only_warned_was_no_promise(weak: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f'{RATING}expression = "id > 0"\nseverity = "warn"\n')
    shop.run()
    shop.promise(weak)
    assert [said.rpartition(" ")[2] for said in shop.changes().values()] == ["(compatible)"]


def test_a_column_that_fits_in_another_way_keeps_its_promise(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f'{ID}type = "HUGEINT"\nassignable = true\n')
    shop.write("models/a.sql", "select 1::integer as id, 2::bigint as size")
    shop.run()
    shop.write("models/a.sql", "select 1::bigint as id, 2::bigint as size")
    assert shop.changes() == {}


def test_a_check_that_is_laid_out_otherwise_asks_the_same(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f'{RATING}expression = "id > 0"\n[contract.columns.id]\ntype = "BIGINT"\n')
    shop.run()
    shop.promise(f'{RATING}expression = "id  >  0 -- all"\n')
    assert shop.changes() == {"a.id": "no longer promised (breaking)"}


def test_a_run_that_refused_the_model_took_nothing_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\nprotected = true\n")
    shop.run()
    withdrawn = {"a.id": "any type, protected (breaking)", "a.checks.rated": "error (compatible)"}
    shop.promise(f'{ID}protected = true\n{RATING}expression = "id = 2"\n')
    assert shop.changes() == withdrawn
    for _ in range(2):
        shop.run()  # the check fails: what was promised with the head stands
        assert shop.changes() == withdrawn
    shop.promise(f"{ID}protected = true\n")
    shop.run()
    assert shop.changes() == {}


def test_a_model_that_was_never_written_promised_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f'{ID}nullable = false\n{RATING}expression = "id = 2"\n')
    shop.run()
    shop.promise("")
    assert shop.changes() == {}


def test_a_run_of_other_models_took_nothing_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\n")
    shop.run()
    shop.write("models/c.sql", "select 1 as one")
    shop.promise("")
    shop.run("c")
    assert shop.changes() == {"a.id": "no longer promised (breaking)"}


def test_a_rename_took_nothing_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\n")
    shop.run()
    (shop.root / "models/a.sql").rename(shop.root / "models/z.sql")
    (shop.root / "models/a.toml").unlink()
    shop.write("models/b.sql", "select size + 1 as more from z")
    shop.write("models/z.toml", f'materialized = "table"\nrenamed_from = "a"\n{ID}nullable = false\n')
    shop.run()
    assert shop.changes() == {}
    shop.write("models/z.toml", 'materialized = "table"\nrenamed_from = "a"\n')
    assert shop.changes() == {"z.id": "no longer promised (breaking)"}


def test_a_promise_that_no_saved_plan_holds_is_not_taken_for_kept(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\n")
    shop.run()
    first = {path.name for path in shop.root.rglob("plans/*.json")}
    assert first
    shop.write("models/c.sql", "select 1 as one")
    shop.run("c")
    for path in shop.root.rglob("plans/*.json"):
        if path.name in first:
            path.unlink()
    assert shop.changes() == {}
    shop.promise("")
    found = shop.changes()
    assert list(found) == ["a.promise"]
    assert found["a.promise"].endswith("(breaking)")


def test_a_model_that_is_gone_is_told_until_the_whole_project_was_applied_without_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\n")
    shop.run()
    (shop.root / "models/b.sql").unlink()
    (shop.root / "models/a.sql").unlink()
    (shop.root / "models/a.toml").unlink()
    shop.write("models/c.sql", "select 1 as one")
    shop.run("c")
    assert shop.changes() == {"a.id": "the model is gone (breaking)"}
    shop.write("models/c.sql", "select 2 as one")
    shop.run()
    assert shop.changes() == {}


def test_who_reads_the_model_is_told_what_is_no_longer_checked(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise('[[checks]]\nunique = ["id"]\n')
    shop.run()
    shop.promise("")
    (found,) = api.diff_contracts(api.open_context(shop.root, environment={})).differences
    assert found.remedy == "tell who reads it: it reaches b"


def test_what_was_not_changed_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise(f"{ID}nullable = false\n")
    shop.run()
    for number in range(4):
        shop.write("models/c.sql", f"select {number} as one")
        shop.run("c")
    read: list[str] = []
    real = promises.load
    monkeypatch.setattr(promises, "load", lambda directory, plan, elsewhere: read.append(plan) or real(directory, plan, elsewhere))
    assert shop.changes() == {}
    assert len(read) == 1
    shop.promise("")
    assert shop.changes() == {"a.id": "no longer promised (breaking)"}
    assert len(read) == 1 + 5


def test_its_own_checks_are_not_those_who_read_a_column(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.promise('[contract.columns.size]\nprotected = true\n[[checks]]\nnot_null = ["size"]\n')
    shop.run()
    shop.promise('[contract.columns.size]\n[[checks]]\nnot_null = ["size"]\n')
    (found,) = api.diff_contracts(api.open_context(shop.root, environment={})).differences
    assert found.remedy == "tell who reads it: it reaches b.more"


def test_a_check_that_reads_the_time_of_the_plan_asks_the_same_at_another_time(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    dated = '[[checks]]\nname = "past"\nexpression = "id < {} OR $as_of > TIMESTAMPTZ \'2020-01-01\'"\n'
    shop.promise("[contract.columns.size]\nprotected = true\n" + dated.format(5))
    shop.run()
    shop.promise("[contract.columns.size]\n" + dated.format(5))
    assert shop.changes() == {"a.size": "any type (breaking)"}
    shop.promise("[contract.columns.size]\nprotected = true\n" + dated.format(6))
    assert shop.changes() == {"a.checks.past": "error, and it asks something else (breaking)"}
