"""Slow, interrupted and oversized requests, sent over raw sockets to a server process.

Every wait has a timeout, so that a server that hangs fails a test.
"""

import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import zipfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")

from tests.processes import environment

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="open files are counted in /proc"
)

TIMEOUT = 30.0  # seconds after which a test fails
TOKEN = b"-" * 32  # stands for the token of the explorer; see send
TOKENS = {}  # by port
HOST = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN.decode()}"
CHUNKED = "Transfer-Encoding: chunked"
TABLE = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"
LIMITS = "upload=2_000_000"
WORK = "/api/views?data=iris&show=path"
LONG_WORK = "/api/views?data=digits&show=path"


class Explorer:
    """An explorer in another process."""

    def __init__(self, folder, *command):
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._log = folder / "log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                env=environment(TMPDIR=str(self.temporary)),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @classmethod
    def with_limits(cls, folder, limits, host="127.0.0.1"):
        return cls(
            folder,
            "-c",
            "from mercer.explorer import explore, server\n"
            "from mercer.explorer.uploads import Limits\n"
            "server._BODY_TIMEOUT = 1.0\n"
            f"explore(limits=Limits({limits}), host={host!r}, open_browser=False, "
            "log=lambda line: print(line, flush=True))",
        )

    def wait_until_ready(self):
        line = self.process.stdout.readline()
        found = re.search(r"http://(.+):(\d+)/\?(?:.*&)?token=([\w-]{32}) ", line)
        self.host, self.port = found.group(1).strip("[]"), int(found.group(2))
        TOKENS[self.port] = found.group(3).encode()
        wait_until(self.is_responsive)
        return self

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=TIMEOUT)

    def ask(self, request):
        """Send a request and return status and body of the response."""
        with self.connect() as client:
            send(client, request)
            return response(client)

    def is_responsive(self):
        try:
            return self.ask(get("/api/start"))[0] == 200
        except ConnectionRefusedError:
            return False

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self, name):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", text).group(1))

    def uploads(self):
        return [path for path in self.temporary.rglob("*") if path.is_file()]

    def log(self):
        return self._log.read_text()

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def wait_until(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.02)


