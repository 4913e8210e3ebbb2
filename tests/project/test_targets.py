from __future__ import annotations

from pathlib import Path

import pytest
from tests.project.files import CONFIG, codes, one, place, project

from interlock.engine.diagnostics import Refused
from interlock.engine.project.environment import redactor
from interlock.engine.project.load import load
from interlock.engine.project.targets import choose_target

PROD = '[targets.prod]\ntype = "duckdb"\npath = "prod.duckdb"\nprotected = true\n'


def target(name: str, **keys: str) -> str:
    return f'[targets.{name}]\ntype = "duckdb"\npath = "{name}.duckdb"\n' + "".join(f"{key} = {value}\n" for key, value in keys.items())


HEAD = '[project]\nid = "abc"\nname = "shop"\n'


def test_every_key_of_a_target_is_read(tmp_path: Path) -> None:
    text = HEAD + target(
        "dev",
        schema='"s"',
        threads="2",
        create="true",
        accept_warehouse="true",
        on_change='"rebuild"',
        settings='{ TimeZone = "UTC", x = 1 }',
    )
    found = project(tmp_path, {"interlock.toml": text + '[ledger]\npath = "ledgers"\n'})
    assert found.findings == ()
    dev = found.targets["dev"]
    assert (dev.path, dev.location, dev.schema, dev.threads, dev.create, dev.protected) == (
        "dev.duckdb",
        tmp_path / "dev.duckdb",
        "s",
        2,
        True,
        False,
    )
    assert (dev.accept_warehouse, dev.on_change, dev.settings) == (True, "rebuild", {"TimeZone": "UTC", "x": 1})
    assert dev.ledger == tmp_path / "ledgers" / "dev"


def test_a_path_may_lie_outside_of_the_project(tmp_path: Path) -> None:
    found = project(tmp_path / "p", {"interlock.toml": CONFIG.replace("dev.duckdb", "../data/x.duckdb")})
    assert found.targets["dev"].location == tmp_path / "data/x.duckdb"


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        (HEAD, "S105", "targets"),
        (HEAD.replace('id = "abc"\n', "") + target("dev"), "S105", "project.id"),
        (target("dev"), "S105", "project"),
        (HEAD.replace("abc", "a/b") + target("dev"), "S104", "project.id"),
        (HEAD.replace("shop", " ") + target("dev"), "S104", "project.name"),
        (HEAD + 'default_target = "dve"\n' + target("dev"), "S110", "project.default_target"),
        (HEAD + 'default_target = "prod"\n' + PROD, "S116", "project.default_target"),
        (HEAD + target("dev", protected="true", accept_warehouse="true"), "S116", "targets.dev.accept_warehouse"),
        (HEAD + target("dev") + target("Dev"), "S106", "targets.Dev"),
        (HEAD + target("dev") + target("two").replace("two.duckdb", "./dev.duckdb"), "S106", "targets.two.path"),
        (HEAD + '[targets."a b"]\ntype = "duckdb"\npath = "x"\n', "S108", 'targets."a b"'),
        (HEAD + target("dev").replace('"duckdb"', '"postgres"'), "S104", "targets.dev.type"),
        (HEAD + target("dev").replace("dev.duckdb", ""), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", "."), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", "data/.."), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", ":memory:"), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", "~/x.duckdb"), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", "md:x"), "S104", "targets.dev.path"),
        (HEAD + target("dev").replace("dev.duckdb", "data/"), "S104", "targets.dev.path"),
        (HEAD + target("dev", schema='"INTERLOCK"'), "S108", "targets.dev.schema"),
        (HEAD + target("dev", schema='"a b"'), "S108", "targets.dev.schema"),
        (HEAD + target("dev", threads="0"), "S104", "targets.dev.threads"),
        (HEAD + target("dev", threads='"4"'), "S104", "targets.dev.threads"),
        (HEAD + target("dev", create='"yes"'), "S104", "targets.dev.create"),
        (HEAD + target("dev", pth='"x"'), "S103", "targets.dev.pth"),
        (HEAD + target("dev") + "[ledger]\n", "S105", "ledger.path"),
        (HEAD + target("dev") + '[ledger]\npath = ""\n', "S104", "ledger.path"),
        (HEAD + target("dev") + "[replications]\n", "S103", "replications"),
        (HEAD + target("dev") + '[target.prod]\ntype = "duckdb"\n', "S103", "target"),
    ],
)
def test_an_interlock_toml_that_is_wrong_says_which_key(tmp_path: Path, text: str, code: str, key: str) -> None:
    finding = one(project(tmp_path, {"interlock.toml": text}))
    assert (finding.code, place(finding)[3]) == (code, key)
    assert finding.remedy


