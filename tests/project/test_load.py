from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.project.files import CONFIG, MODEL, codes, one, place, project, write

from interlock.engine.diagnostics import Refused
from interlock.engine.project.clashes import relation_conflicts
from interlock.engine.project.load import find_project, load


def test_a_smallest_project_has_no_findings(tmp_path: Path) -> None:
    found = project(tmp_path)
    assert found.findings == ()
    assert (found.id, found.name, found.root) == ("abc", "shop", tmp_path)
    model = found.models["m"]
    assert (model.materialized, model.text, model.path, model.sidecar) == ("view", MODEL, "models/m.sql", None)
    assert set(found.digests) == {"interlock.toml", "models/m.sql"}


def test_the_same_files_give_the_same_project(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"models/{name}/x_{name}.sql": MODEL for name in "cab"}
    assert project(tmp_path / "a", files).digests == project(tmp_path / "b", dict(reversed(files.items()))).digests
    assert list(load(tmp_path / "a", environment={}).models) == ["m", "x_a", "x_b", "x_c"]


def test_the_project_is_found_from_any_folder_in_it(tmp_path: Path) -> None:
    write(tmp_path, {"interlock.toml": CONFIG, "models/a/b/m.sql": MODEL})
    assert find_project(tmp_path / "models/a/b") == tmp_path
    assert find_project(tmp_path) == tmp_path


def test_no_project_is_a_refusal_that_says_how_to_make_one(tmp_path: Path) -> None:
    for call in (lambda: find_project(tmp_path), lambda: load(tmp_path, environment={})):
        with pytest.raises(Refused) as caught:
            call()
        assert caught.value.findings[0].code == "S100"
        assert "interlock init" in caught.value.findings[0].remedy


def test_a_directory_that_does_not_exist_is_not_looked_for_above_it(tmp_path: Path) -> None:
    write(tmp_path, {"interlock.toml": CONFIG})
    with pytest.raises(Refused) as caught:
        find_project(tmp_path / "shp")
    assert caught.value.findings[0].code == "S100"
    assert "does not exist" in caught.value.findings[0].summary


def test_toml_that_does_not_parse_says_where(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"models/m.toml": 'tags = ["a"]\nschema = \n'}))
    assert finding.code == "S102"
    assert place(finding)[:3] == ("models/m.toml", 2, 10)
    assert finding.at is not None
    assert finding.at.excerpt == "schema = "


@pytest.mark.parametrize(
    ("text", "line", "column", "closes"),
    [
        ('tags = ["a"', 1, 8, "]"),
        ('tags = [\n  "a", # ]\nschema = "x"\n', 1, 8, "]"),
        ('schema = "a"\ntags = [["a"], [\n', 2, 16, "]"),
        ('[[checks]]\naccepted_values = { column = "a", values = [1]\n', 2, 19, "}"),
        ('description = "a\nschema = "b"\n', 1, 15, '"'),
        ("description = 'its\n", 1, 15, "'"),
        ('description = """a\nschema = "b"\n', 1, 15, '"""'),
    ],
)
def test_what_is_not_closed_is_shown_where_it_was_opened(tmp_path: Path, text: str, line: int, column: int, closes: str) -> None:
    finding = one(project(tmp_path, {"models/m.toml": text}))
    assert (finding.code, place(finding)[:3]) == ("S102", ("models/m.toml", line, column))
    assert finding.remedy == f"close it with `{closes}`"


@pytest.mark.parametrize("text", ["x = [1", 'x = """a', "[a]\nb=1\n[a]\n", "a = 1\na = 2\n", "a = 1\r", "\x01", "a=2024-13-01"])
def test_no_broken_toml_is_a_crash(tmp_path: Path, text: str) -> None:
    assert one(project(tmp_path, {"models/m.toml": text})).code == "S102"


