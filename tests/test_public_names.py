"""The public surface: what plugins import, what `__all__` says, what the pages list."""

import ast
import importlib
from pathlib import Path

import pytest

import harvest
from docs_reference.public import KERNEL, imported, used

ROOT = Path(__file__).resolve().parents[1]


def names_of(module: str) -> list[str]:
    return importlib.import_module(module).__all__


@pytest.mark.slow
def test_plugins_libraries_and_examples_import_public_names_alone() -> None:
    private = {
        f"{user}: from {module} import {name}"
        for user, module, name in imported()
        if module not in KERNEL or name not in names_of(module)
    }
    assert not private


@pytest.mark.slow
def test_somebody_outside_the_kernel_uses_each_public_name() -> None:
    users = used()
    unused = [(m, name) for m in KERNEL for name in names_of(m) if not users[m, name]]
    assert not unused, "hide what nobody needs: take it out of __all__"


def test_the_kernel_itself_offers_sixty_names_at_most() -> None:
    assert len(names_of("harvest")) <= 60


@pytest.mark.parametrize("module", KERNEL)
def test_the_page_on_compatibility_names_each_public_module(module: str) -> None:
    assert f"`{module}`" in (ROOT / "docs" / "compatibility.md").read_text()


def test_type_checkers_find_each_name_where_it_is_imported_from() -> None:
    stub = ast.parse((ROOT / "src/harvest/__init__.pyi").read_text())
    imported = {
        alias.name: f".{node.module}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == harvest._HOME_OF
