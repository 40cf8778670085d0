"""``mercer explore`` with the options that describe the input file."""

import re
import sys
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")

from starlette.testclient import TestClient

from mercer.cli import main
from tests.cli.running import assert_names

ROWS = "".join(f"{i},{i * i % 7 if i % 3 else ''},{i % 4},{'ab'[i % 2]}\n" for i in range(24))


@pytest.fixture
def latin(tmp_path):
    """Write a CSV in Latin-1, with missing values, codes and classes."""
    path = tmp_path / "latin.csv"
    path.write_bytes(f"größe,y,code,kind\n{ROWS}".encode("latin-1"))
    return path


@pytest.fixture
def explore(monkeypatch, capsys):
    """Run the command with a test client in place of the server; return its responses."""

    def run(*arguments):
        responses = {}

        def serve(server, sockets):
            address = re.search(r"http://\S+", capsys.readouterr().out).group()
            query = urlsplit(address).query
            with TestClient(server.config.app, base_url=address.partition("/?")[0]) as client:
                responses["query"] = parse_qsl(query)[:-1]  # without the token
                responses["summary"] = client.get(f"/api/views?{query}&show=points").json()[
                    "summary"
                ]
                responses["code"] = client.get(f"/api/code.py?{query}").text

        monkeypatch.setattr("uvicorn.Server.run", serve)
        assert main(["explore", *map(str, arguments), "--no-browser"]) == 0
        return responses

    return run


def read_by(code):
    """Return the table that exported code reads."""
    values = {}
    exec(re.split(r"\n(?:X|model) = ", code)[0], values)
    return values["table"]


def test_encoding_and_columns(latin, explore):
    options = ["--encoding", "latin-1", "--label", "kind", "--ignore", "y", "--categorical", "code"]
    found = explore(latin, *options)
    columns = [("label", "kind"), ("ignore", "y"), ("categorical", "code")]
    assert found["query"] == [("data", "given"), *columns]
    assert found["summary"]["rows"] == 24
    names = [name for name, _ in found["summary"]["all_columns"]]
    assert names == ["größe", "y", "code", "kind"]
    table = read_by(found["code"])
    assert table.column_types == {"größe": "number", "code": "category"}
    assert table.label == "kind"


@pytest.mark.parametrize(("missing", "rows"), [("drop", 16), ("keep", 24)])
def test_missing_values(latin, explore, missing, rows):
    found = explore(latin, "--encoding", "latin-1", "--label", "kind", "--missing", missing)
    assert 24 - found["summary"]["rows_omitted"] == rows
    assert read_by(found["code"]).n == rows


def test_label_of_an_embedded_data_set(explore):
    found = explore("wine", "--label", "proline")
    assert found["query"] == [("data", "wine"), ("label", "proline")]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ([], ["latin.csv", "0xf6"]),
        (["--encoding", "latin-1", "--label", "sort"], ["'sort'"]),
        (["--encoding", "latin-1", "--ignore", "sort"], ["'sort'"]),
    ],
    ids=["encoding", "label", "ignore"],
)
def test_invalid_options_are_reported_before_serving(latin, options, values, capsys):
    assert main(["explore", str(latin), *options, "--no-browser"]) == 1
    assert_names(capsys.readouterr().err, *values)


def test_error_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["explore", "wine", "--no-browser"]) == 1
    assert_names(capsys.readouterr().err, "uvicorn", "pip install mercer[web]")
