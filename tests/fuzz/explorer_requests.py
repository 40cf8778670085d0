"""Fuzz target for the explorer: any request gets a valid response and no internal error.

An input is a sequence of requests as a browser would send them::

    POST /api/upload?name=my.csv

    a,b
    1,2
    ~~~~
    GET /api/views?show=points&data={mine}

``{mine}`` is replaced by the key of the latest upload. A request has the token unless it has
another ``authorization`` header.
"""

import ast
import asyncio
import io
import json
import tempfile
import warnings
from functools import cache
from pathlib import Path
from unittest import mock
from urllib.parse import unquote, urlsplit

from tests.fuzz import mutations
from tests.fuzz.invariants import InvariantError, require, strict_warnings

END = b"\n~~~~\n"
TOKEN = "fuzz-token"
TABLE = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"
NUMBERS = b"a,b\n1,2\n2,1\n3,5\n4,4\n5,1\n"


def _view_names():
    from mercer.explorer.views import VIEWS

    return [name.encode() for name in VIEWS]


def _tokens():
    from dataclasses import fields

    from mercer.explorer.state import KERNELS, State

    names = [f"{field.name}=".encode() for field in fields(State)]
    return [
        *names,
        *(name.encode() for name in KERNELS),
        *_view_names(),
        *(b"show=", b"{mine}", b"given", b"rings", b"a", b"b", b"kind"),
        *(b"entropy", b"variance", b"selected", b"kronmal-tarter", b"all", b"label", b"cluster"),
        *(b"GET", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"/api/", b"/static/", b"../"),
        *(b"%2e%2e%2f", b"%00", b"%ff", b"%0a", b"//", b"\\", b"&", b"=", b"?", b"#", b"%", b"+"),
        *(b"1e-12", b"1e12", b"50", b"400", b"1,2,3", b"-360,90", b"12", b"0.1"),
        *(b"%C2%B2", b"%D9%A3", b"host: ", b"origin: http://evil.example", b"sec-fetch-site: none"),
        *(b"content-length: 9999999999", b"cookie: mercer-explorer="),
        *(b"if-modified-since: x", b"range: bytes=5-2,9-", b"accept-encoding: gzip"),
        *(b'{"rows": [0, 1]}', b"[" * 9000, b'{"rows": [1e400]}', b"\xff\xfe", b"\0", END),
    ]


# --- inputs ----------------------------------------------------------------------------------


def seeds():
    upload = b"POST /api/upload?name=my.csv\n\n" + TABLE
    plain = b"POST /api/upload?name=%C3%BC.csv\n\n" + NUMBERS
    asked = b"data={mine}&components=2"
    single = [
        *(b"GET /", b"GET /api/start", b"GET /static/main.js", b"HEAD /static/index.html"),
        b"GET /static/main.js\nrange: bytes=0-10",
        b"GET /api/start\nhost: localhost:80\norigin: http://localhost:80",
        b"GET /api/views?show=points&data=given&components=2&label=b",
        b"POST /api/rows?data=given\ncontent-type: application/json\n\n" + b'{"rows": [0, 2, 99]}',
        b"GET /api/views?data=nowhere&show=points",
    ]
    for name in _view_names():
        single.append(b"GET /api/views?data=given&show=" + name)
    chains = [
        upload + END + b"GET /api/views?show=points&" + asked,
        upload + END + b"GET /api/code.py?label=kind&" + asked,
        plain + END + b"GET /api/scores.csv?kernel=matern&nu=0.5&" + asked,
        plain + END + b"GET /api/model?kernel=polynomial&degree=3&" + asked,
        plain + END + b"GET /api/views?picks=1,3&scale=0&show=points&" + asked,
        plain + END + b"GET /api/code.py?terms=all&bandwidth=0.5&" + asked,
        plain + END + b'POST /api/rows?data={mine}\n\n{"rows": [1]}',
    ]
    return [*single, *chains]


def mutate(data, random):
    """Change a parameter, a header or the body of one request, or bytes anywhere."""
    if random.random() < 0.4:
        return mutations.near(data, random, _once(_tokens), _once(seeds))
    requests = data.split(END)
    index = random.randrange(len(requests))
    head, _, body = requests[index].partition(b"\n\n")
    first, *headers = head.split(b"\n")
    change = random.randrange(4)
    if change == 0:
        headers.append(random.choice(_HEADERS) + random.choice(_VALUES))
    elif change == 1:
        body = random.choice((random.choice(_BODIES), mutations.near(body, random, _CELLS)))
    elif change == 2:
        sign = b"&" if b"?" in first else b"?"
        first += sign + random.choice(_once(_names)) + b"=" + random.choice(_once(_values))
    else:
        first = random.choice(_PATHS) + (b"?" + first.partition(b"?")[2] if b"?" in first else b"")
    requests[index] = b"\n".join([first, *headers]) + b"\n\n" + body
    return END.join(requests)[: mutations.LARGEST]


