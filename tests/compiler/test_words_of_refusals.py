"""What DuckDB's parser and binder refuse is said in words that name what is meant and what helps."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.projects import compiled

UNPARSED = [
    ("selct id from raw.orders", (1, 1, 5), "selct", "did you mean `select`?"),
    ("select id from raw.orders wher amount > 1", (1, 27, 4), "is read as a name", "did you mean `where`?"),
    ("select id from raw.orders where amount > 1 gruop by 1", (1, 44, 5), "gruop", "did you mean `group`?"),
    ("select id,, amount from raw.orders", (1, 10, 1), "comma", "take the comma out"),
    ("select id amount status from raw.orders", (1, 18, 6), "`status` cannot follow `amount`", "a comma"),
    ("select (id + 1 as x from raw.orders", (1, 16, 2), "`(` at 1:8 is not closed", "close it before `as`"),
    ("select id + 1) as x from raw.orders", (1, 14, 1), "closes nothing", "take it out"),
    ("select 'it''s as x from raw.orders", None, "unterminated", "close it by '"),
    ("with a as (select 1 as x)", None, "its SELECT is missing", "write the SELECT"),
    ("select id from raw.orders order by", (1, 33, 2), "ends after `by`", "write what follows"),
    ("select table from raw.orders", (1, 8, 5), "reserved word", '"table"'),
]
UNBOUND = [
    ("select ammount from raw.orders", (1, 8, 7), "column `ammount` does not exist in `orders`", "`orders` has `id`", "did you mean `amount`?"),
    ("select orderd from raw.orders", (1, 8, 6), "column `orderd`", "`ordered_at`", "did you mean `ordered_at`?"),
    ("select o.ammount from raw.orders o", (1, 8, 9), "`o` has no column `ammount`", "it has `id`", "did you mean `amount`?"),
    ("select nam from raw.orders o join raw.customers c on c.id = o.customer", (1, 8, 3), "no relation that is read", "`c` has", "did you mean `name`?"),
    ("with q as (select id as a from raw.orders) select aa from q", (1, 51, 2), "no relation that is read here has a column `aa`", "what is near: `a`", "did you mean `a`?"),
    ("select x.id from raw.orders o", (1, 8, 4), "`x` is no relation of this FROM", "there is `o`", "write `o.…`"),
    ("select c.id from raw.orders c join raw.customers d using (id) where customr = 1", None, "customr", "`c` has", "did you mean `customer`?"),
    ("select id from raw.orders o join raw.customers c on true", (1, 8, 2), "`id` may be a column of several", "`o` and `c`", "write `o.id` or `c.id`"),
    ("select suum(amount) as s from raw.orders", (1, 8, 4), "there is no function `suum`", "`sum`", "did you mean `sum`?"),
    ("select no_such_thing(id) as x from raw.orders", (1, 8, 13), "there is no function `no_such_thing`", "", "macros/"),
    ("select left(id, 'x') as x from raw.orders", (1, 8, 4), "no `left` takes (BIGINT, ", "left(VARCHAR, BIGINT)", "cast"),
    ("select id + ordered_at as x from raw.orders", (1, 11, 1), "`+` is not there for BIGINT and TIMESTAMP WITH TIME ZONE", "+(", "cast"),
    ("select cast(id as intger) as x from raw.orders", (1, 19, 6), "there is no type `intger`", "", "did you mean `INTEGER`?"),
    ("select customer, count(*) as n from raw.orders", (1, 8, 8), "`customer` is neither grouped by", "group", "GROUP BY ALL"),
    ("select id from raw.orders where sum(amount) > 1", None, "WHERE", "", "HAVING"),
    ("select id from raw.orders where row_number() over () = 1", None, "WHERE", "", "QUALIFY"),
]  # fmt: skip


def test_what_does_not_parse_is_told_with_what_was_meant(tmp_path: Path) -> None:
    found = compiled(tmp_path, {f"models/m{index}.sql": text for index, (text, *_) in enumerate(UNPARSED)})
    for index, (text, place, because, remedy) in enumerate(UNPARSED):
        finding = next(each for each in found.findings if each.subject == f"m{index}")
        assert finding.code == "L200", text
        assert because in finding.because, (text, finding.because)
        assert remedy in finding.remedy, (text, finding.remedy)
        assert finding.at is not None
        assert place is None or (finding.at.line, finding.at.column, finding.at.length) == place, (text, finding.at)


def test_what_does_not_bind_is_told_with_what_there_is(tmp_path: Path) -> None:
    found = compiled(tmp_path, {f"models/m{index}.sql": text for index, (text, *_) in enumerate(UNBOUND)})
    for index, (text, place, summary, because, remedy) in enumerate(UNBOUND):
        finding = next(each for each in found.findings if each.subject == f"m{index}")
        assert finding.code == "L201", text
        assert summary in finding.summary, (text, finding.summary)
        assert because in finding.because, (text, finding.because)
        assert remedy in finding.remedy, (text, finding.remedy)
        assert finding.at is not None
        assert finding.compiled == "", text
        assert place is None or (finding.at.line, finding.at.column, finding.at.length) == place, (text, finding.at)


def test_what_ran_is_shown_where_more_than_names_was_put_in(tmp_path: Path) -> None:
    files = {
        "models/e.sql": "select id, amount from raw.orders",
        "models/e.toml": 'materialized = "ephemeral"\n',
        "models/m.sql": "select ammount from e",
        "models/n.sql": "select $as_of as t, ammount from raw.orders",
    }
    found = {finding.subject: finding for finding in compiled(tmp_path, files).findings}
    assert "(" in found["m"].compiled
    assert "TIMESTAMP" in found["n"].compiled.upper()