def test_everything_else_is_still_looked_at(tmp_path: Path) -> None:
    assert sorted(codes(project(tmp_path, {"interlock.toml": "[targets]\n", "models/x.toml": ""}))) == ["S105", "S112"]


# --- which target ---


@pytest.mark.parametrize(
    ("text", "name", "writes", "answer"),
    [
        (target("dev"), None, True, "dev"),
        (target("dev"), "dev", True, "dev"),
        (target("dev"), "prod", False, "S110"),
        (target("dev") + PROD, None, True, "S111"),
        (target("dev") + PROD, None, False, "dev"),
        (PROD + target("dev"), None, False, "dev"),
        (target("dev") + PROD, "prod", True, "prod"),
        (PROD, None, True, "S111"),
        (PROD, None, False, "prod"),
        (target("a") + target("b"), None, True, "S111"),
        (target("a") + target("b"), None, False, "a"),
    ],
)
def test_a_write_never_guesses_its_target(tmp_path: Path, text: str, name: str | None, writes: bool, answer: str) -> None:
    found = project(tmp_path, {"interlock.toml": HEAD + text})
    assert found.findings == ()
    if answer in found.targets:
        assert choose_target(found, name, writes=writes).name == answer
        return
    with pytest.raises(Refused) as caught:
        choose_target(found, name, writes=writes)
    assert caught.value.findings[0].code == answer
    assert caught.value.findings[0].remedy


def test_the_default_target_is_used(tmp_path: Path) -> None:
    found = project(tmp_path, {"interlock.toml": HEAD + 'default_target = "b"\n' + target("a") + target("b")})
    assert choose_target(found, None, writes=True).name == "b"


def test_an_unknown_target_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        choose_target(project(tmp_path), "dve", writes=True)
    assert caught.value.findings[0].remedy == "did you mean `dev`?"


# --- the environment ---


def test_an_environment_variable_is_read_where_things_lie(tmp_path: Path) -> None:
    text = HEAD + target("dev", settings='{ x = "${KEY}" }').replace("dev.duckdb", "${DIR}/${NAME}.duckdb") + '[ledger]\npath = "${DIR}"\n'
    found = project(tmp_path, {"interlock.toml": text}, environment={"DIR": "/data", "NAME": "d", "KEY": "secret"})
    dev = found.targets["dev"]
    assert (dev.path, str(dev.location), str(dev.ledger)) == ("/data/d.duckdb", "/data/d.duckdb", "/data/dev")
    assert dev.settings == {"x": "secret"}
    assert found.environment == ("DIR", "KEY", "NAME")


def test_a_missing_variable_refuses_its_target_and_no_other(tmp_path: Path) -> None:
    text = HEAD + target("dev") + target("ci").replace("ci.duckdb", "${CI_PATH}/x.duckdb")
    found = project(tmp_path, {"interlock.toml": text})
    assert found.findings == ()
    assert list(found.targets) == ["dev"]
    with pytest.raises(Refused) as caught:
        choose_target(found, "ci", writes=False)
    (finding,) = caught.value.findings
    assert (finding.code, place(finding)[:2]) == ("S109", ("interlock.toml", 9))
    assert "CI_PATH" in finding.remedy
    assert choose_target(found, "dev", writes=True).name == "dev"
    assert choose_target(found, None, writes=False).name == "dev"
    with pytest.raises(Refused) as caught:
        choose_target(found, None, writes=True)
    assert caught.value.findings[0].code == "S111"


@pytest.mark.parametrize("default", ["", 'default_target = "dev"\n'])
def test_the_only_target_without_its_variable_is_refused_for_that(tmp_path: Path, default: str) -> None:
    found = project(tmp_path, {"interlock.toml": HEAD + default + target("dev").replace("dev.duckdb", "${A}${B}.duckdb")})
    with pytest.raises(Refused) as caught:
        choose_target(found, None, writes=True)
    assert [finding.code for finding in caught.value.findings] == ["S109", "S109"]