_PATHS = [
    *(b"GET /api/views", b"GET /api/code.py", b"GET /api/scores.csv", b"GET /api/model"),
    *(b"POST /api/rows", b"POST /api/upload", b"GET /api/start", b"GET /static/main.js", b"GET /"),
    *(b"OPTIONS /api/rows", b"GET /api/views/", b"GET /static/", b"GET //evil.example/", b"PUT /x"),
]
_HEADERS = [
    *(b"host: ", b"origin: ", b"sec-fetch-site: ", b"cookie: mercer-explorer=", b"cookie: "),
    *(b"content-length: ", b"range: bytes=", b"if-modified-since: "),
    *(
        b"authorization: ",
        b"if-none-match: ",
        b"content-type: ",
        b"accept-encoding: ",
        b"if-range: ",
        b"expect: ",
    ),
]
_VALUES = [
    *(b"", b"127.0.0.1", b"localhost:80", b"[::1]", b"evil.example", b"null", b"0"),
    *(b"http://127.0.0.1", b"cross-site", b"same-origin", b"9" * 30, b"9" * 5000, b"\xb2", b"-1"),
    *(b"0-", b"-5", b"5-2", b"0-1,3-4", b"x", b"\xff", b'"', b";;", b"a=b; a=c", b"*"),
]
_CELLS = [
    *(b"1e308", b"-1e308", b"1e-320", b"nan", b"inf", b"", b"x", b"2024-01-31", b"\n", b",", b'"'),
    *(b"row", b"cluster", b"component_1", b"0", b"1e5", b"100000000", b"\n1,2\n", b"\xff", b"="),
]
_BODIES = [
    *(b"", b"[" * 9000, b'{"rows": [0, 1]}', b'{"rows": [-1]}', b'{"rows": [true]}', b"null"),
    *(b'{"rows": [' + b"9" * 30 + b"]}", b'{"rows": 1}', b"NaN", b'{"rows": ["\\ud800"]}', b"\xff"),
    *(
        TABLE,
        NUMBERS,
        b"a,b\n1,1e308\n2,-1e308\n3,1e300\n4,0\n",
        b"a\n1\n2\n3\n",
        b"PAR1",
        b"PK\x03\x04",
    ),
    *(b"row,cluster\n1,2\n2,1\n3,3\n4,1\n", b"a,b\n" + b"1,2\n" * 30 + b"2,1\n", b"\x1f\x8b"),
    b"t,u\n2024-01-31,x y z\n2024-02-01,u v w\n2024-02-02,one two\n2024-02-03,more words\n",
    b'"a""\nb\\",\xc3\xbc\n1,2\n2,1\n3,5\n5,5\n',
]


def _names():
    from dataclasses import fields

    from mercer.explorer.state import State

    return [*(field.name.encode() for field in fields(State)), b"show", b"name", b"token"]


def _values():
    from mercer.explorer.state import KERNELS

    words = b"given {mine} a b kind class 0 1 2 3 12 400 1e-12 1e12 0.5 -1 nan 1,2 1,400"
    more = b"entropy variance selected kronmal-tarter all label cluster -360,90 %00 %ff %0A %22 x"
    kernels = [name.encode() for name in KERNELS]
    return [b"", *words.split(), *more.split(), *kernels, *_view_names(), b"9" * 300]


@cache
def _once(make):
    return make()


# --- a client ----------------------------------------------------------------------------------


class Request:
    """One request as an ASGI server passes it on: request line, headers and body."""

    def __init__(self, text):
        head, _, self.body = text.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        words = first.split(b" ")
        self.method = words[0].decode("latin-1").strip().upper() or "GET"
        address = words[1] if len(words) > 1 else b"/"
        self.address = bytes(byte for byte in address if 32 < byte < 127) or b"/"
        self.headers = [_header(line) for line in lines if b":" in line]
        if not any(name == b"host" for name, _ in self.headers):
            self.headers.append((b"host", b"127.0.0.1"))
        if not any(name == b"authorization" for name, _ in self.headers):
            self.headers.append((b"authorization", f"Bearer {TOKEN}".encode()))

    def scope(self):
        raw, _, query = self.address.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(raw.decode("ascii")),
            "raw_path": raw,
            "query_string": query,
            "root_path": "",
            "headers": self.headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }


def _header(line):
    """Return a header as an ASGI server passes it on: lower case, no control characters."""
    name, _, value = line.partition(b":")
    name = bytes(byte for byte in name.lower() if chr(byte).isalnum() or byte in b"-_") or b"x"
    return name, bytes(byte for byte in value if byte >= 32 and byte != 127).strip()


