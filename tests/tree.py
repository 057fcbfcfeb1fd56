"""The project's own files, for tests that look at the sources."""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or would be committed, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],  # noqa: S607 the git of the path
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return tuple(sorted(Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()))


def python_files(*rooms: str) -> tuple[Path, ...]:
    return tuple(file for file in project_files() if file.suffix == ".py" and file.parts[0] in rooms)


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def text_files() -> tuple[tuple[Path, str], ...]:
    """Every file that is text, with its text."""
    found = []
    for file in project_files():
        data = (ROOT / file).read_bytes()
        if b"\0" not in data:
            found.append((file, data.decode("utf-8")))
    return tuple(found)