def get(path, *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", HOST, "Connection: close", *headers, "", ""])


def post(path, *headers, body=b""):
    return "\r\n".join([f"POST {path} HTTP/1.1", HOST, *headers, "", ""]).encode() + body


def upload(body, size=None):
    size = len(body) if size is None else size
    return post("/api/upload?name=a.csv", f"Content-Length: {size}", body=body)


def in_chunks(content, size=50_000):
    parts = [content[i : i + size] for i in range(0, len(content), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def send(client, request):
    """Send as much of a request as the server accepts; insert the token."""
    content = request.encode("latin-1") if isinstance(request, str) else request
    with suppress(OSError):  # the server closed the connection
        client.sendall(content.replace(TOKEN, TOKENS[client.getpeername()[1]]))


def response(client):
    """Return status (None if the connection is closed) and body of the next response."""
    head, received = None, b""
    try:
        while True:
            part = client.recv(65536)
            received += part
            if head is None and b"\r\n\r\n" in received:
                head, _, received = received.partition(b"\r\n\r\n")
            length = head and re.search(rb"(?i)content-length: (\d+)", head)
            if not part or (length and len(received) >= int(length.group(1))):
                break
    except ConnectionResetError:
        pass
    return (int(head.split()[1]) if head else None), received


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@contextmanager
def healthy(explorer):
    """Check that the server still responds, closes its files and logs no traceback."""
    logged, files = len(explorer.log()), explorer.open_files()
    yield
    assert explorer.is_responsive()
    wait_until(lambda: explorer.open_files() <= files)
    assert "Traceback" not in explorer.log()[logged:]


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with Explorer.with_limits(tmp_path_factory.mktemp("explorer"), LIMITS) as one:
        yield one.wait_until_ready()
        assert one.stop() == 0
        assert not list(one.temporary.iterdir())


@pytest.mark.parametrize("pause", [0.05, TIMEOUT], ids=["slow", "stalled"])
def test_body_is_rejected_after_the_deadline(explorer, pause):
    with healthy(explorer), explorer.connect() as client:
        send(client, upload(b"", 100_000))
        client.settimeout(pause)
        status = None
        while status is None:
            send(client, b"1,2\n")
            with suppress(TimeoutError):
                status, body = response(client)
                break
        assert status == 408
        assert "1 s" in json.loads(body)["error"]
    assert not explorer.uploads()


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["close", "reset"])
def test_disconnected_clients_leave_nothing(explorer, leave):
    requests = [b"", b"GET / HT", upload(TABLE, 1000), upload(b"1,2\n" * 300_000, 1_500_000)]
    requests.append(post("/api/upload", CHUNKED, body=b"400\r\nabc"))
    requests.append(get(WORK).encode())
    threads = explorer.status("Threads")
    with healthy(explorer):
        for _ in range(5):
            for request in requests:
                client = explorer.connect()
                send(client, request)
                leave(client)
    wait_until(lambda: explorer.ask(get(WORK))[0] == 200)  # the queue is empty again
    wait_until(lambda: explorer.status("Threads") <= threads + 2)  # workers


@pytest.mark.parametrize(
    "request_",
    [
        upload(b"", 10**18),
        upload(b"1,2\n" * 500_001),
        upload(b"1,2\n" * 3_000_000),
        post("/api/upload", CHUNKED, body=in_chunks(b"1,2\n" * 500_001)),
        post("/api/rows", CHUNKED, body=in_chunks(b"1" * 1_000_001, 1_000)),
    ],
    ids=["declared", "slightly too large", "much too large", "chunked", "rows"],
)
def test_large_bodies_are_rejected_with_a_response(explorer, request_):
    before = explorer.uploads()
    with healthy(explorer):
        status, body = explorer.ask(request_)
        assert status == 413
        assert re.search(r"\b[12] MB", json.loads(body)["error"])
    assert explorer.uploads() == before


@pytest.mark.parametrize(
    "request_",
    [
        get("/api/start", *(f"X{i}: y" for i in range(20_000))),
        get("/api/start", "X: " + "x" * 5_000_000),
        get("/api/views?show=points&x=" + "x" * 100_000),
        bytes(1000),
        post("/api/rows", "Content-Length: -1"),
        post("/api/rows", "Content-Length: 4", CHUNKED, body=b"1\r\nZ\r\n0\r\n\r\n"),
        post("/api/rows", CHUNKED, body=b"zz\r\n\r\n"),
    ],
    ids=["many headers", "header", "query", "no HTTP", "length", "length and chunks", "chunk size"],
)
def test_invalid_requests_are_rejected(explorer, request_):
    with healthy(explorer):
        status, _ = explorer.ask(request_)
        assert status is None or 400 <= status < 500


# --- clients without the token ---------------------------------------------------------------

WITHOUT = "Host: 127.0.0.1"


def without_token(request):
    content = request.encode("latin-1") if isinstance(request, str) else request
    return content.replace(HOST.encode(), WITHOUT.encode())


@pytest.mark.parametrize(
    "request_",
    [
        get("/"),
        get("/static/main.js"),
        get(WORK),
        get("/api/start", "Cookie: mercer-explorer=x; token=x"),
        upload(TABLE),
        upload(b"", 100_000),  # the body does not arrive
        upload(b"1,2\n" * 300_000, 1_500_000),
        post("/api/upload", CHUNKED, body=b"400\r\nabc"),
        post("/api/rows", CHUNKED, body=in_chunks(b"1" * 1_000_001, 1_000)),
    ],
    ids=["page", "file", "work", "cookie", "table", "stalled", "large", "half chunk", "chunks"],
)
def test_clients_without_the_token_are_rejected_before_their_body(explorer, request_):
    before = explorer.uploads()
    with healthy(explorer), explorer.connect() as client:
        send(client, without_token(request_))
        status, body = response(client)
        assert status == 401
        assert json.loads(body)["error"]
    assert explorer.uploads() == before


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["close", "reset"])
def test_clients_without_the_token_leave_nothing(explorer, leave):
    requests = [b"GET / HT", upload(TABLE, 1000), upload(b"1,2\n" * 300_000, 1_500_000)]
    with healthy(explorer):
        for request in [*requests, get(WORK)] * 5:
            client = explorer.connect()
            send(client, without_token(request))
            leave(client)


def test_half_closed_clients_get_a_response(explorer):
    for request, status in ((get("/api/start"), 200), (without_token(get("/api/start")), 401)):
        with healthy(explorer), explorer.connect() as client:
            send(client, request)
            client.shutdown(socket.SHUT_WR)
            assert response(client)[0] == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("127.0.0.1", 200), ("127.0.0.1:1", 200), ("localhost:65535", 200), ("[::1]:80", 200)),
        *(("evil.example", 421), ("evil.example:80", 421), ("127.0.0.1:x", 421), ("[::2]", 421)),
    ],
)
def test_host_is_checked_in_addition_to_the_token(explorer, host, status):
    request = get("/api/start").replace("Host: 127.0.0.1", f"Host: {host}")
    with healthy(explorer):
        assert explorer.ask(request)[0] == status
        assert explorer.ask(without_token(request.replace(f"Host: {host}", WITHOUT)))[0] == 401


