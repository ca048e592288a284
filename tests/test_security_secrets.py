"""Passwords of databases show nowhere: not on the terminal, not in what a run leaves."""

from pathlib import Path

import pytest
from commands import harvest_here

pytestmark = pytest.mark.slow

SECRET = "s3cr3t.Wort"

LOCATIONS = {
    "as user information": f"postgresql://reader:{SECRET}@127.0.0.1:1/distiller",
    "with odd characters": f"postgresql://rea%40der:{SECRET}@x:y/z@127.0.0.1:1/distiller",
    "as a parameter": f"postgresql://127.0.0.1:1/distiller?user=reader&password={SECRET}",
    "as an encoded parameter": f"postgresql://127.0.0.1:1/distiller?pass%77ord={SECRET}",
    "with a mistyped scheme": f"postgresq://reader:{SECRET}@127.0.0.1:1/distiller",
    "in libpq's other form": f"host=127.0.0.1 port=1 user=reader password={SECRET}",
    "in quotes there": f"host=127.0.0.1 port=1 password = '{SECRET} \\' more' user=reader",
}


@pytest.mark.parametrize("how", LOCATIONS)
def test_a_failed_connection_tells_no_password_even_in_its_traceback(
    tmp_path: Path, how: str
) -> None:
    # given a database that nobody serves, then what is said and left holds no password
    out = tmp_path / "out"
    done = harvest_here(
        "--debug", "run", "-s", f"distiller:{LOCATIONS[how]}", "-k", f"parquet:{out}"
    )
    assert done.returncode == 1, done.stderr
    assert "127.0.0.1" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    left = [path for path in out.rglob("*") if path.is_file()]
    assert not [path for path in left if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("how", LOCATIONS)
@pytest.mark.parametrize("name", ["distiller:", ""], ids=["named", "to be detected"])
def test_the_printed_recipe_has_no_password(tmp_path: Path, how: str, name: str) -> None:
    # given a password in a location and one in a setting, from the command line and a recipe
    (tmp_path / "r.toml").write_text('[set.dask]\ntls_key = "a.pem"\nauth_token = "' + SECRET + '"')
    source = name + LOCATIONS[how]
    done = harvest_here(
        "run", tmp_path / "r.toml", "-s", source, "-k", "parquet:o", "--print-config"
    )

    # then both are hidden, what is no secret is there, and a comment says so
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert "127.0.0.1" in done.stdout
    assert 'auth_token = "***"' in done.stdout
    assert 'tls_key = "a.pem"' in done.stdout
    assert done.stdout.startswith("# passwords and other secrets are hidden")


def test_the_password_of_the_environment_is_told_nowhere(tmp_path: Path) -> None:
    location = "postgresql://reader@127.0.0.1:1/distiller"
    done = harvest_here("--debug", "preview", "-s", f"distiller:{location}", PGPASSWORD=SECRET)
    assert done.returncode == 1
    assert SECRET not in done.stdout + done.stderr


def test_an_unknown_source_is_told_without_its_location() -> None:
    for name in ("distillr:", ""):
        done = harvest_here(
            "run", "-s", name + LOCATIONS["as user information"], "-k", "parquet:out"
        )
        assert done.returncode == 2
        assert SECRET not in done.stdout + done.stderr
