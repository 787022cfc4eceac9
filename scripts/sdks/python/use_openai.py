"""Checks of the package openai."""
import asyncio
import json

import openai
from checks import GROUP, KEY, PDF, PNG_BASE64, PROMPT, SCHEMA, TOOL, URL, WRONG_KEY
from checks import check, expect, expect_error, expect_simulated, ids_of, when

MODEL = "demo-responses"
PICTURE = f"data:image/png;base64,{PNG_BASE64}"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)


def user(content):
    return [{"role": "user", "content": content}]


def chat_text():
    reply = client.chat.completions.create(model=MODEL, messages=user("hello"))
    expect_simulated(reply.choices[0].message.content)
    expect(reply.usage.total_tokens > 0, reply.usage)


def chat_stream():
    stream = client.chat.completions.create(
        model=MODEL, messages=user("hello"), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    expect_simulated("".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices))
    expect(chunks[-1].usage.total_tokens > 0, chunks[-1])


def chat_stream_helper():
    with client.chat.completions.stream(model=MODEL, messages=user("hello")) as stream:
        for _ in stream:
            pass
        expect_simulated(stream.get_final_completion().choices[0].message.content)


def chat_tool():
    tools = [{"type": "function", "function": {"name": TOOL, "description": "Weather", "parameters": SCHEMA}}]
    first = client.chat.completions.create(model=MODEL, messages=user(PROMPT), tools=tools).choices[0].message
    call = first.tool_calls[0]
    expect(json.loads(call.function.arguments) == {"city": "Paris"}, call)
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    second = client.chat.completions.create(model=MODEL, messages=[*user(PROMPT), first, result], tools=tools)
    expect("sunny" in second.choices[0].message.content, second)


def chat_image():
    parts = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    reply = client.chat.completions.create(model=MODEL, messages=user(parts))
    expect_simulated(reply.choices[0].message.content)


def response_text():
    reply = client.responses.create(model=MODEL, input="hello")
    expect_simulated(reply.output_text)
    expect(reply.usage.total_tokens > 0, reply.usage)


def response_stream():
    with client.responses.stream(model=MODEL, input="hello") as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        expect_simulated(deltas)
        expect(stream.get_final_response().output_text == deltas, deltas)


def response_tool():
    tools = [{"type": "function", "name": TOOL, "description": "Weather", "parameters": SCHEMA, "strict": False}]
    first = client.responses.create(model=MODEL, input=user(PROMPT), tools=tools)
    call = next(item for item in first.output if item.type == "function_call")
    expect(json.loads(call.arguments) == {"city": "Paris"}, call)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    second = client.responses.create(model=MODEL, input=[*user(PROMPT), *first.output, result], tools=tools)
    expect("sunny" in second.output_text, second)
    stored = client.responses.create(model=MODEL, previous_response_id=first.id, input=[result], tools=tools)
    expect("sunny" in stored.output_text, stored)


def response_image():
    parts = [{"type": "input_text", "text": "hello"}, {"type": "input_image", "image_url": PICTURE, "detail": "auto"}]
    expect_simulated(client.responses.create(model=MODEL, input=user(parts)).output_text)


def response_count():
    count = client.responses.input_tokens.count(model=MODEL, input="hello")
    expect(count.input_tokens > 0, count)


def asynchronous():
    async def run():
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY) as other:
            stream = await other.chat.completions.create(model=MODEL, messages=user("hello"), stream=True)
            chunks = [chunk async for chunk in stream]
            expect_simulated("".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices))

    asyncio.run(run())


def model_list():
    names = [model.id for model in client.models.list()]
    expect(MODEL in names, names)
    expect(client.models.retrieve(MODEL).id == MODEL, names)


def files():
    made = client.files.create(file=("report.pdf", PDF, "application/pdf"), purpose="user_data")
    client.files.create(file=("report.pdf", PDF, "application/pdf"), purpose="user_data")
    expect(client.files.wait_for_processing(made.id).status == "processed", made)
    expect(client.files.retrieve(made.id).filename == "report.pdf", made)
    expect(client.files.content(made.id).read() == PDF, "the content")
    expect(made.id in ids_of(client.files.list(limit=1, purpose="user_data")), made)
    parts = [{"type": "input_file", "file_id": made.id}, {"type": "input_text", "text": "hello"}]
    expect_simulated(client.responses.create(model=MODEL, input=user(parts)).output_text)
    parts = [{"type": "file", "file": {"file_id": made.id}}, {"type": "text", "text": "hello"}]
    reply = client.chat.completions.create(model=MODEL, messages=user(parts))
    expect_simulated(reply.choices[0].message.content)
    expect(client.files.delete(made.id).deleted, made)
    expect_error(openai.NotFoundError, lambda: client.files.retrieve(made.id))