@pytest.mark.parametrize("path", ["models/m.sql", "models/m.toml", "seeds/s.csv", "macros/a.sql"])
def test_a_zero_byte_is_refused_where_it_stands(tmp_path: Path, path: str) -> None:
    finding = one(project(tmp_path, {path: "select 1\nas a\0"}))
    assert finding.code == "S101"
    assert place(finding)[:2] == (path, 2)


@pytest.mark.parametrize("text", ['schema = "a\\u0000"', 'tags = ["a", "\\U00000000"]', '[contract.columns."a\\u0000"]\ntype = "BIGINT"'])
def test_a_zero_byte_by_escape_is_refused_too(tmp_path: Path, text: str) -> None:
    assert one(project(tmp_path, {"models/m.toml": text})).code == "S104"


def test_a_broken_interlock_toml_stops_all(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        project(tmp_path, {"interlock.toml": "[targets.dev]\n[targets.dev]\n"})
    assert caught.value.findings[0].code == "S102"
    assert "once" in caught.value.findings[0].remedy


@pytest.mark.parametrize("path", ["models/m.sql", "models/m.toml", "sources.toml", "macros/f.sql", "seeds/s.csv", "models/_defaults.toml"])
def test_a_file_that_is_not_utf8_says_at_which_byte(tmp_path: Path, path: str) -> None:
    finding = one(project(tmp_path, {path: b"-- caf\xe9\n"}))
    assert finding.code == "S101"
    assert "byte 6 is 0xe9" in finding.because
    assert place(finding)[:2] == (path, 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    write(tmp_path, {"models/a/x.sql": MODEL})
    (tmp_path / "models/a").chmod(0)
    try:
        assert "S101" in codes(project(tmp_path))
    finally:
        (tmp_path / "models/a").chmod(0o755)


@pytest.mark.parametrize("folder", ["models", "seeds", "macros"])
def test_a_file_in_the_place_of_a_folder_is_not_an_empty_folder(tmp_path: Path, folder: str) -> None:
    write(tmp_path, {"interlock.toml": CONFIG, "seeds/s.csv" if folder == "models" else "models/m.sql": "a\n1\n", folder: "x"})
    assert codes(load(tmp_path, environment={})) == ["S101"]


def test_a_broken_link_is_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, {"models/m.sql": MODEL})
    (tmp_path / "models/gone.sql").symlink_to("nowhere")
    finding = one(project(tmp_path))
    assert (finding.code, finding.at and finding.at.path) == ("S101", "models/gone.sql")


@pytest.mark.parametrize("path", ["models/m.sql", "models/m.toml", "models/_defaults.toml", "seeds/s.csv", "macros/f.sql", "sources.toml"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"interlock.toml": CONFIG, "models/m.sql": MODEL, "seeds/x.csv": "a\n1\n", "macros/x.sql": "create macro x() as 1;\n"})
    odd = tmp_path / path
    odd.unlink(missing_ok=True)
    os.mkfifo(odd)
    finding = one(load(tmp_path, environment={}))
    assert (finding.code, finding.at and finding.at.path, finding.because) == ("S101", path, "it is a pipe or a device, and no file")
    odd.unlink()
    odd.symlink_to("/dev/zero")  # has no end
    assert one(load(tmp_path, environment={})).code == "S101"


def test_links_to_folders_are_followed_but_never_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path, {"models/m.sql": MODEL, "elsewhere/x.sql": MODEL})
    (tmp_path / "models/linked").symlink_to("../elsewhere")
    (tmp_path / "models/circle").symlink_to(".")
    found = project(tmp_path)
    assert set(found.models) == {"m", "x"}
    assert found.findings == ()


