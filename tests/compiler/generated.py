"""Queries and rows by a seed, for questions that must hold of all of them. Everything that the nullability pass has a rule for turns up."""

from __future__ import annotations

import random
from collections.abc import Sequence

NOT_NULL, NULLABLE = ("a", "b"), ("x", "y")
COLUMNS = {"a": "INTEGER NOT NULL", "b": "INTEGER NOT NULL", "s": "VARCHAR NOT NULL", "x": "INTEGER", "y": "INTEGER", "z": "VARCHAR"}
TABLES = {"t": COLUMNS, "u": COLUMNS, "v": COLUMNS}


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
        if depth and kind < 0.25:
            seed, step = self.chance.choice(("1, 1", "1, NULL", "a, x")), self.chance.choice(("c1", "nullif(c0, 2)", "c0 + 1", "c1 + 1"))
            source = " FROM t" if "a" in seed else ""
            return (
                f"WITH RECURSIVE r(c0, c1) AS (SELECT {seed}{source} UNION ALL SELECT c0 + 1, {step} FROM r WHERE c0 < 4) "
                "SELECT c1 AS c0, c0 AS c1 FROM r"
            )
        return self.select(depth, width=2)

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
        frame = self.chance.choice(("", f" {unit} BETWEEN {start} AND {end}{exclude}"))
        over = f"OVER ({self.chance.choice(('', 'PARTITION BY ' + self.chance.choice(columns) + ' '))}{order}{frame})"
        call = self.chance.choice(
            (
                f"sum({value})",
                f"count({value})",
                f"max({value}) FILTER (WHERE {self.predicate(columns, 0)})",
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
            if kind == "POSITIONAL JOIN":
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
