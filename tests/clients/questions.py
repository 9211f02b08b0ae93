"""Fixtures of the conformance suite that ask the client something before they answer.

In 2025-11-25 the server sends a request of its own in the middle of a call; in 2026-07-28 it answers
with what it needs to know, and the client calls again with the responses.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp.server.mcpserver import AcceptedElicitation, Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel, Field

Asked = Context[Any, Any]
Asking = str | InputRequiredResult


class Contact(BaseModel):
    """Who the user is."""

    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    """A default for every primitive type."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


_OPTIONS: Final[list[Any]] = ["option1", "option2", "option3"]
_TITLED: Final[list[Any]] = [
    {"const": f"value{number}", "title": title}
    for number, title in enumerate(("First", "Second", "Third"), 1)
]


class Choices(BaseModel):
    """Every way to offer a choice. The names and the ways are the suite's."""

    untitled_single: str = Field(alias="untitledSingle", json_schema_extra={"enum": _OPTIONS})
    titled_single: str = Field(alias="titledSingle", json_schema_extra={"oneOf": _TITLED})
    legacy: str = Field(
        alias="legacyEnum",
        json_schema_extra={"enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    )
    untitled_multi: list[str] = Field(
        alias="untitledMulti", json_schema_extra={"items": {"type": "string", "enum": _OPTIONS}}
    )
    titled_multi: list[str] = Field(alias="titledMulti", json_schema_extra={"items": {"anyOf": _TITLED}})


async def sampling(prompt: str, ctx: Asked) -> str:
    """Lets the client's model answer."""
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    result = await ctx.session.create_message([message], max_tokens=100)
    return f"LLM response: {_text_of(result)}"


async def elicitation(message: str, ctx: Asked) -> str:
    """Asks the user."""
    return await _elicited(ctx, message, Contact)


async def elicitation_with_defaults(ctx: Asked) -> str:
    """Asks the user, and proposes answers."""
    return await _elicited(ctx, "Please check these", Defaults)


async def elicitation_of_choices(ctx: Asked) -> str:
    """Lets the user choose."""
    return await _elicited(ctx, "Please choose", Choices)


async def _elicited(ctx: Asked, message: str, schema: type[BaseModel]) -> str:
    result = await ctx.elicit(message, schema)
    content = result.data.model_dump_json(by_alias=True) if isinstance(result, AcceptedElicitation) else "{}"
    return f"User response: action={result.action}, content={content}"


def missing_capability(ctx: Asked) -> str:
    """Cannot work for a client whose model may not be asked."""
    if ctx.client_capabilities and ctx.client_capabilities.sampling:
        return "sampling is there"
    needed: Mapping[str, object] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", needed)


def ask_name(ctx: Asked) -> Asking:
    """Greets the user by name."""
    name = _form_of(ctx, "user_name").get("name")
    return f"Hello, {name}!" if name else InputRequiredResult(input_requests={"user_name": NAME})


def ask_capital(ctx: Asked) -> Asking:
    """Lets the client's model say what a capital is."""
    if isinstance(said := _response(ctx, "capital_question"), CreateMessageResult):
        return _text_of(said)
    return InputRequiredResult(input_requests={"capital_question": _sample("What is the capital of France?")})


def ask_roots(ctx: Asked) -> Asking:
    """Lists the client's roots."""
    if isinstance(said := _response(ctx, "client_roots"), ListRootsResult):
        return ", ".join(str(root.uri) for root in said.roots)
    return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})


def ask_with_state(ctx: Asked) -> Asking:
    """Asks for confirmation, and recognises its own state when the client comes back."""
    if ctx.request_state == "asked" and _form_of(ctx, "confirm"):
        return "state-ok"
    confirm = _form("Please confirm", "ok", "boolean")
    return InputRequiredResult(input_requests={"confirm": confirm}, request_state="asked")


def ask_everything(ctx: Asked) -> Asking:
    """Asks the user, the model and the client at once."""
    questions: dict[str, InputRequest] = {
        "user_name": NAME,
        "greeting": _sample("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    if ctx.request_state == "asked" and questions.keys() <= (ctx.input_responses or {}).keys():
        return "all answered"
    return InputRequiredResult(input_requests=questions, request_state="asked")


def ask_twice(ctx: Asked) -> Asking:
    """Asks for a name, then for a colour."""
    if ctx.request_state == "second" and (color := _form_of(ctx, "step2").get("color")):
        return f"the colour is {color}"
    if ctx.request_state == "first" and _form_of(ctx, "step1").get("name"):
        second = _form("Step 2: What is your favorite color?", "color")
        return InputRequiredResult(input_requests={"step2": second}, request_state="second")
    first = _form("Step 1: What is your name?", "name")
    return InputRequiredResult(input_requests={"step1": first}, request_state="first")


def ask_what_is_declared(ctx: Asked) -> Asking:
    """Asks only in ways that the client has declared."""
    declared = ctx.client_capabilities
    questions: dict[str, InputRequest] = {}
    if declared and declared.sampling:
        questions["greeting"] = _sample("Generate a greeting")
    if declared and declared.elicitation:
        questions["user_name"] = NAME
    if not questions or questions.keys() <= (ctx.input_responses or {}).keys():
        return "nothing to ask"
    return InputRequiredResult(input_requests=questions)


TOOLS: Final[Mapping[str, Callable[..., object]]] = {
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": elicitation_with_defaults,
    "test_elicitation_sep1330_enums": elicitation_of_choices,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": ask_name,
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": ask_capital,
    "test_input_required_result_list_roots": ask_roots,
    "test_input_required_result_request_state": ask_with_state,
    "test_input_required_result_tampered_state": ask_with_state,
    "test_input_required_result_multiple_inputs": ask_everything,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_is_declared,
}


def prompt_with_context(ctx: Asked) -> Asking:
    """A prompt that asks the user what it is about."""
    if context := _form_of(ctx, "user_context").get("context"):
        return f"Use this context: {context}"
    question = _form("What context should the prompt use?", "context")
    return InputRequiredResult(input_requests={"user_context": question})


PROMPTS: Final[Mapping[str, Callable[..., object]]] = {
    "test_input_required_result_prompt": prompt_with_context,
}


def _form(message: str, field: str, type_: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": type_}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


NAME: Final = _form("What is your name?", "name")


def _sample(prompt: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def _response(ctx: Asked, question: str) -> InputResponse | None:
    return (ctx.input_responses or {}).get(question)


def _form_of(ctx: Asked, question: str) -> Mapping[str, object]:
    """What the user filled in; nothing when there is no answer or the user would not."""
    match _response(ctx, question):
        case ElicitResult(action="accept", content=dict() as content):
            return content
        case _:
            return {}


def _text_of(said: CreateMessageResult) -> str:
    return said.content.text if isinstance(said.content, TextContent) else "no text"