def test_line_ends_and_a_byte_order_mark_break_nothing(tmp_path: Path) -> None:
    plain = {
        "models/n.sql": "select 1 as id\n",
        "models/n.toml": 'description = "n"\n[contract.columns.id]\ntype = "INTEGER"\n',
        "models/_defaults.toml": 'tags = ["a"]\n',
        "sources.toml": '[sources.raw]\nschema = "s"\n',
        "seeds/s.csv": "a,b\n1,x\n",
        "macros/f.sql": "create macro f(x) as x;\n",
    }
    here = project(tmp_path / "a", {**plain, "interlock.toml": CONFIG})
    windows = {path: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for path, text in {**plain, "interlock.toml": CONFIG}.items()}
    there = project(tmp_path / "b", windows)
    assert here.findings == there.findings == ()
    assert there.models["n"].text == "select 1 as id\r\n"
    assert there.models["n"].contract == here.models["n"].contract
    assert there.seeds["s"].rows == here.seeds["s"].rows
    assert there.seeds["s"].columns == here.seeds["s"].columns
    assert there.sources == here.sources


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, {"interlock.toml": CONFIG.replace("shop", "café"), "models/m.sql": "select 'é' as id\n"})
    script = (
        f"from pathlib import Path; from interlock.engine.project.load import load; p = load(Path({str(tmp_path)!r}), environment={{}});"
    )
    script += " assert p.name == 'caf\\u00e9' and '\\u00e9' in p.models['m'].text and not p.findings"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_an_empty_project_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"interlock.toml": CONFIG, "model/m.sql": MODEL})
    assert codes(load(tmp_path, environment={})) == ["S113"]


def test_seeds_alone_are_a_project(tmp_path: Path) -> None:
    write(tmp_path, {"interlock.toml": CONFIG, "seeds/s.csv": "a\n1\n"})
    assert load(tmp_path, environment={}).findings == ()


@pytest.mark.parametrize(
    ("stem", "better"), [("Orders", "orders"), ("fct-orders", "fct_orders"), ("2024_orders", "m_2024_orders"), ("a.b", "a_b")]
)
def test_a_file_whose_name_is_no_name_is_refused_with_a_better_one(tmp_path: Path, stem: str, better: str) -> None:
    finding = one(project(tmp_path, {f"models/{stem}.sql": MODEL}))
    assert finding.code == "S108"
    assert f"`{better}`" in finding.remedy


def test_names_are_unique_among_models_seeds_and_bare_sources(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "models/a/x.sql": MODEL,
        "models/b/x.sql": MODEL,
        "seeds/m.csv": "a\n1\n",
        "sources.toml": '[sources.M]\nschema = "raw"\n[sources."raw.m"]\n',
    }
    found = project(tmp_path, files)
    assert [(finding.code, finding.at and finding.at.path) for finding in found.findings] == [
        ("S106", "models/b/x.sql"),
        ("S106", "seeds/m.csv"),
        ("S106", "sources.toml"),
    ]
    assert "models/a/x.sql" in found.findings[0].because
    assert list(found.sources) == ["raw.m"]


def test_a_sidecar_without_its_model_names_the_nearest(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"models/orders.sql": MODEL, "models/ordres.toml": ""}))
    assert finding.code == "S112"
    assert finding.remedy == "did you mean `models/orders.toml`?"
    far = one(project(tmp_path / "far", {"models/orders.sql": MODEL, "models/foo.toml": ""}))
    assert far.remedy == "write `models/foo.sql`, or take it out"


def test_a_sidecar_in_another_folder_is_not_the_models(tmp_path: Path) -> None:
    assert one(project(tmp_path, {"models/a/m2.sql": MODEL, "models/m2.toml": ""})).code == "S112"


def test_moving_a_model_changes_nothing_of_it_but_its_path(tmp_path: Path) -> None:
    sidecar = 'materialized = "table"\n[[checks]]\nunique = ["id"]\n'
    here = project(tmp_path / "a", {"models/x.sql": MODEL, "models/x.toml": sidecar}).models["x"]
    there = project(tmp_path / "b", {"models/deep/x.sql": MODEL, "models/deep/x.toml": sidecar}).models["x"]
    assert there.path != here.path
    assert (there.materialized, [check.question for check in there.checks]) == (
        here.materialized,
        [check.question for check in here.checks],
    )


