"""Read request bodies with a limit for their size and one deadline."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

__all__ = ["read_body"]


async def read_body(request: Request, max_bytes: int, timeout: float) -> bytes:
    """Return the body of a request; reading stops at the size limit.

    Parameters
    ----------
    request : Request
    max_bytes : int
    timeout : float
        Seconds to receive the whole body.

    Raises
    ------
    HTTPException
        400 if the client disconnects, 408 after the timeout, 413 if the body is too large, 503 if
        the server shuts down.
    """
    declared = request.headers.get("content-length", "0")
    # A number with more digits than the limit is larger; int() rejects thousands of digits.
    if declared.isdecimal() and int(declared[: len(str(max_bytes)) + 1]) > max_bytes:
        raise _too_large(max_bytes)
    content = bytearray()
    try:
        async with asyncio.timeout(timeout):
            async for part in request.stream():
                if len(content) + len(part) > max_bytes:
                    raise _too_large(max_bytes)
                content += part
    except TimeoutError:
        raise HTTPException(
            408,
            f"The request body was not received within {timeout:g} s. Send it again.",
            headers={"connection": "close"},
        ) from None
    except asyncio.CancelledError:  # only the shutdown of the server cancels
        raise HTTPException(503, "The explorer is shutting down.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The client disconnected during the upload.") from None
    return bytes(content)


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(413, f"The request is larger than the limit of {max_bytes / 1e6:g} MB.")
