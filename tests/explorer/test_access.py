"""Access control: the token, the host, the origin, the cookie and security headers."""

import secrets

import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
pytest.importorskip("hypothesis", reason="hypothesis is not installed")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.explorer_client import TOKEN, connect

GOOD = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"
COOKIE = "mercer-explorer"
PATHS = [
    *("/", "/api/start", "/api/views?show=points", "/api/code.py", "/api/scores.csv"),
    *("/api/model", "/static/main.js", "/static/index.html", "/nowhere", "/api/rows"),
]


@pytest.fixture
def anonymous():
    """A client without the token."""
    with connect(token=None) as one:
        yield one


# --- token -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_token_is_required_on_the_loopback_interface(anonymous, path):
    answer = anonymous.get(path)
    assert answer.status_code == 401
    assert answer.json()["error"]
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "set-cookie" not in answer.headers
    assert anonymous.post(path, content=GOOD).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer \xff"},
        {"cookie": f"{COOKIE}={TOKEN}"},
        {"cookie": f"{COOKIE}-token={TOKEN}; token={TOKEN}"},
        {"x-mercer-token": TOKEN},
    ],
)
def test_wrong_tokens_are_rejected(anonymous, headers):
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    for path in ("/", "/api/start", "/static/main.js"):
        assert anonymous.get(path, headers=encoded).status_code == 401


@pytest.mark.parametrize("query", ["token=wrong", "token=", "TOKEN=a-token", "token=a-token%00"])
def test_wrong_tokens_in_the_query_are_rejected(anonymous, query):
    assert anonymous.get(f"/?{query}").status_code == 401


def test_token_is_compared_in_constant_time(client, monkeypatch):
    compared, original = [], secrets.compare_digest

    def compare(a, b):
        compared.append({a, b})
        return original(a, b)

    monkeypatch.setattr(secrets, "compare_digest", compare)
    assert client.get("/api/start").status_code == 200
    assert compared == [{TOKEN.encode()}]


def test_cookie_opens_the_page_but_not_the_data(anonymous):
    """Cookies are sent to all ports of a host, so the server of another user may receive them."""
    assert anonymous.get(f"/?data=wine&token={TOKEN}").status_code == 200
    assert anonymous.cookies.get(COOKIE) not in (None, TOKEN)
    for path in ("/", "/?data=iris", "/static/main.js"):
        assert anonymous.get(path).status_code == 200
    for path in ("/api/start", "/api/code.py", "//api/start", "/static/../api/start"):
        assert anonymous.get(path).status_code == 401
    assert anonymous.get("/?token=wrong").status_code == 401
    anonymous.cookies.set(COOKIE, "unknown")
    assert anonymous.get("/static/main.js").status_code == 401


def test_responses_do_not_contain_the_token(client):
    """The state of the page, exported code and error messages are free of it."""
    query = f"data=wine&token={TOKEN}"
    for path in ("/", f"/?{query}", "/api/start", f"/api/code.py?{query}", f"/x?{query}"):
        assert TOKEN not in client.get(path).text
    views = client.get(f"/api/views?{query}&show=points")
    assert views.status_code == 200
    assert TOKEN not in views.text
    assert views.headers["referrer-policy"] == "no-referrer"


# --- host and origin -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost:9999", "LOCALHOST", "127.0.0.1:", "127.9.9.9:80"),
        *("[::1]", "[::1]:80", "[0:0:0:0:0:0:0:1]:1"),
    ],
)
def test_loopback_host_is_accepted(client, host):
    assert client.get("/api/start", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""),
        *("127.0.0.1:80:80", "127.0.0.1:x", "user@127.0.0.1", "[::1", "::1]", "[::2]", "[]"),
        *("127.0.0.1 evil.example", "localhost.evil.example", "a:b@localhost:80", "[x]:80"),
    ],
)
def test_foreign_host_is_rejected(client, host):
    """The token does not replace the check of the host."""
    answer = client.get("/api/start", headers={"host": host})
    assert answer.status_code == 421
    assert answer.json()["error"]


