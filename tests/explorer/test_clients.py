"""Clients that are slow, half gone, greedy or no clients at all, against the server itself.

The explorer runs in a process of its own, as ``mercer explore`` runs it; clients are raw sockets.
Every wait has a generous end, so that a server that waits for ever fails a test.
"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the explorer needs mercer[web]")
pytest.importorskip("cyclopts", reason="the command line needs mercer[cli]")

import mercer

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="a process's files are counted in /proc"
)

LONG = 30.0  # seconds after which a test gives up
HOST = "Host: 127.0.0.1"
TABLE = b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n"
HASTY = "patience=0.8, slowest=2000.0"
CROWDED = "connections=30, upload=2_000_000, arriving=5_000_000"
WORK = "/api/views?data=iris&show=path"
LONG_WORK = "/api/views?data=digits&show=path"  # longer than anyone waits for the end


class Explorer:
    """A server in a process of its own."""

    def __init__(self, folder, *command):
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._log = folder / "log"
        source = str(Path(mercer.__file__).parents[1])
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                env={**os.environ, "PYTHONPATH": source, "TMPDIR": str(self.temporary)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def ready(self):
        line = self.process.stdout.readline()
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)/", line).group(1))
        eventually(self.is_well)
        return self

    @classmethod
    def within(cls, folder, limits):
        return cls(
            folder,
            "-c",
            "from mercer.explorer import explore\n"
            "from mercer.explorer.sessions import Limits\n"
            f"explore(limits=Limits({limits}), open_browser=False, "
            "tell=lambda line: print(line, flush=True))",
        )

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG)

    def ask(self, request):
        """Send a request, and return the status and the body of its answer."""
        with self.connect() as client:
            send(client, request)
            return answer(client)

    def is_well(self):
        try:
            return self.ask(get("/api/start"))[0] == 200
        except ConnectionRefusedError:
            return False

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def status(self, name):
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", text).group(1))

    def uploads(self):
        return [path for path in self.temporary.rglob("*") if path.is_file()]

    def said(self):
        return self._log.read_text()

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(LONG)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()  # unless it has ended, as it should
        self.process.wait()
        self.process.stdout.close()


def eventually(holds):
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def get(path, *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", HOST, "Connection: close", *headers, "", ""])


def post(path, *headers, body=b""):
    return "\r\n".join([f"POST {path} HTTP/1.1", HOST, *headers, "", ""]).encode() + body


def upload(body, size=None):
    size = len(body) if size is None else size
    return post("/api/upload?name=a.csv", f"Content-Length: {size}", body=body)


def send(client, request):
    """Send what the server takes of it."""
    with_bytes = request.encode("latin-1") if isinstance(request, str) else request
    with suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(with_bytes)


def answer(client):
    """The status (None for a closed connection) and the body of the next answer."""
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


def words(body):
    return json.loads(body)["error"]


def is_closed(client):
    """Read on until the server closes; fails by a timeout."""
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@contextmanager
def watched(explorer):
    """The server survives, says a line of warning at most, and lets go of everything."""
    said, files = len(explorer.said()), explorer.files()
    yield
    assert explorer.is_well()
    eventually(lambda: explorer.files() <= files)
    for line in explorer.said()[said:].splitlines():
        assert line == "WARNING:  Invalid HTTP request received."


@pytest.fixture(scope="module")
def explorers(tmp_path_factory):
    folders = [tmp_path_factory.mktemp(name) for name in ("hasty", "crowded")]
    with Explorer.within(folders[0], HASTY) as one, Explorer.within(folders[1], CROWDED) as other:
        yield one.ready(), other.ready()
        for explorer in (one, other):
            assert explorer.end() == 0
            assert not list(explorer.temporary.iterdir())


@pytest.fixture(scope="module")
def hasty(explorers):
    """It waits for nobody."""
    return explorers[0]


@pytest.fixture(scope="module")
def crowded(explorers):
    """It has little room."""
    return explorers[1]


# --- slow ------------------------------------------------------------------------------------


def trickle(client, request):
    """A byte at a time, until the server has had enough; the answer."""
    client.setblocking(False)
    for byte in request:
        try:
            client.send(bytes([byte]))
            client.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            time.sleep(0.05)
        except OSError:
            break
        else:
            break
    client.settimeout(LONG)
    return answer(client)


def test_a_head_that_trickles_is_refused(hasty):
    with watched(hasty), hasty.connect() as client:
        status, body = trickle(client, get("/api/start", "X: " + "x" * 1000).encode())
        assert status == 408
        assert "longer than 0.8 s" in words(body)
        assert is_closed(client)


def test_a_second_request_that_trickles_is_refused(hasty):
    with watched(hasty), hasty.connect() as client:
        send(client, f"GET /api/start HTTP/1.1\r\n{HOST}\r\n\r\n")
        assert answer(client)[0] == 200
        assert trickle(client, get("/api/start", "X: " + "x" * 1000).encode())[0] == 408


def test_a_body_that_trickles_is_refused(hasty):
    with watched(hasty), hasty.connect() as client:
        send(client, upload(b"", 2000))
        status, body = trickle(client, b"1,2\n" * 500)
        assert status == 408
        assert "2,000 bytes per second" in words(body)
        assert is_closed(client)
    assert not hasty.uploads()


def test_a_body_that_stands_still_is_refused(hasty):
    with watched(hasty), hasty.connect() as client:
        send(client, upload(TABLE * 1000, 10**6))
        status, body = answer(client)
        assert status == 408
        assert "stood still for 0.8 s" in words(body)
        assert is_closed(client)


def test_who_says_nothing_is_left(hasty):
    with watched(hasty), hasty.connect() as client:
        assert answer(client) == (None, b"")


def test_who_is_answered_before_the_end_of_a_body_cannot_send_it_for_ever(hasty):
    with watched(hasty), hasty.connect() as client:
        send(client, post("/api/nothing", "Content-Length: 1000000", body=b"x"))
        assert answer(client)[0] == 404
        status, _ = trickle(client, b"x" * 2000)
        assert status is None


@pytest.mark.parametrize(
    "path", ["/static/plotly-cartesian.min.js", "/api/scores.csv?data=digits&components=20"]
)
def test_who_does_not_read_is_left(hasty, path):
    """More is asked for than the system holds for a client that does not read."""
    files = hasty.files()
    with watched(hasty), ExitStack() as stack:
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", hasty.port))
            send(client, f"GET {path} HTTP/1.1\r\n{HOST}\r\n\r\n" * 20)
        eventually(lambda: hasty.files() > files)
        assert hasty.is_well()
        eventually(lambda: hasty.files() <= files)  # while the clients are still there


def test_who_reads_slowly_gets_everything(hasty):
    """Longer than the server's patience, more than the system holds, but steadily."""
    path = "/static/plotly-cartesian.min.js"
    content = (Path(mercer.__file__).parent / f"explorer{path}").read_bytes()
    with watched(hasty), socket.socket() as client:
        client.settimeout(LONG)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.connect(("127.0.0.1", hasty.port))
        send(client, f"GET {path} HTTP/1.1\r\n{HOST}\r\n\r\n" * 7 + get(path))
        received = bytearray()
        while part := client.recv(65536):
            received += part
            time.sleep(0.01)
        assert received.count(content) == 8


