"""Models that do not think, through the real command line: none of them may pass a single case."""

import json
import re

import endpoint
import pytest

from crucibleforge.cli.main import status
from crucibleforge.suite.expand import scored, suite


def _first_tool(request):
    if not (tools := request.get("tools")):
        return endpoint.text("ANSWER: 1")
    first = tools[0]["function"]
    values = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    fields = first["parameters"].get("properties", {})
    given = {name: field.get("enum", [values.get(field.get("type"), "x")])[0] for name, field in fields.items()}
    return endpoint.calls([(first["name"], json.dumps(given))])


def _last_option(request):
    asked = next(message["content"] for message in request["messages"] if message["role"] == "user")
    words = re.findall(r"[A-Z][a-z]+|\d+", asked) or ["0"]
    return endpoint.text(f"ANSWER: {words[-1]}")


MODELS = {
    "empty": lambda _: endpoint.text(""),
    "refusing": lambda _: endpoint.text("I am sorry, but I cannot help with that."),
    "echoing": lambda request: endpoint.text(request["messages"][-1]["content"] or "?"),
    "first-tool": _first_tool,
    "last-option": _last_option,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_does_not_think_passes_nothing(name, tmp_path, capfd):
    with endpoint.serving(MODELS[name]) as server:
        model = "{name: fake, provider: p, model_id: fake, thinking: false}"
        (tmp_path / "models.yaml").write_text(f"providers:\n  p: {{base_url: {server.url}}}\nmodels:\n  - {model}\n")
        assert status(("all", "--models", "fake", "--json")) == 0
    (card,) = json.loads(capfd.readouterr().out)["cards"]
    assert sum(category["rate"]["passed"] for category in card["categories"]) == 0
    assert card["settled"] == len(scored(suite()))