def test_a_ledger_without_its_variable_stops_all(tmp_path: Path) -> None:
    assert codes(project(tmp_path, {"interlock.toml": CONFIG + '[ledger]\npath = "${NOWHERE}"\n'})) == ["S109"]


def test_a_path_of_an_environment_s_value_that_no_file_can_have_is_an_error(tmp_path: Path) -> None:
    text = HEAD + target("dev").replace("dev.duckdb", "${NAME}")
    finding = one(project(tmp_path, {"interlock.toml": text}, environment={"NAME": "a\0b.duckdb"}))
    assert (finding.code, finding.summary) == ("S104", "the path has a NUL character")


def test_an_empty_variable_in_a_path_refuses_and_says_that_it_is_empty(tmp_path: Path) -> None:
    text = HEAD + target("dev").replace("dev.duckdb", "${DIR}/x.duckdb")
    found = project(tmp_path, {"interlock.toml": text}, environment={"DIR": ""})
    with pytest.raises(Refused) as caught:
        choose_target(found, "dev", writes=True)
    (finding,) = caught.value.findings
    assert finding.code == "S109"
    assert "empty" in finding.remedy
    ledger = project(tmp_path, {"interlock.toml": CONFIG + '[ledger]\npath = "${DIR}"\n'}, environment={"DIR": ""})
    assert codes(ledger) == ["S109"]


@pytest.mark.parametrize("text", ["${}", "${A", "${A-B}", "${A:-x}", "x${1}"])
def test_what_only_looks_like_a_variable_is_refused(tmp_path: Path, text: str) -> None:
    assert codes(project(tmp_path, {"interlock.toml": CONFIG.replace("dev.duckdb", text)}, environment={"A": "a"})) == ["S104"]


@pytest.mark.parametrize("extra", ['[vars]\nx = "${KEY}"\n', 'schema = "s${KEY}"\nsettings = { s3_region = "${KEY}" }\n'])
def test_a_secret_cannot_come_to_where_it_would_be_planned(tmp_path: Path, extra: str) -> None:
    found = project(tmp_path, {"interlock.toml": CONFIG + extra}, environment={"KEY": "hidden"})
    assert "S104" in codes(found)
    assert "hidden" not in str(found)


def test_no_value_of_the_environment_reaches_a_finding(tmp_path: Path) -> None:
    text = HEAD + target("dev", settings='{ x = "${KEY}" }').replace("dev.duckdb", "md:${KEY}")
    found = project(tmp_path, {"interlock.toml": text}, environment={"KEY": "hidden-value"})
    assert codes(found) == ["S104"]
    assert "hidden-value" not in str(found.findings)


def test_output_shows_no_value_of_the_environment(tmp_path: Path) -> None:
    environment = {"LONG": "s3cret/longer", "SHORT": "s3cret", "QUOTED": "pa'ss\"word", "TINY": "abc", "OTHER": "untouched"}
    text = HEAD + target("dev", settings='{ a = "${LONG}", b = "${SHORT}", c = "${QUOTED}", d = "${TINY}" }')
    redact = redactor(project(tmp_path, {"interlock.toml": text}, environment=environment), environment)
    assert redact("x s3cret/longer s3cret y") == "x *** *** y"
    assert redact('{"k": "pa\'ss\\"word"}') == '{"k": "***"}'
    assert redact("SET x = 'pa''ss\"word'") == "SET x = '***'"
    assert redact("abc untouched") == "abc untouched"


def test_without_secrets_output_is_as_it_is(tmp_path: Path) -> None:
    assert redactor(project(tmp_path), {"HOME": "/root"})("/root") == "/root"


@pytest.mark.parametrize("setting", ["errors_as_json = false", 'File_Search_Path = "/"', 'schema = "x"'])
def test_settings_that_the_product_rests_on_are_not_a_targets_to_set(tmp_path: Path, setting: str) -> None:
    text = HEAD + target("dev", settings="{ " + setting + " }")
    finding = one(project(tmp_path, {"interlock.toml": text}))
    assert finding.code == "S104"
    assert "Interlock sets it" in finding.because


def test_a_named_target_of_a_file_with_mistakes_has_the_mistakes_told(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text('[project]\nname = "x"\n[targets.dev]\ntype = "duckdb"\npath = "w.duckdb"\n', encoding="utf-8")
    with pytest.raises(Refused) as caught:
        choose_target(load(tmp_path, environment={}), "dev", writes=True)
    assert [finding.code for finding in caught.value.findings] == ["S105"]