class Response:
    def __init__(self):
        self.status, self.headers, self.body, self.ended = None, [], b"", False

    def header(self, name):
        return [value for key, value in self.headers if key.lower() == name.encode()]


async def ask(app, request):
    response, sent, done = Response(), False, asyncio.Event()

    async def receive():
        nonlocal sent
        if sent:
            await done.wait()
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message):
        require(not response.ended, "data after the end of the response")
        if message["type"] == "http.response.start":
            require(response.status is None, "two responses to one request")
            response.status, response.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            response.body += message.get("body", b"")
            response.ended = not message.get("more_body", False)
            if response.ended:
                done.set()

    failure = None
    try:
        await app(request.scope(), receive, send)
    except InvariantError:
        raise
    except Exception as error:  # starlette sends status 500 and raises
        failure = error
    return response, failure


class Explorer:
    """An explorer with small limits."""

    def __init__(self, folder):
        from mercer.explorer.server import make_app
        from mercer.explorer.uploads import Limits

        given = folder / "given.csv"
        given.write_bytes(TABLE)
        limits = Limits(upload=50_000, memory=1_000_000, rows=2000)
        self.app = make_app(TOKEN, limits=limits, given=given)
        self.service = self.app.state.service

    def substitute(self, text):
        mine = next(reversed(self.service.uploads.files), "none")
        return text.replace(b"{mine}", mine.encode())


# --- checks ----------------------------------------------------------------------------------


def check(data, folder):
    asyncio.run(_check(data, folder))


def read_in_this_process(path, name, limits, label=None, categorical=()):
    """Read an upload as the worker does; a process for each of many thousands would be slow."""
    import pandas as pd

    from mercer.explorer.uploads import convert

    target = path.with_suffix(".table")
    notes = convert(
        path.read_bytes(), name, target, limits, label=label, categorical=list(categorical)
    )
    return pd.read_feather(target), notes


async def _check(data, folder):
    explorer = Explorer(folder)
    read = "mercer.explorer.service.read_upload"
    try:
        with mock.patch(read, read_in_this_process):
            await _check_requests(explorer, data)
    finally:
        explorer.service.close()


async def _check_requests(explorer, data):
    async with explorer.app.router.lifespan_context(explorer.app):
        for text in data.split(END)[:6]:
            request = Request(explorer.substitute(text))
            with strict_warnings():
                response, failure = await ask(explorer.app, request)
            if failure is not None:
                raise failure
            check_response(request, response)


def check_response(request, response):
    from mercer.explorer.access import SECURITY_HEADERS

    where = f"{request.method} {request.address.decode()}: status {response.status}"
    require(response.ended and response.status is not None, f"{where}, incomplete")
    require(response.status < 500, where, response.body[:300])
    has_token = TOKEN in f"{request.address} {request.headers}"
    require(has_token or response.status == 401, f"{where}, without the token")
    for name, value in SECURITY_HEADERS.items():
        require(
            response.header(name) == [value.encode()],
            f"{where}, wrong header {name}:",
            response.headers,
        )
    require(
        not any(b"\n" in v or b"\r" in v for _, v in response.headers), "line break in a header"
    )
    is_api = request.scope()["path"].startswith("/api")
    if response.status >= 400 and request.method != "HEAD" and is_api:
        message = json.loads(response.body)["error"]
        require(isinstance(message, str) and len(message) > 5, f"{where}, no error message")
    if 300 <= response.status < 400:
        for location in response.header("location"):
            host = dict(request.headers)[b"host"].decode("latin-1")
            target = urlsplit(location.decode("latin-1")).netloc
            require(target in ("", host), f"{where}, redirect to {location!r}")
    if response.status == 200 and request.method != "HEAD":
        check_content(request.scope()["path"], response, is_api)


def check_content(path, response, is_api):
    """Check that the content has the format of its path."""
    if not is_api:
        require(response.body in _once(_static_files), f"{path} is not a static file")
    elif path.endswith(".py"):
        ast.parse(response.body.decode())
    elif path.endswith(".csv"):
        _check_csv(response.body)
    elif path.endswith("model"):
        _check_model(response.body)
    else:
        json.loads(response.body, parse_constant=_reject_constant)


def _static_files():
    from mercer.explorer.server import STATIC

    return {path.read_bytes() for path in STATIC.rglob("*") if path.is_file()}


def _reject_constant(name):
    raise InvariantError(f"{name} is not valid JSON")


def _check_csv(body):
    import csv

    rows = list(csv.reader(io.StringIO(body.decode(), newline="")))
    require(len({len(row) for row in rows}) == 1, "lines of different length")


def _check_model(body):
    import mercer

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "view.mercer")
        path.write_bytes(body)
        mercer.load(path)
