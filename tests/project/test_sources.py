from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.files import one, place, project

from interlock.engine.project.project import Freshness, Source, SourceColumn, SourceFreshness


def sources(root: Path, text: str) -> dict[str, Source]:
    found = project(root, {"sources.toml": text})
    assert found.findings == (), found.findings
    return found.sources


def test_a_relation_takes_its_name_apart(tmp_path: Path) -> None:
    found = sources(tmp_path, '[sources."raw.orders"]\n[sources.o]\nschema = "raw"\nidentifier = "Orders 2"\n[sources.plain]\n')
    assert [(source.name, source.schema, source.identifier) for source in found.values()] == [
        ("o", "raw", "Orders 2"),
        ("plain", None, "plain"),
        ("raw.orders", "raw", "orders"),
    ]


def test_another_file_is_named_and_its_schema_is_main(tmp_path: Path) -> None:
    (source,) = sources(tmp_path, '[sources.o]\ndatabase = "crm.duckdb"\n').values()
    assert (source.database, source.schema, source.identifier) == ("crm.duckdb", "main", "o")


@pytest.mark.parametrize(
    ("path", "format_"),
    [
        ("a/*.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.TSV", "csv"),
        ("a.jsonl", "json"),
        ("a.ndjson.zst", "json"),
        ("a/**/*.parquet", "parquet"),
    ],
)
def test_a_files_format_is_told_by_its_extension(tmp_path: Path, path: str, format_: str) -> None:
    (source,) = sources(tmp_path, f'[sources.o]\npath = "{path}"\n').values()
    assert (source.path, source.format, source.schema, source.identifier) == (path, format_, None, None)


def test_columns_may_be_their_type_alone(tmp_path: Path) -> None:
    text = '[sources.o]\npath = "a.csv"\nfingerprint = "content"\noptions = { delim = ";", header = true, skip = 1 }\n'
    text += '[sources.o.columns]\nid = "BIGINT"\nat = { type = "DATE", nullable = false, description = "d" }\n'
    (source,) = sources(tmp_path, text).values()
    assert source.columns == {"id": SourceColumn(type="BIGINT"), "at": SourceColumn(type="DATE", nullable=False, description="d")}
    assert (source.options, source.fingerprint) == ({"delim": ";", "header": True, "skip": 1}, "content")


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ('[sources.o]\npath = "a.csv"\nschema = "raw"\n', "S116", "sources.o.schema"),
        ('[sources.o]\npath = "a.csv"\ndatabase = "x.duckdb"\n', "S116", "sources.o.database"),
        ('[sources.o]\nformat = "csv"\n', "S116", "sources.o.format"),
        ("[sources.o]\noptions = { header = true }\n", "S116", "sources.o.options"),
        ('[sources.o]\npath = "a.dat"\n', "S105", "sources.o.format"),
        ('[sources.o]\npath = "a.csv"\noptions = { delimeter = ";" }\n', "S103", "sources.o.options.delimeter"),
        ('[sources.o]\npath = "a.csv"\noptions = { ignore_errors = true }\n', "S103", "sources.o.options.ignore_errors"),
        ('[sources.o]\npath = " "\n', "S104", "sources.o.path"),
        ('[sources.o]\nschema = ""\n', "S104", "sources.o.schema"),
        ('[sources."a.b.c"]\n', "S108", 'sources."a.b.c"'),
        ('[sources."raw."]\n', "S108", 'sources."raw."'),
        ("[sources.o]\n[sources.O]\n", "S106", "sources.O"),
        ("[sources.o]\n[sources.o.columns]\n", "S105", "sources.o.columns"),
        ('[sources.o.columns]\nid = "A"\nID = "B"\n', "S106", "sources.o.columns.ID"),
        ('[sources.o.columns]\nid = " "\n', "S104", "sources.o.columns.id"),
        ("[sources.o.columns]\nid = { nullable = false }\n", "S105", "sources.o.columns.id.type"),
        ('[source.o]\nschema = "raw"\n', "S103", "source"),
        ('[sources.o]\nfingerprint = "column"\n', "S105", "sources.o.fingerprint_column"),
        ('[sources.o]\nfingerprint = "content"\nfingerprint_column = "at"\n', "S116", "sources.o.fingerprint_column"),
        ('[sources.o]\nfingerprint = "mtime"\n', "S104", "sources.o.fingerprint"),
        ('[sources.o]\npath = "a.csv"\nfingerprint = "receipt"\n', "S116", "sources.o.fingerprint"),
        ("[sources.o]\nfreshness = []\n", "S104", "sources.o.freshness"),
        (
            '[sources.o]\nfreshness = [{ column = "a", max_age = "1 day" }, { column = "b", max_age = "1 day" }]\n',
            "S116",
            "sources.o.freshness[1]",
        ),
        ('[sources.o]\nfreshness = { max_age = "1 day" }\n', "S105", "sources.o.freshness.column"),
        ('[sources.o]\nfreshness = { column = "at", max_age = "1 month" }\n', "S104", "sources.o.freshness.max_age"),
        ('[sources.o]\nfreshness = { column = "at", max_age = "5" }\n', "S104", "sources.o.freshness.max_age"),
        ('[sources.o]\nfreshness = { column = " ", max_age = "5 days" }\n', "S104", "sources.o.freshness.column"),
        ('[sources.o]\nfreshness = { column = "at", max_age = "5 days", severity = "loud" }\n', "S104", "sources.o.freshness.severity"),
        ('[sources.o]\nfreshness = { column = "at", max_age = "5 days", zonee = "UTC" }\n', "S103", "sources.o.freshness.zonee"),
        ('[sources.o]\nfreshness = { column = "at", max_age = "5 days", no_rows = "pass" }\n', "S104", "sources.o.freshness.no_rows"),
        ('[sources.o]\nfingreprint = "none"\n', "S103", "sources.o.fingreprint"),
    ],
)
def test_a_source_that_is_wrong_says_which_key(tmp_path: Path, text: str, code: str, key: str) -> None:
    finding = one(project(tmp_path, {"sources.toml": text}))
    assert (finding.code, place(finding)[3]) == (code, key)
    assert finding.remedy


