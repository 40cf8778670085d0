"""Generic mutations of bytes."""

import struct

NUMBERS = [
    *(b"0", b"-1", b"1e999", b"-1e308", b"1e-320", b"nan", b"inf", b"-0.0", b"1_0", b"0x1p3"),
    *(b"9" * 20, b"9" * 400, b"1e5", b"00012", b"1,5", b"+3", b"\xd9\xa3"),
]
LARGEST = 1 << 15  # bytes of an input


def near(data, random, tokens=(), others=()):
    """Apply one to four random changes, most often one or two.

    Parameters
    ----------
    data : bytes
    random : random.Random
    tokens : sequence of bytes
        Byte strings with a meaning in the format.
    others : sequence of bytes
        Inputs to splice parts from.
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = random.choice(CHANGES)(bytearray(data), random, tokens, others)
    return bytes(data[:LARGEST])


def _span(data, random, longest=64):
    """Return the start and end of a random part."""
    first = random.randrange(len(data) + 1)
    return first, min(len(data), first + random.choice((1, 1, 2, 4, 8, random.randint(1, longest))))


def _flip(data, random, tokens, others):
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data


def _set(data, random, tokens, others):
    if data:
        data[random.randrange(len(data))] = random.choice((0, 255, 127, 128, random.randrange(256)))
    return data


def _remove(data, random, tokens, others):
    first, last = _span(data, random)
    del data[first:last]
    return data


def _cut(data, random, tokens, others):
    return data[: random.randrange(len(data) + 1)]


def _repeat(data, random, tokens, others):
    first, last = _span(data, random)
    data[first:first] = data[first:last] * random.choice((1, 2, 3, 30))
    return data


def _move(data, random, tokens, others):
    first, last = _span(data, random)
    part = data[first:last]
    del data[first:last]
    place = random.randrange(len(data) + 1)
    data[place:place] = part
    return data


def _token(data, random, tokens, others):
    word = random.choice([*tokens, *NUMBERS])
    first, last = _span(data, random)
    data[first : random.choice((first, last))] = word
    return data


def _field(data, random, tokens, others):
    """Replace the text between two delimiters by a token."""
    delimiters = [i for i, byte in enumerate(data) if byte in b",;\t\n&=?/: \"'{}[]()"]
    if len(delimiters) < 2:
        return _token(data, random, tokens, others)
    place = random.randrange(len(delimiters) - 1)
    data[delimiters[place] + 1 : delimiters[place + 1]] = random.choice([*tokens, *NUMBERS])
    return data


def _integer(data, random, tokens, others):
    """Overwrite bytes with a binary integer."""
    kind = random.choice(("<I", "<Q", "<H", ">I"))
    bits = 8 * struct.calcsize(kind)
    number = random.choice((0, 1, 2**bits - 1, 2 ** (bits - 1), random.randrange(2**bits)))
    place = random.randrange(len(data) + 1)
    data[place : place + bits // 8] = struct.pack(kind, number)
    return data


def _splice(data, random, tokens, others):
    if not others:
        return data
    other = random.choice(others)
    first, last = _span(other, random, 400)
    place = random.randrange(len(data) + 1)
    data[place : random.choice((place, place + last - first))] = other[first:last]
    return data


CHANGES = (
    *(_flip, _set, _remove, _cut, _repeat, _move),
    *(_token, _field, _field, _integer, _splice),
)
