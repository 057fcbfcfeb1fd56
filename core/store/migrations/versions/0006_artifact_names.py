"""Names of artifacts are unique in any case and width; of names that differ in no more, later ones get a number"""

import hashlib
import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

NAME_CHARS = 120


def upgrade() -> None:
    op.add_column("artifact", sa.Column("name_key", sa.String(length=64), nullable=False, server_default=""))
    artifact = sa.table(
        "artifact", *(sa.column(name) for name in ("id", "thread_id", "name", "name_key", "created_at"))
    )
    rows = op.get_bind().execute(
        sa.select(artifact.c.id, artifact.c.thread_id, artifact.c.name).order_by(
            artifact.c.created_at, artifact.c.id
        )
    )
    names: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        names.setdefault(row.thread_id, []).append((row.id, row.name))
    for held in names.values():
        # Names as they stand come first, so that no new one takes the key of another that exists.
        taken = {_key(name) for _, name in held}
        seen: set[str] = set()
        for artifact_id, name in held:
            free = name if _key(name) not in seen else _numbered(name, taken)
            seen.add(_key(free))
            taken.add(_key(free))
            op.execute(
                artifact.update()
                .where(artifact.c.id == artifact_id)
                .values(name=free, name_key=hashlib.sha256(_key(free).encode()).hexdigest())
            )
    op.create_index("uq_artifact_thread_id_name_key", "artifact", ["thread_id", "name_key"], unique=True)


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    while True:
        ending = f" ({number})"
        new = name[: NAME_CHARS - len(ending)] + ending
        if _key(new) not in taken:
            return new
        number += 1


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