def test_news_may_be_seen_by_a_column(tmp_path: Path) -> None:
    (source,) = sources(tmp_path, '[sources.o]\nfingerprint = "column"\nfingerprint_column = "at"\n').values()
    assert (source.fingerprint, source.fingerprint_column) == ("column", "at")


def test_freshness_is_asked_in_the_words_of_the_check(tmp_path: Path) -> None:
    text = '[sources.o]\nfreshness = { column = "at", max_age = "2 hours", zone = "UTC" }\n'
    text += '[sources.p]\nfreshness = { column = "at", max_age = "2 days", severity = "warn" }\n'
    text += '[sources.q]\nfreshness = { column = "at", max_age = "2 days", severity = "warn", no_rows = "refuse" }\n[sources.r]\n'
    text += '[[sources.s.freshness]]\ncolumn = "at"\nmax_age = "2 days"\n[[sources.s.freshness]]\ncolumn = "at"\nmax_age = "1 day"\nseverity = "warn"\n'
    o, p, q, r, s = sources(tmp_path, text).values()
    day = Freshness(column="at", max_age_seconds=86400)
    days = Freshness(column="at", max_age_seconds=172800)
    assert o.freshness == (SourceFreshness(question=Freshness(column="at", max_age_seconds=7200, zone="UTC")),)
    assert p.freshness == (SourceFreshness(question=days, severity="warn", no_rows="warn"),)
    assert q.freshness == (SourceFreshness(question=days, severity="warn", no_rows="refuse"),)
    assert r.freshness == ()
    assert s.freshness == (SourceFreshness(question=days), SourceFreshness(question=day, severity="warn", no_rows="warn"))


def test_news_may_be_seen_by_a_receipt(tmp_path: Path) -> None:
    (source,) = sources(tmp_path, '[sources.o]\nfingerprint = "receipt"\ndatabase = "other.duckdb"\n').values()
    assert source.fingerprint == "receipt"
