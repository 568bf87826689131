"""What schemathesis cannot know from schema/openapi.json: keys that work, and which body belongs to which action.

Every choice depends on the generated request alone, so that a failing one can be sent again and reduced.
"""

import os
import re
from zlib import crc32

import schemathesis
from schemathesis.generation.meta import CoverageScenario

API_KEY = os.environ["APICHAT_TEST_API_KEY"]
WEBHOOK_URL = os.environ["APICHAT_TEST_WEBHOOK_URL"]
REQUEST_URL = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://")
ADDRESSES = {"workspace": os.environ["APICHAT_TEST_WORKSPACE"], "bot_code": os.environ["APICHAT_TEST_BOT_CODE"]}


def one_in(count, text):
    return crc32(str(text).encode("utf-8", "surrogatepass")) % count == 0


def is_positive(case, location):
    components = case.meta.components if case.meta else {}
    return all(info.mode.is_positive for where, info in components.items() if where.name == location)


@schemathesis.hook
def before_call(ctx, case, kwargs):
    address_that_exists(case)
    if "{workspace}" not in case.path:
        case.body = title_as_content(case.body)
        return
    action_of_the_body(case, case.body)
    if isinstance(case.body, dict):
        case.body = reachable_webhook(key_that_works(case.body))


def address_that_exists(case):
    """Nearly always uses an existing address, because a generated one would almost never exist."""
    path = case.path_parameters or {}
    probe = getattr(getattr(case.meta, "phase", None), "data", None)
    wrong_method = getattr(probe, "scenario", None) == CoverageScenario.UNSPECIFIED_HTTP_METHOD
    for name, value in path.items():
        if name in ADDRESSES and is_positive(case, "PATH") and (wrong_method or not one_in(8, value)):
            case.path_parameters = {**path, name: ADDRESSES[name]}


def title_as_content(body):
    """Copies a pressed button's title into the content, which no schema can require."""
    pressed = body.get("submitted_values") if isinstance(body, dict) else None
    button = pressed[0] if isinstance(pressed, list) and pressed else None
    title = button.get("title") if isinstance(button, dict) else None
    if not isinstance(title, str) or not isinstance(body.get("content"), str):
        return body
    return {**body, "content": title}


def key_that_works(body):
    """Gives three requests in four the right key instead of the generated one; the rest must be rejected."""
    given = body.get("ChaveApi", "none")
    if given == "" or not isinstance(given, str) or one_in(4, body):
        return body
    return {**body, "ChaveApi": API_KEY}


def reachable_webhook(body):
    """Keeps handshakes on this machine: the generated host and path become a query of the only webhook."""
    url = body.get("webhook_url")
    start = REQUEST_URL.match(url) if isinstance(url, str) else None
    return {**body, "webhook_url": f"{WEBHOOK_URL}?{url[start.end() :]}"} if start else body


def action_of_the_body(case, body):
    """Sends a body with a webhook to set-webhook, and one without to another action."""
    query = case.query or {}
    if not is_positive(case, "QUERY"):
        return
    if isinstance(body, dict) and ("webhook_url" in body or "webhook_verification_key" in body):
        case.query = {**query, "action": "set-webhook"}
    elif query.get("action") == "set-webhook" or not is_positive(case, "BODY"):
        case.query = {**query, "action": "get-webhook" if one_in(2, body) else "delete-webhook"}


@schemathesis.check
def registration_needs_the_key(ctx, response, case):
    """`ignored_auth` for a key in the body: a request without the right one never succeeds."""
    if "{workspace}" not in case.path or response.status_code >= 300:
        return
    key = case.body.get("ChaveApi") if isinstance(case.body, dict) else None
    assert key == API_KEY, "answered 2xx to a request without the right ChaveApi"


@schemathesis.check
def registration_answers_as_shown(ctx, response, case):
    """The document allows every reading of the specification; its examples show the emulator's own."""
    if "{workspace}" not in case.path or response.status_code != 200:
        return
    answer = response.json()
    fields = {"webhook_url", "webhook_verification_key", "webhook_status", "bot_url"}
    assert answer["status"] == "ok", "a 200 whose status is not ok"
    assert set(answer["data"]) == fields, "not the four fields of a webhook configuration"
    assert all(isinstance(value, str) for value in answer["data"].values()), "a field that is not text"
