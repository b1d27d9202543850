"""Sessions in memory, and the reading host functions: section 4 of abi/README.md."""

import math
import re
import time
from dataclasses import dataclass, field


def now() -> int:
    return time.time_ns() // 1_000_000


def present(**members) -> dict:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


@dataclass
class Row:
    """`context` is derive's answer. It changes only with the session and the settings."""

    session: dict
    context: dict
    messages: list[dict] = field(default_factory=list)


class Store:
    def __init__(self):
        self.rows: dict[str, Row] = {}

    def append(self, key: str, role: str, text: str, **more):
        row = self.rows.get(key)
        if row is None:
            return  # it has been deleted
        content = [{"type": "text", "text": text}]
        row.messages.append({"role": role, "content": content, "timestamp": now(), **more})
        row.session["updatedAt"] = now()

    def get(self, *, session_key):
        row = self.rows.get(session_key)
        return {"session": row and row.session}

    def resolve(self, *, session_id, scope=None, **_):
        found = (s for row in self._visible(scope) if (s := row.session)["sessionId"] == session_id)
        return {"session": next(found, None)}

    def list(
        self,
        *,
        limit,
        scope=None,
        after=None,
        kinds=None,
        agent_id=None,
        label=None,
        search="",
        active_since=0,
        include_archived=False,
        messages=0,
        **_,
    ):
        def wanted(row):
            session = row.session
            return (
                (include_archived or not session.get("archivedAt"))
                and session["updatedAt"] >= active_since
                and (not kinds or row.context["kind"] in kinds)
                and (not agent_id or session["agentId"] == agent_id)
                and (not label or session.get("label") == label)
                and any(_fold(search) in _fold(session.get(name, "")) for name in _NAMES)
                and (not after or _order(session) > _order(after))
            )

        rows = [row for row in self._visible(scope) if wanted(row)]
        return {
            "rows": [
                present(session=row.session, messages=_newest_read(row, messages))
                for row in rows[:limit]
            ],
            "more": len(rows) > limit,
        }

    def history(self, *, session_key, limit, before=math.inf, skip=0, exclude_roles=(), **_):
        row = self.rows.get(session_key)
        found = [m for m in _newest(row, exclude_roles) if m["seq"] < before][skip:] if row else []
        return {"messages": found[:limit], "more": len(found) > limit}

    def _visible(self, scope):
        """Return the rows within a scope, without hidden sessions, in list order."""
        shown = (row for row in self.rows.values() if not row.context["hidden"])
        rows = [row for row in shown if _sees(scope, row.session)]
        return sorted(rows, key=lambda row: _order(row.session))


_NAMES = ("key", "label", "displayName", "subject")


def _order(session):
    return -session["updatedAt"], session["key"]


def _sees(scope, session):
    if scope is None:
        return True
    parent = scope.get("spawnedBy")
    return (
        session["key"] in scope.get("keys", ())
        or (parent and session.get("spawnedBy") == parent)
        or any(_like(pattern, session["agentId"]) for pattern in scope.get("agents", ()))
    )


def _like(pattern, agent_id):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), agent_id)


def _fold(text):
    """Fold case character by character, as the ABI requires: ß does not match ss."""
    return "".join(next(f for f in (c.casefold(), c.lower(), c) if len(f) == 1) for c in text)


def _newest(row, exclude_roles):
    numbered = [{"seq": i, "message": m} for i, m in enumerate(row.messages, 1)]
    return [m for m in reversed(numbered) if m["message"].get("role") not in exclude_roles]


def _newest_read(row, n):
    """Return the newest messages of a row in a list, oldest first, or None if n is 0."""
    return _newest(row, ("toolResult", "tool"))[:n][::-1] if n else None
