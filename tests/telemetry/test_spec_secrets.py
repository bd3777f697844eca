"""A key in the run spec is refused, and the refusal does not repeat it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from matrix.model.documents.yaml_documents import check, parse_document
from matrix.model.errors import BadInput
from matrix.model.spec.run_spec import ModelSpec

KEY = "sk-quince-84"


@pytest.mark.parametrize(
    "line",
    [
        f"api_key_env: {KEY}",
        f"api_base: https://me:{KEY}@host/v1",
        f"api_base: https://{KEY}@host/v1",
        f"api_base: https://host/v1?alt=sse&api_key={KEY}",
        f"api_key: {KEY}",
    ],
)
def test_a_key_in_the_spec_is_a_mistake_that_is_not_repeated(line: str) -> None:
    with pytest.raises(BadInput) as caught:
        check(parse_document(f"target: openai/x\n{line}\n", "m.yaml"), ModelSpec)
    (mistake,) = caught.value.mistakes
    assert (mistake.source, mistake.line) == ("m.yaml", 2)
    assert KEY not in str(mistake)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:4000/v1", "https://host/v1?api-version=2024-10", "not an address"]
)
def test_other_addresses_are_left_alone(address: str) -> None:
    assert ModelSpec(target="openai/x", api_base=address).api_base == address


def test_a_name_of_a_variable_is_a_name() -> None:
    assert ModelSpec(target="x", api_key_env="MY_KEY").api_key_env == "MY_KEY"
    with pytest.raises(ValidationError):
        ModelSpec(target="x", api_key_env="1KEY")
