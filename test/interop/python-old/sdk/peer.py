"""An agent as the installed release reaches it over one binding, and what the cases share.

Objects go in and come out as the JSON of the protocol, after the SDK's own classes have checked them.
"""

import uuid
from importlib.metadata import version

import httpx
from a2a import types

JSON_RPC_CODES = {
    'TaskNotFound': -32001,
    'TaskNotCancelable': -32002,
    'PushNotificationNotSupported': -32003,
    'UnsupportedOperation': -32004,
    'ContentTypeNotSupported': -32005,
    'AuthenticatedExtendedCardNotConfigured': -32007,
    'InvalidParams': -32602,
}

HTTP_STATUS = {'TaskNotFound': 404}

GRPC_STATUS = {
    'TaskNotFound': 'NOT_FOUND',
    'PushNotificationNotSupported': 'UNIMPLEMENTED',
    'UnsupportedOperation': 'UNIMPLEMENTED',
    'ContentTypeNotSupported': 'INVALID_ARGUMENT',
    'InvalidParams': 'INVALID_ARGUMENT',
}

OPEN = ('submitted', 'working')


class Peer:
    """What every release is made to look like. What a release cannot do is not there, and its cases fail for that."""

    #: Whether the extended card is read from an address of its own.
    gets_extended_card = False

    #: What the release tells its caller of a stream that is answered with 401.
    status_of_refused_streams = 401

    def __init__(self, url, binding, headers, plain):
        self.url = url
        self.binding = binding
        self.plain = plain
        self.headers = headers
        self.http = httpx.AsyncClient(headers=headers)

    async def of(self, owner):
        """The same agent for another caller."""
        return await open_peer(self.url, self.binding, headers={'Authorization': owner})

    async def close(self):
        await self.http.aclose()


async def open_peer(url, binding, headers={}, plain=None):
    # Each release has its module: what one imports the other does not have.
    if version('a2a-sdk').startswith('0.2.'):
        from peer_02 import Peer02 as Release
    else:
        from peer_03 import Peer03 as Release
    peer = Release(url, binding, headers, plain)
    await peer.open()
    return peer


def read(name, fields):
    return getattr(types, name).model_validate(fields)


def dump(model):
    return model.model_dump(mode='json', by_alias=True, exclude_none=True)


def text(content):
    return {'kind': 'text', 'text': content}


def user(content, **fields):
    parts = [text(content)] if isinstance(content, str) else content
    return {'kind': 'message', 'messageId': str(uuid.uuid4()), 'role': 'user', 'parts': parts, **fields}


async def collect(stream):
    return [event async for event in stream]


async def waiting(peer):
    """Starts a task that waits for a message, and gives it back while it runs."""
    task = await peer.send(user('wait'), blocking=False)
    assert state(task) in OPEN, state(task)
    return task


def state(holder):
    return holder.get('status', {}).get('state')


def text_of(holder):
    return ''.join(part.get('text', '') for part in holder.get('parts', ()))


def chunks_of(events):
    return ''.join(text_of(event['artifact']) for event in events if event['kind'] == 'artifact-update')


def equal(seen, wanted):
    assert seen == wanted, f'{seen!r} is not {wanted!r}'


class Refused(Exception):
    """An error of the agent, as much of it as the release and the binding let the caller see."""

    def __init__(self, told):
        super().__init__(repr(told))
        self.told = told


def wanted_of(binding, name):
    """What a caller must be told, over a binding, of an error."""
    if name == 'Unauthenticated':
        return ('UNAUTHENTICATED', None) if binding == 'GRPC' else 401
    if binding == 'JSONRPC':
        return JSON_RPC_CODES[name]
    if binding == 'HTTP+JSON':
        return HTTP_STATUS.get(name, 400)
    # Servers of these releases write the class of an error before its text, and callers look for it there.
    return (GRPC_STATUS.get(name, 'FAILED_PRECONDITION'), f'{name}Error')


async def fails(peer, name, awaitable, otherwise={}):
    """`otherwise`: by binding, what the release makes of the error where that says less than it was told."""
    try:
        await awaitable
    except Refused as error:
        equal(error.told, otherwise.get(peer.binding, wanted_of(peer.binding, name)))
        return
    raise AssertionError('no error was raised')
