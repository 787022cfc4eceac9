"""Runs the checks of one SDK and prints the result of each as a line of JSON."""
import base64
import json
import os
import time

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
# The style of the key's group: responses, messages or generate.
GROUP = os.environ["GATEWAY_GROUP"]
WRONG_KEY = "dg-wrong"

TOOL = "get_weather"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PROMPT = 'Use get_weather for "Paris".'
PNG_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 1/Kids[]>>endobj\n%%EOF"
PNG = base64.b64decode(PNG_BASE64)


def check(name, run):
    try:
        run()
        print(json.dumps({"name": name}), flush=True)
    except Exception as error:
        print(json.dumps({"name": name, "error": f"{type(error).__name__}: {error}"}), flush=True)


def when(load, is_done):
    """The value of `load` once `is_done` holds for it."""
    while True:
        value = load()
        if is_done(value):
            return value
        time.sleep(0.5)


def ids_of(pages):
    """Every id of a list, page after page."""
    ids = [row.id for row in pages]
    expect(len(set(ids)) == len(ids), ids)
    return ids


def expect(condition, found):
    if not condition:
        raise AssertionError(f"unexpected result: {found!r}")


def expect_simulated(text):
    expect("simulated answer" in text, text)


def expect_error(kind, run):
    """Returns the error, which must be of the SDK's own class."""
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")
