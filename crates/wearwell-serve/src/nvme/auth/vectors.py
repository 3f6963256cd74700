"""Prints the vectors of tests.rs: DH-HMAC-CHAP computed a second time, with Python's hmac and pow."""

import base64
import hashlib
import hmac
import zlib
from decimal import Decimal, getcontext

HOST, DISK = "nqn.2026-11.example:host", "nqn.2026-11.example:disk"
HASHES = {1: "sha256", 2: "sha384", 3: "sha512"}
TRANSACTION, SEQUENCE, HOST_SEQUENCE = 0x1234, 0x07070707, 9

# ffdhe2048 by its definition in RFC 7919, appendix A.1: 2^2048 - 2^1984 + (floor(2^1918 e) + 560316) 2^64 - 1.
getcontext().prec = 700
PRIME = 2**2048 - 2**1984 + (int(Decimal(2) ** 1918 * Decimal(1).exp()) + 560316) * 2**64 - 1


def secret(kind, fill):
    key = bytes([fill]) * {0: 32, 1: 32, 2: 48, 3: 64}[kind]
    text = base64.b64encode(key + zlib.crc32(key).to_bytes(4, "little")).decode()
    return key, f"DHHC-1:0{kind}:{text}:"


def key_of(kind, key, nqn):
    return hmac.digest(key, nqn.encode() + b"NVMe-over-Fabrics", HASHES[kind]) if kind else key


def answer(key, name, challenge, sequence, role, own, other, shared):
    if shared:
        challenge = hmac.digest(hashlib.new(name, shared).digest(), challenge, name)
    said = challenge + sequence.to_bytes(4, "little") + TRANSACTION.to_bytes(2, "little") + b"\0" + role
    return hmac.digest(key, said + own.encode() + b"\0" + other.encode(), name)


for (kind, number, with_group) in [(0, 1, False), (1, 2, False), (3, 3, True), (2, 1, True)]:
    name = HASHES[number]
    size = hashlib.new(name).digest_size
    (key, text), (controller, controller_text) = secret(kind, 0x11), secret(kind, 0x22)
    exponents = [int.from_bytes(bytes([fill]) * 32, "big") for fill in (7, 5)]
    shared = pow(2, exponents[0] * exponents[1], PRIME).to_bytes(256, "big") if with_group else None
    ours = answer(key_of(kind, key, HOST), name, bytes([7]) * size, SEQUENCE, b"HostHost", HOST, DISK, shared)
    theirs = answer(
        key_of(kind, controller, DISK), name, bytes([3]) * size, HOST_SEQUENCE, b"Controller", DISK, HOST, shared
    )
    print(number, with_group, text, controller_text, ours.hex(), theirs.hex(), sep="\n    ")
