"""Queries and rows by a seed, for questions that must hold of all of them. Everything that the nullability pass has a rule for turns up."""

from __future__ import annotations

import random
from collections.abc import Sequence

NOT_NULL, NULLABLE = ("a", "b"), ("x", "y")
COLUMNS = {"a": "INTEGER NOT NULL", "b": "INTEGER NOT NULL", "s": "VARCHAR NOT NULL", "x": "INTEGER", "y": "INTEGER", "z": "VARCHAR"}
TABLES = {"t": COLUMNS, "u": COLUMNS, "v": COLUMNS}


MACROS = (
    "CREATE OR REPLACE TEMP MACRO same(x) AS x",
    "CREATE OR REPLACE TEMP MACRO other(x, y := 1) AS coalesce(x, y)",
    "CREATE OR REPLACE TEMP MACRO gone(x, y) AS nullif(same(x), other(y, y := 2))",
    "CREATE OR REPLACE TEMP MACRO counted(x) AS count(x)::INTEGER",
    "CREATE OR REPLACE TEMP MACRO summed(x) AS sum(x)::INTEGER",
    "CREATE OR REPLACE TEMP MACRO by_case(x) AS CASE WHEN x IS NULL THEN 0 ELSE x END, (x, y) AS CASE WHEN x > y THEN x END",
    "CREATE OR REPLACE TEMP MACRO asked(x) AS (SELECT max(i)::INTEGER FROM range(3) AS r(i) WHERE i > x)",
    "CREATE OR REPLACE TEMP MACRO inner_b(x) AS (SELECT x FROM (SELECT NULL::INTEGER AS a, NULL::INTEGER AS b, 1 AS x1) AS q)",
    "CREATE OR REPLACE TEMP MACRO made(n, d := 1) AS TABLE SELECT i::INTEGER AS p, nullif(i, d)::INTEGER AS q FROM range(n) AS r(i)",
    "CREATE OR REPLACE TEMP MACRO listed(x) AS list_transform([1, 2], lambda e: e + x)[1]",
)
"""Macros that queries call; statements that may be run again."""


