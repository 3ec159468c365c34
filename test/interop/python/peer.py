"""The agents as the SDK reaches them over one binding, and what the cases share."""

import uuid
from contextlib import AsyncExitStack

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

OPEN = (pb.TASK_STATE_SUBMITTED, pb.TASK_STATE_WORKING)


class Peer:
    def __init__(self, options):
        self.url = options.url
        self.plain_url = options.plain
        self.guarded_url = options.guarded
        self.binding = options.binding
        # The credentials that the guarded agent wants, by the names of the options.
        self.secrets = options
        self._stack = AsyncExitStack()

    async def __aenter__(self):
        self.http = await self._stack.enter_async_context(httpx.AsyncClient())
        card = await self.card()
        self.streaming = self.client(card, streaming=True)
        self.unary = self.client(card, streaming=False)
        self.plain = self.client(await self.card(self.plain_url), streaming=False)
        return self

    async def __aexit__(self, *reason):
        await self._stack.aclose()

    async def card(self, url=None):
        return await A2ACardResolver(self.http, url or self.url).get_agent_card()

    async def believing(self, **capabilities):
        """A client of the plain agent that believes in more capabilities than the published card has."""
        card = await self.card(self.plain_url)
        for name, value in capabilities.items():
            setattr(card.capabilities, name, value)
        return self.client(card, streaming=False)

    def client(self, card, streaming, interceptors=None):
        factory = ClientFactory(
            ClientConfig(
                streaming=streaming,
                supported_protocol_bindings=[self.binding],
                grpc_channel_factory=self._channel,
            )
        )
        client = factory.create(card, interceptors=interceptors)
        self._stack.push_async_callback(client.close)
        return client

    def _channel(self, address):
        return grpc.aio.insecure_channel(address)


def part(**fields):
    return json_format.ParseDict(fields, pb.Part())


def send(content, configuration=None, **message):
    parts = [part(text=content)] if isinstance(content, str) else content
    fields = {'messageId': str(uuid.uuid4()), 'role': 'ROLE_USER', **message}
    request = json_format.ParseDict({'message': fields, 'configuration': configuration or {}}, pb.SendMessageRequest())
    request.message.parts.extend(parts)
    return request


def owner(name):
    return ClientCallContext(service_parameters={'Authorization': name})


async def collect(stream):
    return [event async for event in stream]


async def one(stream):
    """What a client that does not stream is answered: a task or a message."""
    (event,) = await collect(stream)
    return getattr(event, event.WhichOneof('payload'))


async def waiting(peer, context=None):
    """Starts a task that waits for a message, and gives it back while it runs."""
    task = await one(peer.unary.send_message(send('wait', {'returnImmediately': True}), context=context))
    assert task.status.state in OPEN, state(task)
    return task


def state(task):
    return pb.TaskState.Name(task.status.state).removeprefix('TASK_STATE_')


def text_of(holder):
    return ''.join(each.text for each in holder.parts)


def equal(seen, wanted):
    assert seen == wanted, f'{seen!r} is not {wanted!r}'


async def fails(error, awaitable):
    try:
        await awaitable
    except error:
        return
    raise AssertionError(f'no {error.__name__} was raised')
