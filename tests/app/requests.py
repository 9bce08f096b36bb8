"""Requests to parts of the server, without a server."""


def request(path, headers=(), method="GET"):
    """One, as an ASGI app is told of it."""
    asked = {"type": "http", "method": method, "path": path, "headers": list(headers)}
    return asked | {"query_string": b"", "asgi": {"spec_version": "2.4"}}


async def sent_by(app, scope, receive=None):
    """The messages that an app sends."""
    sent = []

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent


def headers_in(start):
    """Those of the message that begins an answer."""
    return {name.decode(): value.decode() for name, value in start["headers"]}
