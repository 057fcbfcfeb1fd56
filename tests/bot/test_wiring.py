"""What commands of the operator do, on real files and databases."""

import asyncio
import shutil
from pathlib import Path

from bot import wiring
from bot.settings import Settings, load_settings
from core.prompts.folder import lock_text
from core.prompts.registry import LIBRARY_FOLDER, LOCK_FILE, load_library
from tests.modes.test_workflow_file import FILE


def _folder(at: Path, targets: str) -> Path:
    """The product's own prompts, one of them written for other models."""
    folder = at / "prompts"
    shutil.copytree(LIBRARY_FOLDER, folder)
    file = folder / "chat.answer" / "prompt.yaml"
    file.write_text(file.read_text().replace("target_models: [any]", f"target_models: {targets}"))
    (folder / LOCK_FILE).write_text(lock_text(load_library(folder).versions.values()))
    return folder


async def test_a_check_of_a_folder_finds_the_prompts_whose_models_float(tmp_path: Path) -> None:
    (tmp_path / "promptflow.toml").write_text(
        '[models.fixed]\nid = "openai/gpt-5.4-2026-03-05"\n[models.loose]\nid = "openai/gpt-5.4"\n'
    )
    settings = await asyncio.to_thread(load_settings, {"PROMPTFLOW_DATA_DIR": "data"}, tmp_path)
    folder = await asyncio.to_thread(_folder, tmp_path, "[fixed, loose, demo-sage, openai/gpt-latest]")
    checked = await wiring.check_prompts(settings, folder, "")
    assert checked.floating == {"chat.answer": ("loose", "openai/gpt-latest")}
    assert (await wiring.check_prompts(settings, None, "")).floating == {}


async def test_workflows_of_one_s_own_stand_beside_the_product_s(tmp_path: Path) -> None:
    folder = tmp_path / "flows"

    def settings() -> Settings:
        env = {"PROMPTFLOW_DATA_DIR": "data", "PROMPTFLOW_WORKFLOWS": "flows"}
        folder.mkdir()
        (folder / "flow.yaml").write_text(FILE, encoding="utf-8")
        return load_settings(env, tmp_path)

    async with wiring.open_evaluating(await asyncio.to_thread(settings)) as services:
        assert list(services.workflows)[-1] == "flow"
        assert "decision_memo" in services.workflows