def test_who_asks_for_nothing_makes_room_for_who_asks(crowded):
    with watched(crowded), ExitStack() as stack:
        before = crowded.files()
        idle = [stack.enter_context(crowded.connect()) for _ in range(200)]
        assert crowded.is_well()
        eventually(lambda: crowded.files() <= before + 30)
        assert is_closed(idle[0])
        send(idle[-1], get("/api/start"))  # the newest are still welcome
        assert answer(idle[-1])[0] == 200


def test_more_requests_than_there_is_room_for_are_refused_in_words(crowded):
    with watched(crowded):
        with ExitStack() as stack:

            def is_full():  # one after another: those who come at once make room for each other
                send(stack.enter_context(crowded.connect()), upload(TABLE, 1000))
                status, body = crowded.ask(get("/api/start"))
                return status == 503 and "too many connections" in words(body)

            eventually(is_full)
        eventually(crowded.is_well)


# --- half gone -------------------------------------------------------------------------------


@pytest.mark.parametrize("leave", [socket.socket.close, reset], ids=["closes", "resets"])
def test_who_leaves_in_the_middle_leaves_nothing(crowded, leave):
    begun = [b"", b"GET / HT", upload(TABLE, 1000), upload(b"1,2\n" * 300_000, 1_500_000)]
    begun.append(post("/api/upload", "Transfer-Encoding: chunked", body=b"400\r\nabc"))
    begun.append(get(WORK).encode())
    begun.append(upload(TABLE))
    threads = crowded.status("Threads")
    with watched(crowded):
        for round_ in range(15):
            for request in begun:
                client = crowded.connect()
                send(client, request)
                leave(client)
            if round_ == 4:
                held = crowded.status("VmRSS")
    eventually(lambda: crowded.ask(get(WORK))[0] == 200)  # the queue is empty again
    assert crowded.status("Threads") <= threads + 2  # the gate's
    assert crowded.status("VmRSS") < held + 50_000  # kB; the rounds sent 15 MB each


