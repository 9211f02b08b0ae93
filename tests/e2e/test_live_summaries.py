"""Who sums up live conversations, as the settings say: this machine, or a language model."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from backstory.actions.conversations.summarizing import summarize_now
from backstory.adapters.language_model import Api
from backstory.errors import SettingsError
from backstory.model.summary import Summary
from backstory.settings import read_settings
from backstory.wiring import open_engine
from tests.contract.model_servers import ModelServer, answer, serving
from tests.e2e.live_talk import SHOP, begin, say

DECIDED = "Prices are kept as Decimal."


def variables_for(api: Api, server: ModelServer) -> dict[str, str]:
    """What somebody sets to have a model at a server sum up."""
    chosen = {
        Api.ANTHROPIC: {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "a-key",
            "ANTHROPIC_MODEL": "m",
        },
        Api.OPENAI: {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "a-key",
            "OPENAI_CHAT_MODEL": "m",
        },
        Api.OLLAMA: {"OLLAMA_URL": server.url, "OLLAMA_CHAT_MODEL": "m"},
    }
    return {"BACKSTORY_SUMMARIZER": api.value, **chosen[api]}


def summed_up(home: Path, variables: Mapping[str, str]) -> Summary:
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), **variables})) as engine:
        id = begin(engine, "prices")
        say(engine, id, "How are prices kept?", "We decided to keep prices as Decimal in shop/cart.py.")
        (summary,) = summarize_now(engine, SHOP, id)
        kept = engine.live.storage.get(id, summaries=1)
    assert kept is not None
    assert list(kept.summaries) == [summary]
    return summary


@pytest.mark.parametrize("api", Api)
def test_a_language_model_that_was_chosen_writes_the_summary(home: Path, api: Api) -> None:
    with serving() as server:
        server.says(answer(api, DECIDED))
        summary = summed_up(home, variables_for(api, server))

    assert (summary.text, summary.note) == (DECIDED, "")
    assert summary.made_by.endswith(f"{api}-m")
    assert "shop/cart.py" in str(server.asked[0].body)


@pytest.mark.parametrize("api", Api)
def test_when_the_language_model_fails_the_summary_is_made_here_and_says_so(home: Path, api: Api) -> None:
    with serving() as server:
        server.status = 503
        summary = summed_up(home, variables_for(api, server))

    assert "keep prices as Decimal" in summary.text
    assert summary.made_by.startswith("extractive")
    assert "503" in summary.note


@pytest.mark.parametrize(
    ("variables", "needed"),
    [
        ({"BACKSTORY_SUMMARIZER": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"BACKSTORY_SUMMARIZER": "openai", "OPENAI_CHAT_MODEL": "m"}, "OPENAI_BASE_URL"),
        ({"BACKSTORY_SUMMARIZER": "openai", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "OPENAI_CHAT_MODEL"),
    ],
)
def test_a_language_model_that_cannot_be_reached_by_the_settings_is_refused_at_the_start(
    home: Path, variables: dict[str, str], needed: str
) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), **variables})

    with pytest.raises(SettingsError, match=needed) as refused, open_engine(settings):
        pass

    assert "extractive" in (refused.value.hint or "")
