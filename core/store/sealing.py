"""Secrets at rest: sealed with AES-256-GCM under a key from the settings.

Several keys may be given, the newest first: it seals, the others still open what they sealed before. That is how the
key is changed without losing what is stored.
"""

import base64
import hashlib
import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.domain.errors import ConfigurationError

KEY_NAME: Final = "PROMPTFLOW_SECRET_KEY"
NONCE_BYTES: Final = 12
NAME_CHARS: Final = 8


class Sealer:
    """Seals and opens short texts. `place` is bound into what is sealed, so that it opens nowhere else."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise ValueError("a sealer needs a key")
        self._keys = {_name(key): AESGCM(_derived(key)) for key in keys}
        self._newest = _name(keys[0])

    def seal(self, text: str, *, place: str) -> str:
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._keys[self._newest].encrypt(nonce, text.encode(), place.encode())
        return f"{self._newest}.{base64.b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, place: str) -> str:
        """Raises ConfigurationError for what was sealed under a key that is not given, or for another place."""
        name, _, body = sealed.partition(".")
        key = self._keys.get(name)
        if key is None:
            raise ConfigurationError(KEY_NAME, "does not hold the key that stored tokens were sealed with")
        try:
            raw = base64.b64decode(body, validate=True)
            return key.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise ConfigurationError(KEY_NAME, "does not open a stored token, which is damaged") from error

    def is_current(self, sealed: str) -> bool:
        """Whether the newest key sealed it."""
        return sealed.startswith(f"{self._newest}.")


def _derived(key: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"promptflow sealing").derive(key.encode())


def _name(key: str) -> str:
    """Names a key without telling it: from another derivation than the key that seals."""
    return hashlib.sha256(b"promptflow key name\0" + _derived(key)).hexdigest()[:NAME_CHARS]
