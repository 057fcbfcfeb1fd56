"""The prompts a process works with: one immutable snapshot, read at start."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from core.domain.errors import ConfigurationError, ConfigurationErrors
from core.domain.receipt import PromptRef
from core.prompts.parse import parse_prompt
from core.prompts.version import PromptVersion

LIBRARY_FOLDER = Path(__file__).parent / "library"
"""The product's own prompts."""

LOCK_FILE = "prompts.lock.json"
"""Beside the prompts: name → version → content hash, so that no text changes without a new version."""


@dataclass(frozen=True, slots=True)
class PromptLibrary:
    """The live version of every prompt, by name."""

    versions: Mapping[str, PromptVersion]

    def get(self, name: str) -> PromptVersion:
        """The live version of a prompt; raises KeyError for a name that is not in the library."""
        return self.versions[name]

    def refs(self, *names: str) -> tuple[PromptRef, ...]:
        """The versions that a run beginning now holds on to, in the order of `names`."""
        return tuple(self.get(name).ref for name in names)


def load_library(folder: Path = LIBRARY_FOLDER) -> PromptLibrary:
    """Every prompt under `folder`, one a subfolder.

    Reads files, so call it at start and not on the event loop. Raises ConfigurationErrors with every problem of every
    prompt, in order of name.
    """
    versions: dict[str, PromptVersion] = {}
    problems: list[ConfigurationError] = []
    for prompt_folder in _folders(folder):
        try:
            version = parse_prompt(prompt_folder.name, _files(prompt_folder))
            versions[version.name] = version
        except ConfigurationErrors as errors:
            problems.extend(errors.problems)
    if not versions and not problems:
        problems.append(ConfigurationError(str(folder), "holds no prompt"))
    if problems:
        raise ConfigurationErrors(problems)
    return PromptLibrary(MappingProxyType(versions))


def check_folder(folder: Path) -> PromptLibrary:
    """Every prompt under `folder`, whose lock agrees: no text changed under a version that it had before.

    Reads files. Raises ConfigurationErrors with all that is wrong.
    """
    library = load_library(folder)
    file = folder / LOCK_FILE
    problems = list(_lock_problems(file.read_text("utf-8") if file.is_file() else "{}", library))
    if problems:
        raise ConfigurationErrors(problems)
    return library


def _lock_problems(lock: str, library: PromptLibrary) -> Iterator[ConfigurationError]:
    try:
        locked = json.loads(lock)
    except ValueError as error:
        yield ConfigurationError(LOCK_FILE, f"is not JSON: {error}")
        return
    for name, prompt in library.versions.items():
        versions = locked.get(name) if isinstance(locked, dict) else None
        known = versions.get(prompt.version) if isinstance(versions, dict) else None
        if known is None:
            yield ConfigurationError(LOCK_FILE, f"does not know {name} {prompt.version}")
        elif known != prompt.sha256:
            yield ConfigurationError(
                f"{name}/prompt.yaml", f"the text changed under version {prompt.version}: raise the version"
            )


def _folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith((".", "__")))


def _files(folder: Path) -> dict[str, bytes]:
    """Contents by file name; what an editor or a file browser hides there is not ours."""
    return {
        p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file() and not p.name.startswith(".")
    }
