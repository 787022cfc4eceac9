"""Checks of the Ark SDKs for video tasks. They send every option that is not set as null."""
import asyncio
import importlib
import os
import time

from checks import KEY, URL, WRONG_KEY
from checks import check, expect, expect_error

ark = importlib.import_module(os.environ["ARK_MODULE"])
errors = importlib.import_module(f"{os.environ['ARK_MODULE']}._exceptions")
MODEL = "demo-video-a"
CONTENT = [{"type": "text", "text": "a lamp on a desk"}]
BASE_URL = f"{URL}/api/v3"
FINAL = ("succeeded", "failed", "cancelled", "expired")
tasks = ark.Ark(base_url=BASE_URL, api_key=KEY).content_generation.tasks


def life():
    task = tasks.create(model=MODEL, content=CONTENT)
    deadline = time.monotonic() + 60
    while (found := tasks.get(task_id=task.id)).status not in FINAL and time.monotonic() < deadline:
        time.sleep(0.5)
    expect(found.status == "succeeded" and found.content.video_url.startswith("http"), found)
    expect(found.usage.total_tokens > 0 and found.model == MODEL, found)
    tasks.delete(task_id=task.id)
    expect_error(errors.ArkNotFoundError, lambda: tasks.get(task_id=task.id))


def options():
    frames = [{**image, "role": role} for role, image in (("first_frame", picture("first")), ("last_frame", picture("last")))]
    task = tasks.create(
        model=MODEL, content=CONTENT + frames, duration=5, resolution="720p", ratio="16:9", seed=7, watermark=False
    )
    found = tasks.get(task_id=task.id)
    expect(found.id == task.id and found.error is None, found)


def picture(name):
    return {"type": "image_url", "image_url": {"url": f"https://example.com/{name}.png"}}


def listed():
    created = {tasks.create(model=MODEL, content=CONTENT).id for _ in range(2)}
    page = tasks.list(page_num=1, page_size=10, task_ids=list(created))
    expect({item.id for item in page.items} == created and page.total == 2, page)
    expect(tasks.list(page_size=1, model=MODEL).total >= 2, "total")


def asynchronous():
    async def run():
        other = ark.AsyncArk(base_url=BASE_URL, api_key=KEY).content_generation.tasks
        task = await other.create(model=MODEL, content=CONTENT)
        expect((await other.get(task_id=task.id)).id == task.id, task)

    asyncio.run(run())


def rejected():
    expect_error(errors.ArkBadRequestError, lambda: tasks.create(model=MODEL, content=CONTENT, draft=True))
    expect_error(errors.ArkBadRequestError, lambda: tasks.create(model=MODEL, content=None))


def wrong_key():
    other = ark.Ark(base_url=BASE_URL, api_key=WRONG_KEY).content_generation.tasks
    expect_error(errors.ArkAuthenticationError, lambda: other.create(model=MODEL, content=CONTENT))


check("life of a task", life)
check("options", options)
check("list", listed)
check("asynchronous client", asynchronous)
check("rejected options", rejected)
check("wrong key", wrong_key)