def batch():
    for endpoint, body in (
        ("/v1/responses", {"model": MODEL, "input": "hello"}),
        ("/v1/chat/completions", {"model": MODEL, "messages": user("hello")}),
    ):
        lines = [
            json.dumps({"custom_id": name, "method": "POST", "url": endpoint, "body": body}) for name in ("one", "two")
        ]
        file = client.files.create(file=("in.jsonl", "\n".join(lines).encode()), purpose="batch")
        made = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")
        done = when(lambda: client.batches.retrieve(made.id), lambda found: found.status != "in_progress")
        expect(done.status == "completed" and done.request_counts.completed == 2, done)
        results = [json.loads(line) for line in client.files.content(done.output_file_id).text.splitlines()]
        expect([result["custom_id"] for result in results] == ["one", "two"], results)
        expect(all(result["response"]["status_code"] == 200 for result in results), results)
        expect(made.id in ids_of(client.batches.list(limit=1)), made)
        expect_error(openai.BadRequestError, lambda: client.batches.cancel(made.id))


def conversation():
    def said(content):
        return {"type": "message", "role": "user", "content": content}

    conversations = client.conversations
    made = conversations.create(items=[said("hello")], metadata={"topic": "lamp"})
    reply = client.responses.create(model=MODEL, input="hello", conversation=made.id)
    expect_simulated(reply.output_text)
    added = conversations.items.create(made.id, items=[said("again")]).data[0]
    expect(conversations.items.retrieve(added.id, conversation_id=made.id).role == "user", added)
    expect(len(ids_of(conversations.items.list(made.id, limit=1, order="asc"))) == 4, "items")
    conversations.items.delete(added.id, conversation_id=made.id)
    expect(conversations.update(made.id, metadata={"topic": "desk"}).metadata == {"topic": "desk"}, made)
    expect(conversations.delete(made.id).deleted, made)
    expect_error(openai.NotFoundError, lambda: conversations.retrieve(made.id))


def videos():
    """`videos.create` sends multipart, which the contract excludes; the same client posts JSON."""
    body = {"model": "demo-video-a", "prompt": "a lamp", "seconds": "5", "size": "1280x720", "return_last_frame": True}
    created = client.post("/videos", body=body, cast_to=object)
    video = client.videos.poll(created["id"], poll_interval_ms=500)
    expect(video.status == "completed", video)
    expect(client.videos.download_content(video.id).read()[4:8] == b"ftyp", "the video")
    thumbnail = client.videos.download_content(video.id, variant="thumbnail")
    expect(thumbnail.response.headers["content-type"].startswith("image/"), thumbnail)
    page = client.videos.list(limit=1)
    expect(page.data[0].id == video.id, page)
    expect(client.videos.delete(video.id).deleted, video)
    expect_error(openai.NotFoundError, lambda: client.videos.retrieve(video.id))


def wrong_key():
    other = openai.OpenAI(base_url=f"{URL}/v1", api_key=WRONG_KEY)
    expect_error(openai.AuthenticationError, lambda: other.responses.create(model=MODEL, input="hello"))
    expect_error(openai.AuthenticationError, lambda: other.chat.completions.create(model=MODEL, messages=user("hello")))
    expect_error(openai.AuthenticationError, lambda: list(other.models.list()))


check("chat text", chat_text)
check("chat stream", chat_stream)
check("chat stream helper", chat_stream_helper)
check("chat tool", chat_tool)
check("chat image", chat_image)
check("response text", response_text)
check("response stream", response_stream)
check("response tool", response_tool)
check("response image", response_image)
check("response token count", response_count)
check("asynchronous client", asynchronous)
check("model list", model_list)
check("files", files)
check("batch", batch)
if hasattr(client, "conversations"):
    check("conversation", conversation)
# Version 1 has no videos at first. All keys reach the same video models.
if hasattr(client, "videos") and GROUP == "responses":
    check("videos", videos)
check("wrong key", wrong_key)