def rows(chance: random.Random) -> list[str]:
    """Statements that make the tables, small enough that groups, frames and joins are often empty."""
    statements = []
    for name in TABLES:
        values = []
        for _ in range(chance.choice((0, 1, 2, 3, 5))):
            cells = [str(chance.randint(0, 3)), str(chance.randint(0, 3)), f"'{chance.choice(('', 'a', 'b'))}'"]
            cells += [chance.choice(("NULL", "0", "1", "2")) for _ in range(2)] + [chance.choice(("NULL", "''", "'a'"))]
            values.append(f"({', '.join(cells)})")
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
        statements.append(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if values:
            statements.append(f"INSERT INTO {name} VALUES {', '.join(values)}")
    return statements


class Writer:
    """Writes one query."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = 0

    def query(self, depth: int = 2) -> str:
        kind = self.chance.random()
        if depth and kind < 0.12:
            operator = self.chance.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION ALL BY NAME"))
            return f"{self.select(depth - 1, width=2)} {operator} {self.select(depth - 1, width=2)}"
        if depth and kind < 0.2:
            name = self.name()
            body = self.query(depth - 1)
            return f"WITH {name}(c0, c1) AS (SELECT * FROM ({body}) AS w(c0, c1)) SELECT c0 AS c0, c1 AS c1 FROM {name}"
        if depth and kind < 0.31:
            return self.chance.choice((self.starred, self.pivoted, self.recursive, self.shadowed, self.distinct_on))(depth)
        if depth and kind < 0.35:
            seed, step = self.chance.choice(("1, 1", "1, NULL", "a, x")), self.chance.choice(("c1", "nullif(c0, 2)", "c0 + 1", "c1 + 1"))
            source = " FROM t" if "a" in seed else ""
            return (
                f"WITH RECURSIVE r(c0, c1) AS (SELECT {seed}{source} UNION ALL SELECT c0 + 1, {step} FROM r WHERE c0 < 4) "
                "SELECT c1 AS c0, c0 AS c1 FROM r"
            )
        return self.select(depth, width=2)

    def starred(self, depth: int) -> str:
        """Two columns by way of `*` and COLUMNS."""
        inner = self.query(depth - 1)
        both = f"(SELECT c0, c1, c0 AS d0 FROM ({inner}) AS w(c0, c1)) AS w"
        value = self.chance.choice(("nullif(c0, 1)", "coalesce(c1, 0)", "c1", "NULL::INTEGER", "1"))
        return self.chance.choice(
            (
                f"SELECT * EXCLUDE (d0) FROM {both}",
                f"SELECT * EXCLUDE (c0) RENAME (d0 AS c0) FROM {both}",
                f"SELECT * EXCLUDE (d0) REPLACE ({value} AS c1) FROM {both}",
                f"SELECT w.* EXCLUDE (c1) FROM {both}",
                f"SELECT COLUMNS('^c.$') FROM {both}",
                f"SELECT COLUMNS(['d0', 'c1']) FROM {both}",
                f"SELECT COLUMNS(lambda n: n LIKE 'c%') FROM {both}",
                f"SELECT coalesce(COLUMNS('c0|c1'), NULL::INTEGER) FROM {both}",
                f"SELECT nullif(COLUMNS('d0|c1'), 1) FROM {both}",
                f"SELECT max(COLUMNS('c0|c1')) FROM {both}",
                f"SELECT COLUMNS('c.') IS NULL FROM {both}",
                f"SELECT *, {value} AS e FROM {both}",
                f"SELECT COLUMNS(* EXCLUDE (d0)) FROM {both}",
                f"SELECT c0, coalesce(*COLUMNS('c.')) AS e FROM {both}",
                f"SELECT w.c1, same(COLUMNS('c0')) FROM {both}",
            )
        )

    def pivoted(self, depth: int) -> str:
        """Two columns and more by way of PIVOT and UNPIVOT."""
        inner = f"(SELECT c0, c1 FROM ({self.query(depth - 1)}) AS w(c0, c1))"
        return self.chance.choice(
            (
                f"SELECT * FROM (UNPIVOT {inner} ON c0, c1 INTO NAME n VALUE v)",
                f"SELECT n, v FROM {inner} AS w UNPIVOT INCLUDE NULLS (v FOR n IN (c0, c1))",
                f"SELECT * FROM (PIVOT {inner} ON c0 IN (0, 1, 7) USING count(c1))",
                f"SELECT * FROM (PIVOT {inner} ON c0 IN (0, 1) USING max(c1))",
                "SELECT * FROM (PIVOT (SELECT a, x, b FROM t) ON a IN (0, 2) USING sum(x) GROUP BY b)",
            )
        )

    def recursive(self, depth: int) -> str:
        """Two columns of a recursive CTE that joins."""
        del depth
        kind = self.chance.choice(("JOIN", "LEFT JOIN", "JOIN", "SEMI JOIN"))
        union = self.chance.choice(("UNION ALL", "UNION"))
        picked = self.chance.choice(("r.c1", "n.x", "n.b", "coalesce(n.x, r.c1)")) if kind != "SEMI JOIN" else "r.c1"
        return (
            f"WITH RECURSIVE r(c0, c1) AS (SELECT b, {self.chance.choice(('a', 'x', '1'))} FROM t {union} "
            f"SELECT r.c0 + 1, {picked} FROM r {kind} u AS n ON n.a = r.c0 WHERE r.c0 < 3) "
            f"SELECT {self.chance.choice(('c0, c1', 'max(c0), min(c1)', 'c1, r.c1 + c0'))} FROM r"
        )

    def shadowed(self, depth: int) -> str:
        """CTEs that hide tables and each other."""
        first, second = self.query(depth - 1), self.select(0, width=2)
        materialized = self.chance.choice(("", "MATERIALIZED ", "NOT MATERIALIZED "))
        return self.chance.choice(
            (
                f"WITH v(a, b) AS {materialized}({first}) SELECT v.a, w.b FROM v {self.chance.choice(('LEFT', 'RIGHT', 'FULL', 'INNER'))} JOIN v AS w ON v.a = w.b",
                f"WITH q(a, b) AS ({first}), v(a, b) AS (SELECT b, a FROM q) SELECT a, b FROM v WHERE a IS NOT NULL",
                f"WITH q(a, b) AS ({first}) SELECT * FROM (WITH q(a, b) AS ({second}) SELECT b, a FROM q) AS w(a, b)",
                f"WITH q(a, b) AS ({first}) SELECT a, (SELECT count(*) FROM q AS z WHERE z.b = q.a) FROM q",
            )
        )

    def distinct_on(self, depth: int) -> str:
        inner = self.query(depth - 1)
        return f"SELECT DISTINCT ON (c0) c0, c1 FROM ({inner}) AS w(c0, c1) ORDER BY c0, c1"

    def select(self, depth: int, width: int) -> str:
        source, columns = self.source(depth)
        where = f" WHERE {self.predicate(columns, depth)}" if self.chance.random() < 0.5 else ""
        style = self.chance.random()
        if style < 0.3:
            return self.grouped(source + where, columns, depth, width)
        items = [self.value(columns, depth) for _ in range(width)]
        qualify = ""
        if style < 0.55:
            items[0] = self.window(columns)
            if self.chance.random() < 0.4:
                qualify = f" QUALIFY {self.predicate(columns, 0)} AND row_number() OVER () > 0"
        listed = ", ".join(f"{item} AS c{index}" for index, item in enumerate(items))
        tail = self.chance.choice(("", "", "", " LIMIT 2"))
        distinct = self.chance.choice(("", "", "DISTINCT "))
        body = f"SELECT {distinct}{listed} FROM {source}{where}{qualify}"
        return f"(SELECT * FROM ({body}){tail})" if tail else body

    def grouped(self, source: str, columns: Sequence[str], depth: int, width: int) -> str:
        keys = self.chance.sample(list(columns), k=min(2, len(columns)))
        first, second = keys[0], keys[-1]
        group = self.chance.choice(
            (
                "",
                f" GROUP BY {first}",
                f" GROUP BY {first}, {second}",
                f" GROUP BY ROLLUP ({first}, {second})",
                f" GROUP BY CUBE ({first})",
                f" GROUP BY GROUPING SETS (({first}, {second}), ({first}))",
                f" GROUP BY ROLLUP (coalesce({first}, 0))",
                " GROUP BY ()",
            )
        )
        aggregates = [self.aggregate(columns, depth) for _ in range(width)]
        if "coalesce" in group:
            aggregates[0] = self.chance.choice((f"coalesce({first}, 0)", f"coalesce({first}, 0) + 1"))
        elif first in group and self.chance.random() < 0.6:
            aggregates[0] = self.chance.choice((first, f"coalesce({first}, 7)", f"{first} + 1", f"{first} IS NULL"))
        having = f" HAVING {aggregates[1]} IS NOT NULL" if self.chance.random() < 0.3 else ""
        listed = ", ".join(f"{item} AS c{index}" for index, item in enumerate(aggregates))
        return f"SELECT {listed} FROM {source}{group}{having}"

    def aggregate(self, columns: Sequence[str], depth: int) -> str:
        value = self.value(columns, 0)
        name = self.chance.choice(("sum", "max", "min", "count", "avg", "first", "any_value", "list", "bool_and", "stddev_samp", "median"))
        if name == "bool_and":
            value = self.predicate(columns, 0)
        call = f"{name}({'DISTINCT ' if name in {'sum', 'count', 'list'} and self.chance.random() < 0.2 else ''}{value})"
        if self.chance.random() < 0.2:
            call += f" FILTER (WHERE {self.predicate(columns, 0)})"
        if self.chance.random() < 0.1:
            call = self.chance.choice((f"counted({value})", f"summed({value})", "count(*)", f"grouping({self.chance.choice(columns)})"))
            name = "sum" if "grouping" not in call else "bool_and"
            if name == "bool_and":
                call = f"count_if({value} > 0)"
        if name not in {"list", "bool_and"} and self.chance.random() < 0.2:
            call = f"coalesce({call}, 0)"
        return f"CAST({call} AS VARCHAR)" if name in {"list", "bool_and"} else f"CAST({call} AS INTEGER)"

    def window(self, columns: Sequence[str]) -> str:
        value = self.value(columns, 0)
        order = f"ORDER BY {self.chance.choice(columns)}"
        unit = self.chance.choice(("ROWS", "ROWS", "GROUPS", "RANGE"))
        start = self.chance.choice(("UNBOUNDED PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING"))
        end = self.chance.choice(("UNBOUNDED FOLLOWING", "1 FOLLOWING", "CURRENT ROW", "2 FOLLOWING"))
        if start == "1 FOLLOWING" and end == "CURRENT ROW":
            end = "2 FOLLOWING"
        exclude = self.chance.choice(("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"))
        start = self.chance.choice((start, start, "2 PRECEDING", "-1 PRECEDING", "NULL PRECEDING"))
        frame = self.chance.choice(("", f" {unit} BETWEEN {start} AND {end}{exclude}", f" {unit} {start}{exclude}"))
        over = f"OVER ({self.chance.choice(('', 'PARTITION BY ' + self.chance.choice(columns) + ' '))}{order}{frame})"
        call = self.chance.choice(
            (
                f"sum({value})",
                f"count({value})",
                f"max({value}) FILTER (WHERE {self.predicate(columns, 0)})",
                f"sum({value}) FILTER (WHERE {self.predicate(columns, 0)})",
                f"first_value({value} IGNORE NULLS)",
                f"last_value({value} IGNORE NULLS)",
                f"lead({value}, -1, {self.value(columns, 0)})",
                f"lag({value}, 0)",
                f"any_value({value})",
                "count(*)",
                "dense_rank()",
                f"first_value({value})",
                f"last_value({value})",
                f"nth_value({value}, 2)",
                f"lag({value})",
                f"lead({value}, 1, 0)",
                f"lag({value}, 1, {self.value(columns, 0)})",
                "row_number()",
                "rank()",
                "ntile(2)",
            )
        )
        return f"CAST({call} {over} AS INTEGER)"

    def source(self, depth: int) -> tuple[str, list[str]]:
        left, columns = self.relation(depth)
        for _ in range(self.chance.choice((0, 0, 1, 1, 2))):
            right, others = self.relation(0)
            kind = self.chance.choice(
                ("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "POSITIONAL JOIN")
            )
            if self.chance.random() < 0.12 and "POSITIONAL" not in left:
                text, others = self.beside(columns)
                left, columns = left + text, [*columns, *others]
            elif self.chance.random() < 0.1:
                side = self.chance.choice(("ASOF JOIN", "ASOF LEFT JOIN"))
                on = f"{self.chance.choice(columns)} >= {self.chance.choice(others)}"
                if self.chance.random() < 0.4:
                    on += f" AND {self.chance.choice(columns)} = {self.chance.choice(others)}"
                left, columns = f"{left} {side} {right} ON {on}", [*columns, *others]
            elif kind == "POSITIONAL JOIN":
                left, columns = f"{left} POSITIONAL JOIN {right}", [*columns, *others]
            else:
                on = f"{self.chance.choice(columns)} {self.chance.choice(('=', '>', '='))} {self.chance.choice(others)}"
                if self.chance.random() < 0.3:
                    on += f" AND {self.predicate([*columns, *others], 0)}"
                left = f"{left} {kind} {right} ON {on}"
                columns = columns if kind in {"SEMI JOIN", "ANTI JOIN"} else [*columns, *others]
        return left, columns

    def relation(self, depth: int) -> tuple[str, list[str]]:
        name = self.name()
        if depth and self.chance.random() < 0.4:
            return f"({self.query(depth - 1)}) AS {name}(p, q)", [f"{name}.p", f"{name}.q"]
        if self.chance.random() < 0.2:
            return self.merged(name)
        if self.chance.random() < 0.12:
            number = self.chance.choice(("0", "3"))
            call = self.chance.choice((f"made({number})", f"made({number}, d := 2)", f"made(n := {number}, d := NULL)"))
            return f"{call} AS {name}", [f"{name}.p", f"{name}.q"]
        if self.chance.random() < 0.12:
            unnest = self.chance.choice(("[1, NULL]", "[]::INTEGER[]", "range(2)", "[a, x]"))
            if unnest == "[a, x]":
                return f"(SELECT a AS p, unnest([a, x]) AS q FROM t) AS {name}", [f"{name}.p", f"{name}.q"]
            return f"(SELECT i AS p, i AS q FROM unnest({unnest}) AS e(i)) AS {name}", [f"{name}.p", f"{name}.q"]
        if self.chance.random() < 0.15:
            kind = self.chance.choice(("LEFT", "RIGHT", "FULL", "INNER"))
            using = (
                f"(SELECT a, {kind[0]}1.b AS b1, {kind[0]}2.x AS x FROM t AS {kind[0]}1 {kind} JOIN u AS {kind[0]}2 USING (a)) AS {name}"
            )
            return using, [f"{name}.a", f"{name}.b1", f"{name}.x"]
        if self.chance.random() < 0.1:
            cells = ", ".join(f"({self.chance.choice(('1', '2', 'NULL'))}, 1)" for _ in range(2))
            return f"(VALUES {cells}) AS {name}(p, q)", [f"{name}.p", f"{name}.q"]
        return f"{self.chance.choice(list(TABLES))} AS {name}", [f"{name}.{column}" for column in (*NOT_NULL, *NULLABLE)]

    def merged(self, name: str) -> tuple[str, list[str]]:
        """Joins that make columns one, chained."""
        one, two = self.chance.choice(("LEFT", "RIGHT", "FULL", "INNER")), self.chance.choice(("LEFT", "RIGHT", "FULL", "INNER"))
        first = self.chance.choice(("t AS j1", "(SELECT a, b, x FROM t) AS j1", "(SELECT x AS a, b, x FROM t) AS j1"))
        second = self.chance.choice(("u AS j2", "(SELECT nullif(a, 1) AS a, b, x FROM u) AS j2"))
        picked = self.chance.choice(
            (
                "a AS p, j1.a AS q",
                "a AS p, j2.a AS q",
                "a AS p, j1.b AS q",
                "j2.b AS p, a AS q",
                "coalesce(j1.a, j2.a) AS p, a AS q",
                "a AS p, coalesce(j1.b, j2.b) AS q",
            )
        )
        chain = self.chance.choice(("", f" {two} JOIN v AS j3 USING (a)"))
        where = self.chance.choice(("", "", " WHERE j1.b IS NOT NULL", " WHERE j2.b > 0", " WHERE a IS NOT NULL"))
        natural = f"(SELECT a, b FROM t) AS j1 NATURAL {one} JOIN (SELECT a, x FROM u) AS j2"
        text = self.chance.choice(
            (
                f"SELECT {picked} FROM {first} {one} JOIN {second} USING (a){chain}{where}",
                f"SELECT {picked} FROM {first} {one} JOIN {second} USING (a){chain}{where}",
                f"SELECT * FROM (SELECT a, b FROM t) AS j1 {one} JOIN (SELECT a FROM u) AS j2 USING (a)",
                f"SELECT a AS p, {self.chance.choice(('b', 'x', 'j1.a', 'j2.a'))} AS q FROM {natural}",
                f"SELECT a, b FROM (SELECT * FROM {natural}) AS w",
                f"SELECT a AS p, b AS q FROM t AS j1 {one} JOIN u AS j2 USING (a, b){where}",
            )
        )
        return f"({text}) AS {name}(p, q)", [f"{name}.p", f"{name}.q"]

    def beside(self, columns: Sequence[str]) -> tuple[str, list[str]]:
        """What comes of each row on the left: LATERAL, in a join that pads or does not."""
        name, inner = self.name(), self.name()
        column = self.chance.choice(columns)
        query = self.chance.choice(
            (
                f"SELECT {column} + 1 AS p, nullif({column}, 1) AS q",
                f"SELECT {inner}.a AS p, {inner}.x AS q FROM u AS {inner} WHERE {inner}.b = {column}",
                f"SELECT max({inner}.a) AS p, count({inner}.x) AS q FROM u AS {inner} WHERE {inner}.b = {column}",
                f"SELECT {inner}.a AS p, {column} AS q FROM u AS {inner} WHERE {column} > {inner}.x",
                f"SELECT {inner}.a AS p, max({inner}.x) AS q FROM u AS {inner} WHERE {inner}.b = {column} GROUP BY {inner}.a",
                f"SELECT i AS p, {column} AS q FROM unnest([{column}, 1]) AS e(i)",
                f"SELECT count(*) AS p, {column} AS q FROM u AS {inner} WHERE {inner}.b = {column}",
                f"SELECT coalesce(max({inner}.x), {column}) AS p, {column} + 1 AS q FROM u AS {inner} WHERE {inner}.b > {column}",
            )
        )
        join = self.chance.choice((", LATERAL ({}) AS {}", " LEFT JOIN LATERAL ({}) AS {} ON true", " JOIN LATERAL ({}) AS {} ON true"))
        return join.format(query, name), [f"{name}.p", f"{name}.q"]

    def value(self, columns: Sequence[str], depth: int) -> str:
        column, other = self.chance.choice(columns), self.chance.choice(columns)
        plain = ("0", "1", "NULL::INTEGER", column, column, column, other)
        if self.chance.random() < 0.4:
            return self.chance.choice(plain)
        one, two = self.chance.choice(plain), self.chance.choice(plain)
        kinds = [
            f"({one} + {two})",
            f"coalesce({one}, {two})",
            f"CASE WHEN {self.predicate(columns, 0)} THEN {one} ELSE {two} END",
            f"CASE WHEN {column} IS NULL THEN 0 ELSE {column} END",
            f"CASE WHEN {self.predicate(columns, 0)} THEN {one} END",
            f"nullif({one}, {two})",
            f"CAST({one} AS INTEGER)",
            f"TRY_CAST('{self.chance.choice(('1', 'x'))}' AS INTEGER)",
            f"greatest({one}, {two})",
            f"abs({one})",
            f"length(concat({one}, {two}))",
            f"CAST(({one} = {two}) AS INTEGER)",
            f"CAST(({self.predicate(columns, 0)}) AS INTEGER)",
            f"CAST({one} IS DISTINCT FROM {two} AS INTEGER)",
            f"[{one}][1]",
            f"len([{one}])",
            f"list_sum([{one}])",
            f"same({one})",
            f"other({one})",
            f"other({one}, {two})",
            f"gone({one}, {two})",
            f"by_case({one})",
            f"by_case({one}, {two})",
            f"asked({one})",
            f"inner_b({one})",
            f"listed({one})",
            f"{{'k': {one}, 'l': {two}}}.k",
            f"CASE {one} WHEN {two} THEN 1 WHEN 1 THEN {two} ELSE {one} END",
            f"if({self.predicate(columns, 0)}, {one}, {two})",
            f"length(list_filter([{one}], lambda e: e > 0))",
            f"list_max([e for e in [{one}, {two}] if e > 0])",
            f"ifnull({one}, {two})",
            f"least({one}, {two})",
            f"map {{1: {one}}}[1]",
            f"CAST(({one} IN ({two}, 1)) AS INTEGER)",
            f"CAST(({one} BETWEEN {two} AND 2) AS INTEGER)",
            f"length({one} || '')",
            f"CAST(('' || {one}) LIKE '%1%' AS INTEGER)",
            f"date_part('day', DATE '2024-01-01' + {one})",
        ]
        if depth:
            inner = self.name()
            kinds += [
                f"(SELECT max({inner}.a) FROM u AS {inner} WHERE {inner}.b = {column})",
                f"(SELECT count(*) FROM u AS {inner} WHERE {inner}.b = {column})::INTEGER",
                f"(SELECT coalesce(sum({inner}.x), 0) FROM u AS {inner} WHERE {inner}.b = {column})::INTEGER",
                f"(SELECT {inner}.a FROM u AS {inner} LIMIT 1)",
                f"(SELECT count({column}) FROM u AS {inner} WHERE {inner}.b > 9)::INTEGER",
                f"CAST({column} IN (SELECT {inner}.x FROM u AS {inner}) AS INTEGER)",
                f"CAST({column} NOT IN (SELECT {inner}.a FROM u AS {inner}) AS INTEGER)",
                f"CAST(EXISTS (SELECT 1 FROM u AS {inner} WHERE {inner}.a = {column}) AS INTEGER)",
            ]
        return self.chance.choice(kinds)

    def predicate(self, columns: Sequence[str], depth: int) -> str:
        column, other = self.chance.choice(columns), self.chance.choice(columns)
        kind = self.chance.random()
        if kind < 0.15:
            return f"({self.predicate(columns, 0)} AND {self.predicate(columns, 0)})"
        if kind < 0.3:
            return f"({self.predicate(columns, 0)} OR {self.predicate(columns, 0)})"
        if kind < 0.4:
            return f"NOT ({self.predicate(columns, 0)})"
        kinds = [
            f"{column} > {self.chance.randint(0, 2)}",
            f"{column} = {other}",
            f"{column} IS NULL",
            f"{column} IS NOT NULL",
            f"{column} IN (1, {self.chance.choice(('2', 'NULL'))})",
            f"{column} BETWEEN 0 AND {other}",
            f"coalesce({column}, 1) = 1",
            f"({column} + {other}) > 1",
            f"{column} IS DISTINCT FROM {other}",
            f"{column} IS NOT DISTINCT FROM {self.chance.choice((other, '1'))}",
            f"nullif({column}, 1) IS NOT NULL",
        ]
        if depth:
            inner = self.name()
            kinds += [
                f"{column} IN (SELECT {inner}.x FROM u AS {inner})",
                f"{column} NOT IN (SELECT {inner}.a FROM u AS {inner} WHERE {inner}.b > 2)",
                f"EXISTS (SELECT 1 FROM u AS {inner} WHERE {inner}.a = {column})",
            ]
        return self.chance.choice(kinds)

    def name(self) -> str:
        self.names += 1
        return f"n{self.names}"


def query(chance: random.Random) -> str:
    return Writer(chance).query()