def test_who_has_asked_and_will_ask_no_more_is_answered(crowded):
    with watched(crowded):
        for request in (
            get(WORK),
            upload(TABLE),
            get("/"),
            f"GET / HTTP/1.1\r\n{HOST}\r\n\r\n" * 3,
        ):
            with crowded.connect() as client:
                send(client, request)
                client.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: client.recv(65536), b""))
                asked = 3 if isinstance(request, str) and request.count("GET") == 3 else 1
                assert received.count(b"HTTP/1.1 200 OK") == asked


def test_who_stops_in_the_middle_of_a_body_is_not_waited_for(crowded):
    with watched(crowded), crowded.connect() as client:
        send(client, upload(TABLE, 1000))
        client.shutdown(socket.SHUT_WR)
        assert is_closed(client)


# --- greedy ----------------------------------------------------------------------------------


def in_chunks(content, size=50_000):
    parts = [content[i : i + size] for i in range(0, len(content), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        upload(b"", 10**18),
        upload(b"1,2\n" * 500_001),
        upload(b"1,2\n" * 3_000_000),
        post("/api/upload", "Expect: 100-continue", "Content-Length: 2000001"),
        post("/api/upload", "Transfer-Encoding: chunked", body=in_chunks(b"1,2\n" * 500_001)),
        post("/api/rows", "Transfer-Encoding: chunked", body=in_chunks(b"1" * 1_000_001, 1_000)),
    ],
    ids=["announced", "a little", "much", "expecting", "in chunks", "rows"],
)
def test_what_is_too_large_is_refused_and_the_client_sees_it(crowded, request_):
    before = crowded.uploads()
    with watched(crowded):
        status, body = crowded.ask(request_)
        assert status == 413
        assert "which is the explorer's limit" in words(body)
    assert crowded.uploads() == before


def test_what_arrives_at_a_time_is_bounded(crowded):
    with watched(crowded):
        with ExitStack() as stack:
            memory = crowded.status("VmRSS")

            def is_refused():
                half = stack.enter_context(crowded.connect())
                send(half, upload(b"1,2\n" * 450_000, 1_900_000))
                status, body = crowded.ask(upload(b"1,2\n" * 480_000))
                return status == 503 and "at most 5 MB at a time" in words(body)

            eventually(is_refused)
            for _ in range(10):  # those who do not say how much they bring
                client = stack.enter_context(crowded.connect())
                chunks = in_chunks(b"1,2\n" * 480_000)[:-5]
                send(client, post("/api/upload", "Transfer-Encoding: chunked", body=chunks))
            assert crowded.is_well()
            assert crowded.status("VmRSS") < memory + 50_000  # kB
        eventually(lambda: crowded.ask(upload(TABLE))[0] == 200)