def test_two_explorers_have_their_own_tokens_and_cookies(explorer, tmp_path):
    with Explorer.with_limits(tmp_path, LIMITS) as other:
        other.wait_until_ready()
        tokens = [TOKENS[one.port] for one in (explorer, other)]
        assert tokens[0] != tokens[1]
        for one, foreign in ((explorer, tokens[1]), (other, tokens[0])):
            with one.connect() as client:
                send(client, get("/api/start").encode().replace(TOKEN, foreign))
                assert response(client)[0] == 401
        names = []
        for one in (explorer, other):
            with one.connect() as client:
                send(client, get("/api/start"))
                names.append(re.search(rb"set-cookie: ([\w-]+)=", client.recv(65536)).group(1))
        assert names[0] != names[1]


def test_ipv6_loopback(tmp_path):
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        with socket.socket(socket.AF_INET6) as free:
            free.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 loopback interface")
    with Explorer.with_limits(tmp_path, LIMITS, host="::1") as one:
        one.wait_until_ready()
        for host, status in (("[::1]", 200), (f"[::1]:{one.port}", 200), ("[::2]", 421)):
            request = get("/api/start").replace("Host: 127.0.0.1", f"Host: {host}")
            assert one.ask(request)[0] == status
        assert one.ask(without_token(get("/api/start")))[0] == 401
        assert one.stop() == 0


def test_log_does_not_contain_the_token(explorer):
    token = TOKENS[explorer.port].decode()
    for path in (f"/?token={token}", f"/nowhere?token={token}", f"/api/views?token={token}"):
        explorer.ask(get(path))
    explorer.ask(f"GET /?token={token} HTTP/9\r\n\r\n")
    assert token not in explorer.log()


# --- false sizes and the exit ----------------------------------------------------------------


def npy_with_false_size():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 900), }"
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64


def zip_with_false_size():
    file, npy = io.BytesIO(), io.BytesIO()
    np.save(npy, np.zeros((10**6, 2)))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy.getvalue())
    return file.getvalue().replace(struct.pack("<I", npy.tell()), struct.pack("<I", 1000))


@pytest.mark.parametrize("make", [npy_with_false_size, zip_with_false_size])
def test_files_that_declare_a_false_size_are_rejected(explorer, make):
    with healthy(explorer):
        status, body = explorer.ask(upload(make()))
        assert status in (413, 422), body
        assert json.loads(body)["error"]
    assert explorer.status("VmPeak") < 20_000_000  # kB


def test_explorer_exits_while_clients_are_connected(tmp_path):
    requests = [b"", b"GET / HT", upload(TABLE, 1000), get(LONG_WORK).encode()]
    requests.append(f"GET /static/plotly-cartesian.min.js HTTP/1.1\r\n{HOST}\r\n\r\n".encode() * 20)
    requests.append(f"GET /api/start HTTP/1.1\r\n{HOST}\r\n\r\n".encode())
    signals = {"interrupted": (signal.SIGINT, 0), "terminated": (signal.SIGTERM, 143)}
    command = ("-u", "-m", "mercer.cli", "explore", "--no-browser")
    with ExitStack() as stack:
        explorers = []
        for name in signals:
            (tmp_path / name).mkdir()
            explorers.append(stack.enter_context(Explorer(tmp_path / name, *command)))
        for one, (how, code) in zip(explorers, signals.values(), strict=True):
            assert one.wait_until_ready().ask(upload(TABLE))[0] == 200
            assert one.uploads()
            for request in requests * 3:
                client = stack.enter_context(one.connect())
                send(client, request)
            assert one.is_responsive()
            assert one.stop(how) == code
            assert not list(one.temporary.iterdir())
