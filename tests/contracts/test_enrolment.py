"""Every adapter that has a poster is held to every contract."""

import importlib

import pytest

from tests.contracts.access import AccessContract
from tests.contracts.intake import IntakeContract
from tests.contracts.poster import PosterContract
from tests.tree import ROOT

ADAPTERS = sorted(path.parent.name for path in (ROOT / "bot").glob("*/poster.py"))


def test_the_adapters_are_found() -> None:
    assert {"console", "slack"} <= set(ADAPTERS)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_is_enrolled_in_every_contract(adapter: str) -> None:
    module = importlib.import_module(f"tests.contracts.test_{adapter}")
    suites = [
        value for name, value in vars(module).items() if name.startswith("Test") and isinstance(value, type)
    ]
    missing = [
        contract.__name__
        for contract in (PosterContract, AccessContract, IntakeContract)
        if not any(issubclass(suite, contract) for suite in suites)
    ]
    assert missing == []
