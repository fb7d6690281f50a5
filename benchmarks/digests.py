"""MD5 of many texts with many salts, for simulations: a kernel over columns, checked against hashlib.

All but the last block of a text is digested once; each salt then costs one block.
"""

import hashlib
import math

import numba
import numpy as np

_SHIFTS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)


def _source() -> str:
    """The kernel, all 64 steps written out, so that the compiler can do several texts at once."""
    lines = ["def kernel(state, words, fixed, out_a, out_b, out_c, out_d):"]
    lines += [f"    f{j} = np.uint32(fixed[{j}])" for j in range(16)]
    lines += ["    for i in range(state.shape[1]):"]
    lines += [f"        m{j} = np.uint32(words[{j}, i] | f{j})" for j in range(16)]
    lines += [f"        {name} = np.uint32(state[{j}, i])" for j, name in enumerate("abcd")]
    for step in range(64):
        turn, a, b, c, d = step // 16, *"abcd"
        mixed = (
            f"{d} ^ ({b} & ({c} ^ {d}))",
            f"{c} ^ ({d} & ({b} ^ {c}))",
            f"{b} ^ {c} ^ {d}",
            f"{c} ^ ({b} | (~{d} & np.uint32(0xFFFFFFFF)))",
        )[turn]
        at = (step, 5 * step + 1, 3 * step + 5, 7 * step)[turn] % 16
        constant = int(abs(math.sin(step + 1)) * 2**32)
        shift = _SHIFTS[turn][step % 4]
        lines += [
            f"        x = np.uint32({a} + np.uint32({mixed}) + np.uint32({constant}) + m{at})",
            f"        x = np.uint32(np.uint32(x << np.uint32({shift})) | (x >> np.uint32({32 - shift})))",
            f"        {a}, {d}, {c}, {b} = {d}, {c}, {b}, np.uint32({b} + x)",
        ]
    lines += [f"        out_{name}[i] = np.uint32({name} + state[{j}, i])" for j, name in enumerate("abcd")]
    return "\n".join(lines)


_space: dict = {"np": np}
exec(_source(), _space)
_kernel = numba.njit(cache=False, nogil=True)(_space["kernel"])


def _digest(state: np.ndarray, words: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    out = np.empty((4, state.shape[1]), np.uint32)
    _kernel(state, words, fixed, *out)
    return out


class Texts:
    """Texts of one length, to be digested with salts."""

    def __init__(self, texts: list[bytes]) -> None:
        self._length = len(texts[0])
        whole, n = self._length // 64, len(texts)
        raw = np.frombuffer(b"".join(texts), np.uint8).reshape(n, self._length)
        self._state = np.repeat(np.array(_START, np.uint32)[:, None], n, axis=1)
        for block in range(whole):
            words = np.ascontiguousarray(raw[:, 64 * block : 64 * (block + 1)]).view("<u4").T
            self._state = _digest(self._state, np.ascontiguousarray(words), np.zeros(16, np.uint32))
        tail = np.zeros((n, 64), np.uint8)
        tail[:, : self._length - 64 * whole] = raw[:, 64 * whole :]
        self._words = np.ascontiguousarray(tail.view("<u4").T)
        self._texts = texts

    def first_digits(self, salt: bytes) -> np.ndarray:
        """The first 48 bits of the MD5 of each text followed by the salt."""
        length = self._length + len(salt)
        start = self._length % 64
        if start + len(salt) + 9 > 64:
            found = (hashlib.md5(text + salt).digest()[:6] for text in self._texts)
            return np.fromiter((int.from_bytes(f) for f in found), np.uint64, len(self._texts))
        block = bytearray(64)
        block[start : start + len(salt)] = salt
        block[start + len(salt)] = 0x80
        block[56:64] = (8 * length).to_bytes(8, "little")
        out = _digest(self._state, self._words, np.frombuffer(bytes(block), "<u4").astype(np.uint32))
        a, b = out[0].byteswap().astype(np.uint64), out[1].byteswap().astype(np.uint64)
        return (a << np.uint64(16)) | (b >> np.uint64(16))