def test_hidden_files_and_other_kinds_are_left_alone(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "models/.x.sql": b"\xff",
        "models/.git/y.sql": MODEL,
        "models/README.md": "hello",
        "seeds/notes.txt": "x",
    }
    found = project(tmp_path, files)
    assert found.findings == ()
    assert list(found.models) == ["m"]


def test_every_finding_is_reported_at_once_and_in_order(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "interlock.toml": CONFIG.replace("path", "pth"),
        "models/b.sql": MODEL,
        "models/b.toml": 'materialised = "table"\ntags = "a"\nstrategy = "append"\n',
        "models/a.sql": MODEL,
        "models/a.toml": "[contract.columns.id]\nnulable = false\ntype = 3\n",
        "seeds/s.csv": "a,b\n1\n",
    }
    found = project(tmp_path, files)
    assert [(finding.code, finding.at and (finding.at.path, finding.at.line)) for finding in found.findings] == [
        ("S105", ("interlock.toml", 4)),
        ("S103", ("interlock.toml", 6)),
        ("S103", ("models/a.toml", 2)),
        ("S104", ("models/a.toml", 3)),
        ("S103", ("models/b.toml", 1)),
        ("S104", ("models/b.toml", 2)),
        ("S117", ("seeds/s.csv", 2)),
    ]


def test_renames_must_make_sense(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "models/a.sql": MODEL,
        "models/a.toml": 'renamed_from = "m"\n',
        "models/b.sql": MODEL,
        "models/b.toml": 'renamed_from = "old"\n',
        "models/c.sql": MODEL,
        "models/c.toml": 'renamed_from = "old"\n',
        "models/d.sql": MODEL,
        "models/d.toml": 'renamed_from = "d"\n',
    }
    found = [(finding.code, finding.at and finding.at.path) for finding in project(tmp_path, files).findings]
    assert found == [("S116", "models/a.toml"), ("S106", "models/c.toml"), ("S104", "models/d.toml")]


def test_two_models_that_write_one_relation_are_told_per_target(tmp_path: Path) -> None:
    config = CONFIG + '[targets.prod]\ntype = "duckdb"\npath = "prod.duckdb"\nschema = "marts"\n'
    files: dict[str, str | bytes] = {
        "interlock.toml": config,
        "models/a.sql": MODEL,
        "models/a.toml": 'schema = "MARTS"\nalias = "Orders"\n',
        "models/orders.sql": MODEL,
        "models/e.sql": MODEL,
        "models/e.toml": 'materialized = "ephemeral"\n',
        "sources.toml": '[sources."main.m"]\n',
    }
    found = project(tmp_path, files)
    assert found.findings == ()
    assert [finding.subject for finding in relation_conflicts(found, found.targets["dev"])] == ["m"]
    (finding,) = relation_conflicts(found, found.targets["prod"])
    assert (finding.code, finding.subject) == ("S107", "orders")
    assert "`a`" in finding.because


def test_macros_are_read_as_text(tmp_path: Path) -> None:
    found = project(tmp_path, {"macros/b.sql": "create macro b() as 1;", "macros/a.sql": "create macro a() as 2;"})
    assert [(macro.path, macro.text[:14]) for macro in found.macros] == [
        ("macros/a.sql", "create macro a"),
        ("macros/b.sql", "create macro b"),
    ]


def test_an_environment_variable_has_no_meaning_but_in_interlock_toml(tmp_path: Path) -> None:
    finding = one(project(tmp_path, {"models/m.toml": '\ndescription = "by ${USER}"\n'}, environment={"USER": "ada"}))
    assert (finding.code, place(finding)[1]) == ("S104", 2)
    assert "interlock.toml only" in finding.because


def test_a_working_directory_that_is_gone_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Refused) as caught:
        find_project(Path())
    assert caught.value.findings[0].code == "S100"
