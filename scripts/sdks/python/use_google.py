"""Checks of the package google-genai, with its default version of the API and with each version that the gateway serves."""
import asyncio
import io

from checks import GROUP, KEY, PDF, PNG, PROMPT, SCHEMA, TOOL, URL, WRONG_KEY
from checks import check, expect, expect_error, expect_simulated
from google import genai
from google.genai import errors, types

MODEL = "demo-generate"


def connect(version, key=KEY):
    return genai.Client(api_key=key, http_options={"base_url": URL, **({"api_version": version} if version else {})})


def text(client):
    reply = client.models.generate_content(model=MODEL, contents="hello")
    expect_simulated(reply.text)
    expect(reply.usage_metadata.total_token_count > 0, reply)


def stream(client):
    chunks = client.models.generate_content_stream(model=MODEL, contents="hello")
    expect_simulated("".join(chunk.text or "" for chunk in chunks))


def tool(client):
    declaration = types.FunctionDeclaration(name=TOOL, description="Weather", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])])
    asked = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    first = client.models.generate_content(model=MODEL, contents=[asked], config=config)
    call = first.function_calls[0]
    expect(call.args == {"city": "Paris"}, call)
    result = types.Part.from_function_response(name=call.name, response={"result": "sunny"})
    contents = [asked, first.candidates[0].content, types.Content(role="user", parts=[result])]
    second = client.models.generate_content(model=MODEL, contents=contents, config=config)
    expect("sunny" in second.text, second)


def automatic_tool(client):
    def get_weather(city: str) -> str:
        """Weather of a city."""
        return "sunny"

    reply = client.models.generate_content(
        model=MODEL, contents=PROMPT, config=types.GenerateContentConfig(tools=[get_weather])
    )
    expect("sunny" in reply.text, reply)


def image(client):
    picture = types.Part.from_bytes(data=PNG, mime_type="image/png")
    expect_simulated(client.models.generate_content(model=MODEL, contents=["hello", picture]).text)


def token_count(client):
    count = client.models.count_tokens(model=MODEL, contents="hello")
    expect(count.total_tokens > 0, count)


def asynchronous(client):
    async def run():
        chunks = await client.aio.models.generate_content_stream(model=MODEL, contents="hello")
        expect_simulated("".join([chunk.text or "" async for chunk in chunks]))

    asyncio.run(run())


def model_list(client):
    names = [model.name for model in client.models.list()]
    expect(f"models/{MODEL}" in names, names)
    expect(client.models.get(model=MODEL).name == f"models/{MODEL}", names)


def files(client):
    upload = lambda: client.files.upload(
        file=io.BytesIO(PDF), config=types.UploadFileConfig(display_name="report.pdf", mime_type="application/pdf")
    )
    made = upload()
    upload()
    expect(client.files.get(name=made.name).size_bytes == len(PDF), made)
    names = [file.name for file in client.files.list(config={"page_size": 1})]
    expect(made.name in names, names)
    expect_simulated(client.models.generate_content(model=MODEL, contents=[made, "hello"]).text)
    client.files.delete(name=made.name)
    expect(expect_error(errors.ClientError, lambda: client.files.get(name=made.name)).code == 404, made)


def unsupported(client):
    for run in (text, stream, token_count):
        expect(expect_error(errors.ClientError, lambda: run(client)).code == 404, run)


def wrong_key(client):
    for run in (text, stream, token_count, model_list):
        error = expect_error(errors.ClientError, lambda: run(client))
        expect(error.code == 401, error)


for version in (None, "v1", "v1beta"):
    name = version or "default version"
    # Other groups have no endpoints of this dialect.
    if GROUP != "generate":
        check(f"{name}: unsupported group", lambda: unsupported(connect(version)))
    else:
        for run in (text, stream, tool, automatic_tool, image, token_count, asynchronous, model_list):
            check(f"{name}: {run.__name__.replace('_', ' ')}", lambda: run(connect(version)))
        check(f"{name}: files", lambda: files(connect(version)))
    check(f"{name}: wrong key", lambda: wrong_key(connect(version, WRONG_KEY)))
