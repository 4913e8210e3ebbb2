"""Projects drawn at random, edited at random: what is compiled in part is what is compiled whole."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from interlock.engine.cache.store import Cache
from interlock.engine.compiler import compile as compiling
from interlock.engine.compiler.compile import compile_project
from interlock.engine.compiler.compiled import Compiled
from interlock.engine.compiler.remembered import compile_known
from interlock.engine.compiler.source_texts import match_files
from interlock.engine.compiler.world import World
from interlock.engine.project.load import load

CONFIG = '[project]\nid = "abc"\nname = "any"\n[targets.dev]\ntype = "duckdb"\npath = "dev.duckdb"\n'
SOURCES = """
[sources."raw.o".columns]
id = { type = "BIGINT", nullable = false }
a = { type = "DOUBLE", nullable = false }
d = "DECIMAL(10,2)"
ts = { type = "TIMESTAMP", nullable = false }
[sources."raw.p".columns]
id = "BIGINT"
a = "DOUBLE"
d = "DECIMAL(10,2)"
ts = "TIMESTAMP"
"""
TEXTS = (
    "SELECT id, a, d, ts, {mark} AS mark FROM {x}",
    "SELECT x.id, y.a, x.d, x.ts, {mark} AS mark FROM {x} AS x JOIN {y} AS y ON x.id = y.id",
    "SELECT x.id, y.a, x.d, coalesce(y.ts, x.ts) AS ts, {mark} AS mark FROM {x} AS x LEFT JOIN {y} AS y USING (id)",
    "SELECT id, sum(a) AS a, sum(d) AS d, min(ts) AS ts, {mark} AS mark FROM {x} GROUP BY id",
    "SELECT id, a, d, ts, {mark} AS mark FROM {x} UNION ALL SELECT id, a, d, $as_of::TIMESTAMP, 1 FROM {y}",
    "SELECT id, a, d, ts, {mark} AS mark FROM {x} ORDER BY id LIMIT 5",
    "SELECT id, last_value(a) OVER (ORDER BY id) AS a, d, ts, {mark} AS mark FROM {x}",
    "SELECT id + {mark} AS id, a, d, $as_of::TIMESTAMP AS ts, 1 AS mark FROM {x} WHERE id IS NOT NULL",
    "SELECT id, first(a ORDER BY id) AS a, max(d) AS d, max(ts) AS ts, {mark} AS mark FROM {x} GROUP BY id",
)
KINDS = {
    "view": "",
    "table": "",
    "ephemeral": "",
    "incremental": 'strategy = "merge"\nwatermark = "ts"\nunique_key = "id"\n',
    "snapshot": 'unique_key = "id"\nsnapshot_by = "columns"\n',
}
MODELS = 16
EDITS = 8


class Drawn:
    """A project in a directory, which grows by models that have no error."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.day = 1
        self.names: list[str] = []
        root.mkdir()
        (root / "models").mkdir()
        (root / "interlock.toml").write_text(CONFIG, encoding="utf-8")
        (root / "sources.toml").write_text(SOURCES, encoding="utf-8")
        for number in range(MODELS):
            name = f"m{number}"
            if any(self.is_sound(name) for _ in range(8)):
                self.names.append(name)
            else:
                self.write(name)

    def files(self, name: str) -> list[Path]:
        return [self.root / "models" / f"{name}{ending}" for ending in (".sql", ".toml")]

    def write(self, name: str, *texts: str) -> None:
        for path in self.files(name):
            path.unlink(missing_ok=True)
        for path, text in zip(self.files(name), texts, strict=False):
            path.write_text(text, encoding="utf-8")

    def is_sound(self, name: str) -> bool:
        self.write(name, *self.draw(self.names))
        return not self.errors(self.compiled(None))

    def draw(self, above: list[str]) -> tuple[str, str]:
        chance = self.chance
        x, y = (chance.choice(above[-6:]) if above and chance.random() < 0.85 else chance.choice(["raw.o", "raw.p"]) for _ in "xy")
        kind = chance.choice([*KINDS, "view", "table"])
        lines = [f'materialized = "{kind}"\n{KINDS[kind]}']
        if kind in {"view", "table"} and chance.random() < 0.2:
            lines.append("deterministic = true\n")
        if kind != "ephemeral":
            if chance.random() < 0.5:
                lines.append(f"[contract.columns]\n{chance.choice(['id', 'a', 'ts'])} = {{ nullable = false }}\n")
            lines += [f'[[checks]]\n{question} = "id"\n' for question in ("unique", "not_null") if chance.random() < 0.4]
            if above and chance.random() < 0.2:
                lines.append(f'[[checks]]\nrelationships = {{ column = "id", to = "{chance.choice(above)}", to_column = "id" }}\n')
        return chance.choice(TEXTS).format(x=x, y=y, mark=chance.randint(1, 9)), "".join(lines)

    def edit(self) -> None:
        chance = self.chance
        name = chance.choice(self.names)
        text, sidecar = (path.read_text(encoding="utf-8") for path in self.files(name))
        match chance.choice(["space", "value", "model", "time"]):
            case "space":
                self.write(name, text + " ", sidecar)
            case "value":
                self.write(name, text.replace(" AS mark", " + 1 AS mark", 1), sidecar)
            case "model":
                self.write(name, *self.draw(self.names[: self.names.index(name)]))
            case "time":
                self.day = chance.randint(1, 28)

    def compiled(self, cache: Cache | None) -> Compiled:
        as_of = f"2026-03-{self.day:02d}T12:00:00.000000Z"
        project = load(self.root, environment={}, cache=cache)
        world = World(files=match_files(project))
        if cache is None:
            return compile_project(project, project.targets["dev"], as_of=as_of, world=world)
        return compile_known(project, project.targets["dev"], as_of=as_of, world=world, cache=cache)

    @staticmethod
    def errors(found: Compiled) -> bool:
        return any(finding.severity == "error" for finding in found.findings)


def plain(found: Compiled) -> dict[str, Any]:
    return {**{name: getattr(found, name) for name in found.__struct_fields__}, "models": dict(found.models)}


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_what_is_compiled_in_part_is_what_is_compiled_whole(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = compiling.Compilation.run

    def run(self: compiling.Compilation) -> Compiled:
        found = real(self)
        made.append(len(found.models))
        return found

    drawn = Drawn(tmp_path / str(seed), random.Random(seed))
    drawn.compiled(Cache(drawn.root))
    parts = 0
    for _ in range(EDITS):
        before = {path: path.read_text(encoding="utf-8") for name in drawn.names for path in drawn.files(name)}
        drawn.edit()
        whole = plain(drawn.compiled(None))
        with monkeypatch.context() as watched:
            watched.setattr(compiling.Compilation, "run", run)
            again = plain(drawn.compiled(Cache(drawn.root)))
        assert again == whole
        assert repr(again) == repr(whole)
        parts += bool(made) and made[-1] < len(drawn.names)
        if any(finding.severity == "error" for finding in whole["findings"]):
            for path, text in before.items():
                path.write_text(text, encoding="utf-8")
    shutil.rmtree(drawn.root)
    assume(parts)  # where all was compiled each time, nothing was said