def test_own_names_are_accepted_on_other_interfaces():
    with connect(hosts=("0.0.0.0", "Server.example")) as client:
        for host in ("server.example:80", "SERVER.EXAMPLE", "localhost", "127.0.0.1"):
            assert client.get("/api/start", headers={"host": host}).status_code == 200
        assert client.get("/api/start", headers={"host": "evil.example"}).status_code == 421
    with connect(host="10.0.0.1", hosts=("server.example",)) as client:  # connected to this address
        assert client.get("/api/start").status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1234"])
def test_foreign_origin_is_rejected(client, origin):
    body = {"rows": [0]}
    answer = client.post("/api/rows", json=body, headers={"origin": origin})
    assert answer.status_code == 403
    own = client.post("/api/rows", json=body, headers={"origin": "http://127.0.0.1"})
    assert own.status_code == 200


def test_other_sites_may_only_link_to_the_page(client):
    foreign = {"sec-fetch-site": "cross-site"}
    assert client.get("/", headers=foreign).status_code == 200
    for path in ("/api/start", "/api/views?show=points", "/api/code.py", "/static/main.js"):
        assert client.get(path, headers=foreign).status_code == 403


# --- headers ---------------------------------------------------------------------------------


def test_content_security_policy_allows_own_scripts_only(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe-eval" not in policy
    assert "script-src" not in policy  # so default-src applies and forbids inline scripts
    assert "://" not in page.text.replace("http://www.w3.org", "")
    assert "<script>" not in page.text
    assert " onclick" not in page.text
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fstate.py"]
)
def test_only_static_files_are_served(client, path):
    assert client.get(path).status_code == 404


def test_cookie_is_strict_and_hidden_from_scripts(client):
    cookie = client.get("/").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    assert "set-cookie" not in client.get("/").headers


# --- any request without the token -----------------------------------------------------------

SEGMENTS = ["api", "static", "start", "views", "rows", "upload", "code.py", "scores.csv", "model"]
SEGMENTS += ["..", ".", "", "main.js", "%2e%2e", "%00", "%2f", "index.html", "token", "\u00e9"]
paths = st.lists(st.sampled_from(SEGMENTS) | st.text(max_size=5), max_size=5).map("/".join)
names = st.sampled_from(["token", "data", "show", "name", "Token", "token%00", "authorization"])
values = st.sampled_from(["", "given", "points", "%ff", TOKEN[:-1], TOKEN.upper(), f"{TOKEN}+"])
queries = st.lists(st.tuples(names, values | st.text(max_size=5)).map("=".join), max_size=4)
methods = st.sampled_from(["GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE", "TRACE", "", "X"])
header_names = st.sampled_from(
    [
        *("host", "origin", "cookie", "authorization", "sec-fetch-site", "content-length"),
        *("transfer-encoding", "upgrade", "x-mercer-tab", "x-forwarded-for", "x-forwarded-host"),
        *("x-original-url", "range", "connection"),
    ]
)
header_values = st.sampled_from(
    [
        *("127.0.0.1", "evil.example", "[", "null", "cross-site", "chunked", "bytes=0-", "Bearer"),
        *(f"Bearer  {TOKEN}", f"bearer {TOKEN[:-1]}", f"{COOKIE}=x", f"{COOKIE}={TOKEN}"),
    ]
)
headers = st.lists(
    st.tuples(header_names, header_values | st.text(max_size=20))
    | st.tuples(st.from_regex(r"[a-z-]{1,10}", fullmatch=True), st.just("x" * 70_000)),
    max_size=5,
)


@given(methods, paths, queries, headers, st.binary(max_size=50))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_request_without_the_token_is_answered(anonymous, method, path, query, headers, body):
    """The application sees raw bytes, as from a server that does not validate anything."""
    import asyncio

    messages = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        messages.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": f"/{path}",
        "query_string": "&".join(query).encode("utf-8", "replace"),
        "headers": [(name.encode(), value.encode("utf-8", "replace")) for name, value in headers],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(anonymous.app(scope, receive, send))
    assert messages[0]["status"] in (401, 403)
    assert not any(name == b"set-cookie" for name, _ in messages[0]["headers"])
