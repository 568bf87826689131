"""An endpoint of the API Channel with FastAPI. The rules are those of docs/guide/endpoint.md."""

import hmac
import json
import os
from collections.abc import Mapping

from fastapi import FastAPI, Request, Response

NAMES = ("APICHAT_VERIFICATION_KEY", "APICHAT_EARLIER_VERIFICATION_KEY")
KEYS = [os.environ[name].encode() for name in NAMES if os.environ.get(name)]
if not KEYS:
    raise SystemExit("APICHAT_VERIFICATION_KEY is not set")
app = FastAPI()


async def store(body: bytes) -> None:
    """STORE HERE: write the delivery to a database or queue, and do its work later (rules 7, 8)."""
    print(body.decode(), flush=True)


@app.post("/webhooks/apichat")
async def webhook(request: Request) -> Response:
    body = await request.body()  # the bytes as received
    fields = await read_fields(request, body)
    if fields.get("hub_mode") == "subscribe":  # rule 1
        token = str(fields.get("hub_verify_token"))
        if any(equal(token, key) for key in KEYS):  # rules 2, 6
            return Response(str(fields.get("hub_challenge")), media_type="text/plain")  # rule 3
    else:
        signature = request.headers.get("x-hub-signature-256", "")
        if any(equal(signature, sign(key, body)) for key in KEYS):  # rules 4, 6
            await store(body)
            return Response()  # rule 5
    return Response(status_code=401)


async def read_fields(request: Request, body: bytes) -> Mapping[str, object]:
    """Where the parameters of a handshake may be: the query, JSON or a form."""
    if "hub_mode" in request.query_params or len(body) > 8192:
        return request.query_params
    try:
        fields = json.loads(body)
        return fields if isinstance(fields, dict) else {}
    except (ValueError, RecursionError):
        return await request.form()


def sign(key: bytes, body: bytes) -> bytes:
    return b"sha256=" + hmac.digest(key, body, "sha256").hex().encode()


def equal(given: str, expected: bytes) -> bool:
    """In constant time. compare_digest accepts text beyond ASCII only as bytes."""
    return hmac.compare_digest(given.encode(errors="replace"), expected)
