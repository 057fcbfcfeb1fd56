"""The genuine gateway with its worker process, towards the paced provider."""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry

from benchmarks.provider import MODEL
from core.domain.ids import WorkspaceId
from core.domain.receipt import AiInput, InputPart, Origin, Role
from core.llm.admission import AdmissionSettings
from core.llm.catalogue import Catalogue, load_catalogue
from core.llm.gateway import Gateway, GatewaySettings
from core.llm.link import WorkerLink
from core.llm.metrics import ModelMetrics
from core.ports import ModelCall

READY_S = 120.0


def catalogue(base_url: str, *, at_once: int) -> Catalogue:
    models = {MODEL: {"id": f"openai/{MODEL}", "api_base": base_url, "concurrency": at_once}}
    return load_catalogue(
        models, {"chat": MODEL}, file="benchmarks", line_of=lambda path: 0, env={}, local=False
    )


@asynccontextmanager
async def running_gateway(models: Catalogue, *, at_once: int) -> AsyncGenerator[Gateway]:
    """A gateway that is ready and lets `at_once` calls through at one time: its limits are not what is measured."""
    link = WorkerLink(env=os.environ)
    limits = AdmissionSettings(total=at_once, account=at_once, waiting=at_once)
    gateway = Gateway(
        catalogue=models,
        env={},
        metrics=ModelMetrics(CollectorRegistry()),
        link=link,
        settings=GatewaySettings(admission=limits),
    )
    await gateway.start()
    try:
        if not await link.wait_ready(READY_S):
            raise AssertionError("the model worker did not start")
        yield gateway
    finally:
        await gateway.close()


def small_call(new_id: Callable[[], str]) -> ModelCall:
    """A call with one short message."""
    asked = InputPart(role=Role.USER, origin=Origin.REQUEST, text="When is the launch?")
    return ModelCall(
        request_id=new_id(),
        workspace_id=WorkspaceId("benchmark"),
        model=MODEL,
        ai_input=AiInput(parts=(asked,), prompts=(), estimate_tokens=10),
        images={},
    )