def test_sessions_that_hold_uploads_outlive_requests_without_a_cookie(crowded):
    with crowded.connect() as client:
        send(client, upload(TABLE))
        head = client.recv(65536).decode()
    cookie = re.search(r"(mercer-explorer-\d+=[^;]+)", head).group(1)
    for _ in range(210):
        assert crowded.is_well()
    _, body = crowded.ask(get("/api/start", f"Cookie: {cookie}"))
    assert [name for _, name in json.loads(body)["uploads"]] == ["a.csv"]


@pytest.mark.parametrize(
    ("request_", "statuses"),
    [
        (get("/api/start", *(f"X{i}: y" for i in range(10_000))), {431}),
        (get("/api/start", "X: " + "x" * 60_000, "Y: " + "y" * 60_000), {400, 431}),
        (get("/api/start", "X: " + "x" * 5_000_000), {400, 431, None}),
        (get("/" + "x" * 5_000_000), {400, 431, None}),
        (get("/api/views?show=points&x=" + "x" * 55_000), {414}),
        (get("/api/views?show=points&x=" + "x" * 100_000), {400, 414, 431}),
        (get("/api/start?" + "a=b&" * 16_000), {200}),
    ],
    ids=["many", "large", "huge", "address", "query", "long query", "pairs"],
)
def test_heads_are_bounded(crowded, request_, statuses):
    with watched(crowded):
        assert crowded.ask(request_)[0] in statuses


def npy_that_lies():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 900), }"
    header = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64


def zip_that_lies():
    import io
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        npy = io.BytesIO()
        np.save(npy, np.zeros((10**6, 2)))
        archive.writestr("X.npy", npy.getvalue())
    size = struct.pack("<I", npy.tell())
    return file.getvalue().replace(size, struct.pack("<I", 1000))


def gzipped():
    import gzip

    return gzip.compress(b"1,2\n" * 10**6)


@pytest.mark.parametrize("make", [npy_that_lies, zip_that_lies, gzipped])
def test_files_that_lie_about_their_size_are_refused(crowded, make):
    with watched(crowded):
        status, body = crowded.ask(upload(make()))
        assert status in (413, 422), body
        assert words(body)
    assert crowded.status("VmPeak") < 20_000_000


# --- no clients at all -----------------------------------------------------------------------

