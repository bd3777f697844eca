"""What a run makes of local models: their limits, processes and settings, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix.admission.tariffs import Tariff
from matrix.engine.prepare.catalogue import (
    UnknownModel,
    processes_of,
    require_local_models,
    resolve_model,
    with_default_limits,
)
from matrix.engine.wire.providers import LITELLM, LOCAL
from matrix.engine.wire.setup import GroupLimits, ModelEntry
from matrix.model.errors import BadInput
from matrix.model.spec.run_spec import ModelSpec
from matrix.providers.local.settings import SLOTS
from tests.providers_local.calls import SMOLLM2

FREE = Tariff.from_usd_per_mtok(0, 0)
SMALL = ModelEntry(LOCAL, SMOLLM2, FREE, LOCAL)


def test_local_models_get_one_process_however_many_the_spec_asks_for() -> None:
    assert processes_of(LOCAL, 8) == 1
    assert processes_of(LITELLM, 8) == 8


def test_a_group_of_local_models_has_a_concurrency_even_where_the_spec_gives_none() -> None:
    other = ModelEntry(LITELLM, "openai/x", FREE, "openai")
    models = {"small": SMALL, "quick": SMALL._replace(group="mine"), "other": other}
    given = {"mine": GroupLimits(rpm=30.0), "openai": GroupLimits(rpm=500.0)}
    assert with_default_limits(given, models) == {
        LOCAL: GroupLimits(concurrency=SLOTS),
        "mine": GroupLimits(rpm=30.0, concurrency=SLOTS),
        "openai": GroupLimits(rpm=500.0),
    }


def test_a_concurrency_of_the_spec_stands() -> None:
    given = {LOCAL: GroupLimits(concurrency=5)}
    assert with_default_limits(given, {"small": SMALL}) == given


def test_a_local_model_has_no_address_and_no_key() -> None:
    spec = ModelSpec(target=SMOLLM2, api_base="http://127.0.0.1:1/v1")
    with pytest.raises(UnknownModel, match="neither api_base nor api_key_env; leave them out"):
        resolve_model("mine", {"mine": spec})


def test_a_file_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    spec = ModelSpec(target=f"local/{tmp_path}/none.gguf")
    with pytest.raises(UnknownModel, match=r"cannot read .*none\.gguf: No such file"):
        resolve_model("mine", {"mine": spec})


def test_a_name_without_its_prefix_gets_the_name_with_it() -> None:
    with pytest.raises(UnknownModel, match=f"did you mean '{SMOLLM2}'"):
        resolve_model("smollm2-135m", {})


def test_a_resumed_run_is_refused_with_one_line_for_each_model_that_is_gone(tmp_path: Path) -> None:
    gone = {name: SMALL._replace(target=f"local/{tmp_path}/{name}.gguf") for name in ("a", "b")}
    with pytest.raises(BadInput) as caught:
        require_local_models(gone, "plan.json")
    assert [(m.source, m.path) for m in caught.value.mistakes] == [
        ("plan.json", "model a"),
        ("plan.json", "model b"),
    ]


def test_nothing_is_required_of_a_run_without_local_models() -> None:
    require_local_models({"x": ModelEntry(LITELLM, "local/none.gguf", FREE, "x")}, "plan.json")
