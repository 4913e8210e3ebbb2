from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.files import codes, one, place, project

from interlock.engine.project.project import SeedFile


def seed(root: Path, data: str, sidecar: str | None = None) -> SeedFile:
    found = project(root, {"seeds/s.csv": data, **({} if sidecar is None else {"seeds/s.toml": sidecar})})
    assert found.findings == (), found.findings
    return found.seeds["s"]


def test_cells_and_types_are_as_written(tmp_path: Path) -> None:
    found = seed(tmp_path, 'id,code,day,note\n1,007,2024-01-01,""\n2,,2024-01-02,"a, b"\n')
    assert [(column.name, column.type) for column in found.columns] == [
        ("id", "BIGINT"),
        ("code", "VARCHAR"),
        ("day", "DATE"),
        ("note", "VARCHAR"),
    ]
    assert found.rows == (("1", "007", "2024-01-01", ""), ("2", None, "2024-01-02", "a, b"))


def test_declared_types_win_by_name_whatever_their_order(tmp_path: Path) -> None:
    found = seed(tmp_path, "a,b,C\n1,2,3\n", 'columns = { c = "INTEGER", a = "VARCHAR" }\n')
    assert [(column.name, column.type) for column in found.columns] == [("a", "VARCHAR"), ("b", "BIGINT"), ("C", "INTEGER")]
    assert found.rows == (("1", "2", "3"),)


def test_a_sidecar_says_the_rest(tmp_path: Path) -> None:
    sidecar = 'description = "d"\ndelimiter = ";"\nschema = "ref"\nalias = "S2"\ntags = ["t"]\nrenamed_from = "old"\n'
    sidecar += '[contract.columns.a]\nnullable = false\n[[checks]]\nunique = "a"\n'
    found = seed(tmp_path, "a;b\n1;2,3\n", sidecar)
    assert (found.description, found.delimiter, found.schema, found.relation_name, found.tags) == ("d", ";", "ref", "S2", ("t",))
    assert (found.renamed_from, found.sidecar, [check.name for check in found.checks]) == ("old", "seeds/s.toml", ["unique_a"])
    assert found.rows == (("1", "2,3"),)


def test_the_digest_is_of_bytes_and_dialect(tmp_path: Path) -> None:
    plain = seed(tmp_path / "a", "a\n1\n").content_digest
    assert plain == seed(tmp_path / "b", "a\n1\n", 'description = "d"\n').content_digest
    assert plain != seed(tmp_path / "c", "a\n1").content_digest
    assert plain != seed(tmp_path / "d", "a\n1\n", 'delimiter = ";"\n').content_digest


def test_a_header_alone_is_a_seed_without_rows(tmp_path: Path) -> None:
    found = seed(tmp_path, "a,b\n")
    assert (found.rows, [column.type for column in found.columns]) == ((), ["VARCHAR", "VARCHAR"])


@pytest.mark.parametrize(
    ("data", "line", "because"),
    [
        ("", 1, "no header"),
        ("\n\n", 1, "no header"),
        ("a,,c\n", 1, "column 2 has no name"),
        ("id,ID\n1,2\n", 1, "`ID` twice"),
        ("a,b\n1,2\n1\n", 3, "1 cells and the header has 2"),
        ("a,Interlock_T\n1,2\n", 1, "are Interlock's own"),
        ("a,b\n1,2,3\n", 2, "3 cells"),
        ('a,b\n"x\ny",1\n2\n', 4, "1 cells"),
        ('a\n"x\n', 2, "never closed"),
    ],
)
def test_a_seed_that_cannot_be_read_says_in_which_line(tmp_path: Path, data: str, line: int, because: str) -> None:
    finding = one(project(tmp_path, {"seeds/s.csv": data}))
    assert (finding.code, place(finding)[:2]) == ("S117", ("seeds/s.csv", line))
    assert because in finding.because


@pytest.mark.parametrize(
    ("sidecar", "code", "key"),
    [
        ('columns = { idd = "BIGINT" }\n', "S104", "columns.idd"),
        ('columns = { id = "BIGINT", ID = "TEXT" }\n', "S106", "columns.ID"),
        ('columns = { id = "" }\n', "C304", "columns.id"),
        ('delimiter = ""\n', "S104", "delimiter"),
        ('delimiter = ", "\n', "S104", "delimiter"),
        ("delimiter = '\"'\n", "S104", "delimiter"),
        ('materialized = "table"\n', "S103", "materialized"),
        ('schema = "interlock"\n', "S108", "schema"),
        ('renamed_from = "s"\n', "S104", "renamed_from"),
    ],
)
def test_a_sidecar_that_is_wrong_says_which_key(tmp_path: Path, sidecar: str, code: str, key: str) -> None:
    finding = one(project(tmp_path, {"seeds/s.csv": "id\n1\n", "seeds/s.toml": sidecar}))
    assert (finding.code, place(finding)[3]) == (code, key)


def test_seeds_lie_in_folders_too_and_have_no_defaults(tmp_path: Path) -> None:
    found = project(tmp_path, {"seeds/geo/countries.csv": "a\n1\n", "seeds/_defaults.toml": 'schema = "x"\n'})
    assert list(found.seeds) == ["countries"]
    assert codes(found) == ["S112"]
