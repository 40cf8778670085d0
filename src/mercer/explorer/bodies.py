"""Bodies of requests: how large, how slow, and how many at a time, for memory holds them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from mercer.explorer.sessions import Limits

__all__ = ["Bodies"]

_MOST_DIGITS = 18  # of a length: Python reads a few thousand and no more, and these are too many


class Bodies:
    """Reads bodies within the limits.

    What memory holds at most is ``limits.arriving`` bytes and one more body, which is copied when
    it is whole.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request, largest: int) -> AsyncIterator[bytes]:
        """Hold a body, unless it is too long; it is never read further than that.

        Raises
        ------
        HTTPException
            408 if it comes too slowly, 413 if it is too long, 503 if too much is held already, and
            400 if it breaks off.
        """
        said = request.headers.get("content-length", "0")
        self._refuse_more(int(said[:_MOST_DIGITS]) if said.isdecimal() else 0, 0, largest)
        content = bytearray()  # and no list of parts: a part of one byte takes 40 there
        try:
            async for part in self._parts(request):
                self._refuse_more(len(part), len(content), largest)
                self._held += len(part)
                content += part
            yield bytes(content)
        finally:
            self._held -= len(content)

    def _refuse_more(self, size: int, before: int, largest: int) -> None:
        if before + size > largest:
            raise HTTPException(
                413,
                f"The file is larger than {largest / 1e6:,.0f} MB, which is the explorer's limit.",
            )
        if self._held + size > self.limits.arriving:
            raise HTTPException(
                503,
                f"Uploads of {self._held / 1e6:,.0f} MB are arriving, and the explorer holds at "
                f"most {self.limits.arriving / 1e6:,.0f} MB at a time. Try again in a moment.",
            )

    async def _parts(self, request: Request) -> AsyncIterator[bytes]:
        patience, slowest = self.limits.patience, self.limits.slowest
        clock = asyncio.get_running_loop().time
        stream, start, size = request.stream(), clock(), 0
        try:
            while True:
                late = clock() - start - size / slowest
                async with asyncio.timeout(min(patience, patience - late)):
                    part = await anext(stream, None)
                if part is None:
                    return
                size += len(part)
                yield part
        except TimeoutError:
            raise HTTPException(
                408,
                f"The upload stood still for {patience:g} s, or came with fewer than "
                f"{slowest:,.0f} bytes per second. Nothing was kept; send it again.",
                headers={"connection": "close"},
            ) from None
        except ClientDisconnect:
            raise HTTPException(400, "The upload broke off.") from None
