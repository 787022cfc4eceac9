"""Checks of the package anthropic."""
import asyncio

import anthropic
from checks import GROUP, KEY, PDF, PNG_BASE64, PROMPT, SCHEMA, TOOL, URL, WRONG_KEY
from checks import check, expect, expect_error, expect_simulated, ids_of, when

MODEL = "demo-messages"
client = anthropic.Anthropic(base_url=URL, api_key=KEY)


def body(content, **more):
    return {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": content}], **more}


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def text():
    message = client.messages.create(**body("hello", system="Be brief."))
    expect_simulated(text_of(message))
    expect(message.stop_reason == "end_turn" and message.usage.output_tokens > 0, message)


def stream():
    with client.messages.stream(**body("hello")) as events:
        deltas = "".join(events.text_stream)
        expect_simulated(deltas)
        expect(text_of(events.get_final_message()) == deltas, deltas)


def raw_stream():
    kinds = [event.type for event in client.messages.create(**body("hello"), stream=True)]
    expect(kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds)


def tool():
    tools = [{"name": TOOL, "description": "Weather", "input_schema": SCHEMA}]
    first = client.messages.create(**body(PROMPT, tools=tools))
    use = next(block for block in first.content if block.type == "tool_use")
    expect(use.input == {"city": "Paris"}, use)
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    second = client.messages.create(model=MODEL, max_tokens=1000, messages=messages, tools=tools)
    expect("sunny" in text_of(second), second)


def image():
    source = {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}
    content = [{"type": "text", "text": "hello"}, {"type": "image", "source": source}]
    expect_simulated(text_of(client.messages.create(**body(content))))


def token_count():
    def count():
        return client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hello"}])

    if GROUP == "responses":
        expect_error(anthropic.NotFoundError, count)
    else:
        expect(count().input_tokens > 0, "no tokens")


def asynchronous():
    async def run():
        async with anthropic.AsyncAnthropic(base_url=URL, api_key=KEY) as other:
            async with other.messages.stream(**body("hello")) as events:
                expect_simulated(text_of(await events.get_final_message()))

    asyncio.run(run())


def model_list():
    names = [model.id for model in client.models.list()]
    expect(MODEL in names, names)
    expect(client.models.retrieve(MODEL).id == MODEL, names)


def files():
    # They left beta in version 1.
    owner = client if hasattr(client, "files") else client.beta
    made = owner.files.upload(file=("report.pdf", PDF, "application/pdf"))
    owner.files.upload(file=("report.pdf", PDF, "application/pdf"))
    expect(owner.files.retrieve_metadata(made.id).size_bytes == len(PDF), made)
    expect(owner.files.download(made.id).read() == PDF, "the content")
    expect(made.id in ids_of(owner.files.list(limit=1)), made)
    parts = [{"type": "document", "source": {"type": "file", "file_id": made.id}}, {"type": "text", "text": "hello"}]
    expect_simulated(text_of(owner.messages.create(**body(parts))))
    expect(owner.files.delete(made.id).type == "file_deleted", made)
    expect_error(anthropic.NotFoundError, lambda: owner.files.retrieve_metadata(made.id))


def batch():
    batches = client.messages.batches
    requests = [{"custom_id": name, "params": body("hello")} for name in ("one", "two")]
    made = batches.create(requests=requests)
    done = when(lambda: batches.retrieve(made.id), lambda found: found.processing_status == "ended")
    expect(done.request_counts.succeeded == 2, done)
    results = [(line.custom_id, line.result.type) for line in batches.results(made.id)]
    expect(results == [("one", "succeeded"), ("two", "succeeded")], results)
    batches.create(requests=requests)
    expect(made.id in ids_of(batches.list(limit=1)), made)
    expect_error(anthropic.BadRequestError, lambda: batches.cancel(made.id))
    expect(batches.delete(made.id).type == "message_batch_deleted", made)
    expect_error(anthropic.NotFoundError, lambda: batches.retrieve(made.id))


def wrong_key():
    other = anthropic.Anthropic(base_url=URL, api_key=WRONG_KEY)
    expect_error(anthropic.AuthenticationError, lambda: other.messages.create(**body("hello")))
    expect_error(anthropic.AuthenticationError, lambda: list(other.models.list()))


check("text", text)
check("stream", stream)
check("raw stream", raw_stream)
check("tool", tool)
check("image", image)
check("token count", token_count)
check("asynchronous client", asynchronous)
check("model list", model_list)
check("files", files)
check("batch", batch)
check("wrong key", wrong_key)
