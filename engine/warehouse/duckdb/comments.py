"""What stands in a relation's comment: what its model says of itself, and at the end the token by which it is ours. Written and read here."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r"(?:\A|.*[ \n])\[interlock:([0-9a-f]{64})\]\Z", re.DOTALL)


def comment_of(description: str, token: str | None) -> str:
    """The comment of a relation; without a token, the description alone.

    >>> comment_of("all orders", None), comment_of("", "ab" * 32)[:13]
    ('all orders', '[interlock:ab')
    """
    mark = f"[interlock:{token}]" if token else ""
    return f"{description} {mark}" if description and mark else description or mark


def token_in(comment: str | None) -> str | None:
    """The token at the end of a relation's comment, if one stands there.

    >>> token_in(comment_of("all orders", "ab" * 32)) == "ab" * 32, token_in("all orders")
    (True, None)
    """
    if comment is None:
        return None
    found = _TOKEN.match(comment)
    return found.group(1) if found else None
