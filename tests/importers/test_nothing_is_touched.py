"""An import starts no program, opens no connection, and writes to the new project only; a template cannot make it do more."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import duckdb
from tests.importers import ugly
from tests.importers.dbt_projects import write

from interlock.engine import api

ROOT = Path(__file__).parents[2]
WATCHED = """
import sys
from pathlib import Path
root, out = map(Path, sys.argv[1:])
from interlock.engine import api  # what is imported later is imported under the hook

def watch(event, arguments):
    if event in {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "socket.connect"}:
        raise SystemExit(f"{event} {arguments}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        if not Path(str(arguments[0])).absolute().is_relative_to(out) and "__pycache__" not in str(arguments[0]):
            raise SystemExit(f"written: {arguments[0]}")
    if event in {"os.remove", "os.rename", "os.rmdir", "os.truncate", "shutil.rmtree"} and not Path(str(arguments[0])).absolute().is_relative_to(out):
        if "__pycache__" not in str(arguments[0]):
            raise SystemExit(f"{event} {arguments}")

sys.addaudithook(watch)
done = api.import_dbt(root, out, environment={}, accept_proposals=True)
print(len(done.items))
"""
EVIL = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ self._TemplateReference__context }}{{ cycler.__init__.__globals__.os.system('touch evil') }}",
    "{{ modules.re.__loader__ }}{{ modules.datetime.sys }}",
    "{{ config.__class__.__init__.__globals__['os'].popen('touch evil') }}",
    "{{ ref.__globals__ }}{{ ref.__self__ }}",
    "{{ adapter.execute('create table evil as select 1') }}",
    "{% do run_query('create table evil as select 1') %}select 1 as id",
    "{% call statement('x', auto_begin=true) %}create table evil as select 1{% endcall %}select 1 as id",
    "{{ exceptions.raise_compiler_error.__globals__ }}",
    "{{ ('%' ~ 's') | format(ref) }}{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system('touch evil') }}",
    "{{ target.__init__.__globals__ }}{{ builtins.ref.__func__ }}",
    "{{ model.config.__class__.__base__ }}{{ lipsum.__globals__['os'].system('touch evil') }}",
    "{{ ''.join.__self__.__class__ }}{{ namespace.__init__.__globals__ }}{{ joiner.__init__.__globals__ }}",
    "{{ fromjson.__globals__ }}{{ var.__init__.__globals__ }}{{ this.__init__.__globals__ }}",
    "{{ 'x' * 99999999999 }}",
    "{% for i in range(99999999999) %}x{% endfor %}",
    "copy (select 1) to 'evil.csv'",
    "select * from read_csv('/etc/passwd')",
)  # fmt: skip


def state(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_an_import_starts_no_program_and_writes_nowhere_else(tmp_path: Path) -> None:
    root, out = tmp_path / "dbt", tmp_path / "new"
    files, _ = ugly.project(40)
    write(root, {**files, **{f"models/evil/e{number}.sql": text for number, text in enumerate(EVIL)}})
    with duckdb.connect(str(root / "shop.duckdb")) as connection:
        connection.execute(ugly.EVENTS)
    before = state(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED, str(root), str(out)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100
    assert {path: digest for path, digest in state(tmp_path).items() if not path.startswith("new/")} == before
    assert not list(out.rglob("*.duckdb"))


def test_no_template_reaches_what_is_python_s(tmp_path: Path) -> None:
    write(tmp_path / "dbt", {f"models/e{number}.sql": text for number, text in enumerate(EVIL)})
    items = api.import_dbt(tmp_path / "dbt", tmp_path / "new", environment={}, accept_proposals=True).items
    assert {item.name: item.status for item in items if item.kind == "model"} == {f"e{number}": "refused" for number in range(len(EVIL))}
    assert not any(
        "object at 0x" in path.read_text() or "root:" in path.read_text() for path in (tmp_path / "new").rglob("*") if path.is_file()
    )