CHUNKED = "Transfer-Encoding: chunked"
MALFORMED = {
    "nothing": b"\r\n\r\n\r\n\r\n",
    "one word": b"GET\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": bytes.fromhex("160301020001 0001fc0303") + bytes(range(256)) * 2,
    "zeros": bytes(1000),
    "NUL in the address": f"GET /\0 HTTP/1.1\r\n{HOST}\r\n\r\n",
    "NUL in a header": get("/", "X: a\0b"),
    "space before a colon": get("/", "X : a"),
    "header without a name": get("/", ": a"),
    "bare line ends": b"GET / HTTP/1.1\nHost: evil.example\n\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": get("/", "Host: evil.example"),
    "unknown method": f"BREW /api/start HTTP/1.1\r\n{HOST}\r\n\r\n",
    "TRACE": f"TRACE /api/start HTTP/1.1\r\n{HOST}\r\n\r\n",
    "CONNECT": f"CONNECT 127.0.0.1:22 HTTP/1.1\r\n{HOST}\r\n\r\n",
    "OPTIONS *": f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n\r\n",
    "an address elsewhere": get("http://evil.example/"),
    "no slash": get("api/start"),
    "NUL in a file's name": get("/static/%00"),
    "length below 0": post("/api/rows", "Content-Length: -1"),
    "length no number": post("/api/rows", "Content-Length: many"),
    "length of 5000 digits": post("/api/rows", "Content-Length: " + "9" * 5000),
    "two lengths": post("/api/rows", "Content-Length: 2", "Content-Length: 3", body=b"{}"),
    "length too short": post("/api/rows", "Content-Length: 2", body=b"{}garbage\r\n\r\n"),
    "length and chunks": get("/api/start", "Content-Length: 5", CHUNKED) + "0\r\n\r\n",
    "chunks, smuggled": post(
        "/api/rows", "Content-Length: 4", CHUNKED, body=b"1\r\nZ\r\n0\r\n\r\nGET / HTTP/1.1\r\n"
    ),
    "chunks twice": post("/api/rows", CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "chunks of another kind": post("/api/rows", "Transfer-Encoding: gzip, chunked"),
    "chunks, obscured": post("/api/rows", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "chunk size no number": post("/api/rows", CHUNKED, body=b"zz\r\n\r\n"),
    "chunk size below 0": post("/api/rows", CHUNKED, body=b"-1\r\n\r\n"),
    "chunk size huge": post("/api/rows", CHUNKED, body=b"f" * 100 + b"\r\n"),
    "chunk without its end": post("/api/rows", CHUNKED, body=b"2\r\n{}garbage\r\n"),
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_a_request_is_refused(crowded, request_):
    with watched(crowded):
        status, _ = crowded.ask(request_)
        assert status is None or 400 <= status < 500


def test_a_body_that_goes_wrong_after_its_answer_ends_the_connection(crowded):
    with watched(crowded), crowded.connect() as client:
        send(client, post("/api/nothing", CHUNKED))
        assert answer(client)[0] == 404
        send(client, b"zz\r\n")
        assert is_closed(client)


def test_a_body_that_goes_wrong_during_a_computation_is_refused_once(crowded):
    with watched(crowded), crowded.connect() as client:
        send(client, f"GET /api/views?data=rings&show=path HTTP/1.1\r\n{HOST}\r\n{CHUNKED}\r\n\r\n")
        time.sleep(0.1)  # it computes
        send(client, b"zz\r\n")
        received = b"".join(iter(lambda: client.recv(65536), b""))
        assert received.startswith(b"HTTP/1.1 400")
        assert received.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_other_protocols_are_not_spoken(crowded, protocol):
    upgrade = ("Connection: Upgrade", f"Upgrade: {protocol}", "Sec-WebSocket-Version: 13")
    with watched(crowded):
        for path in ("/", "/static/main.js", "/api/start"):
            request = "\r\n".join([f"GET {path} HTTP/1.1", HOST, *upgrade, "", ""])
            assert crowded.ask(request)[0] == 200  # and not 101


def test_requests_in_a_row_are_answered_in_a_row(crowded):
    paths = ["/api/start", "/api/nothing", "/api/views", "/api/start"]
    with watched(crowded), crowded.connect() as client:
        send(client, "".join(f"GET {path} HTTP/1.1\r\n{HOST}\r\n\r\n" for path in paths[:-1]))
        send(client, get(paths[-1]))
        received = b"".join(iter(lambda: client.recv(65536), b""))
        assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404", b"400", b"200"]


# --- the end ---------------------------------------------------------------------------------


def test_it_ends_while_clients_hang(tmp_path):
    begun = [b"", b"GET / HT", upload(TABLE, 1000), get(LONG_WORK).encode()]
    begun.append(f"GET /static/plotly-cartesian.min.js HTTP/1.1\r\n{HOST}\r\n\r\n".encode() * 20)
    begun.append(f"GET /api/start HTTP/1.1\r\n{HOST}\r\n\r\n".encode())
    ends = {"interrupted": (signal.SIGINT, 0), "terminated": (signal.SIGTERM, 143)}
    command = ("-u", "-m", "mercer.cli", "explore", "--no-browser")
    with ExitStack() as stack:
        explorers = []
        for name in ends:
            (tmp_path / name).mkdir()
            explorers.append(stack.enter_context(Explorer(tmp_path / name, *command)))
        for explorer, (how, code) in zip(explorers, ends.values(), strict=True):
            assert explorer.ready().ask(upload(TABLE))[0] == 200
            assert explorer.uploads()
            for request in begun * 3:
                client = stack.enter_context(explorer.connect())
                send(client, request)
            assert explorer.is_well()
            assert explorer.end(how) == code
            assert not list(explorer.temporary.iterdir())
            assert explorer.said() == ""
