"""What is wrong with keys, names, prices and caps is said before anything is started or sent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix import api
from matrix.model.errors import BadInput
from tests.executors.programs import counter_spec
from tests.providers_litellm.service import Service


def mistakes_of(folder: Path, **changes: Any) -> list[str]:
    """What is said about a spec; nothing must have been started."""
    path = folder / "matrix.yaml"
    path.write_text(yaml.safe_dump(counter_spec(**changes)))
    with pytest.raises(BadInput) as caught:
        api.run(path, results=folder / "results", executor="in-process")
    assert caught.value.exit_code == 2
    assert not list((folder / "results").glob("*")), "nothing is left behind"
    return [str(mistake) for mistake in caught.value.mistakes]


def test_a_missing_key_is_named_with_its_model(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    models = {
        name: {
            "target": f"openai/{name}",
            "api_base": service.base("openai/x"),
            "price": {"input": 3, "output": 15},
            "api_key_env": f"KEY_{name.upper()}",
        }
        for name in ("one", "two")
    }
    factors = {"counter": ["one", "two", "openai/gpt-4o"]}
    said = mistakes_of(tmp_path, models=models, factors=factors)
    assert len(said) == 3
    for model, variable in (
        ("one", "KEY_ONE"),
        ("two", "KEY_TWO"),
        ("openai/gpt-4o", "OPENAI_API_KEY"),
    ):
        assert any(re.search(f"model {model}: .*no key.*{variable}", line) for line in said), said
    assert not service.seen


def test_a_model_that_nobody_knows_is_named_with_a_near_one(tmp_path: Path) -> None:
    (said,) = mistakes_of(tmp_path, roles={"counter": "opus-4.6x"})
    assert "unknown model 'opus-4.6x'" in said
    assert "did you mean" in said


@pytest.mark.parametrize("target", ["openai/sim-gpt", "hosted_vllm/mine", "no-such-provider/x"])
def test_a_model_without_a_price_is_never_taken_as_free(
    target: str, tmp_path: Path, service: Service
) -> None:
    """Requests for unpriced models went past litellm's budget, because nothing was reserved."""
    models = {"mine": {"target": target, "api_base": service.base(target)}}
    (said,) = mistakes_of(tmp_path, models=models, roles={"counter": "mine"})
    assert "no price" in said
    assert "models." in said, "where to give it"
    assert not service.seen


def test_a_cap_below_one_round_is_refused_with_both_figures(tmp_path: Path) -> None:
    (said,) = mistakes_of(tmp_path, limits={"cost_usd": 0.0001})
    assert "a cap of $0.0001" in said
    assert re.search(r"one round of 2 sessions, which may cost \$0\.000\d+", said)
