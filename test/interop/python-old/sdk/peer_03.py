from contextlib import contextmanager
from urllib.parse import urlsplit

import grpc
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import Message, TransportProtocol

from peer import Peer, Refused, dump, read

TRANSPORTS = {
    'JSONRPC': TransportProtocol.jsonrpc,
    'HTTP+JSON': TransportProtocol.http_json,
    'GRPC': TransportProtocol.grpc,
}


class Peer03(Peer):
    """Release 0.3: one client for all bindings, chosen by the card."""

    async def open(self):
        self.card = await A2ACardResolver(self.http, self.url).get_agent_card()
        self._streaming = self._client(self.card, streaming=True)
        self._unary = self._client(self.card, streaming=False)

    def _client(self, card, streaming, push=()):
        config = ClientConfig(
            streaming=streaming,
            httpx_client=self.http,
            push_notification_configs=list(push),
            supported_transports=[TRANSPORTS[self.binding]],
            grpc_channel_factory=lambda url: grpc.aio.insecure_channel(urlsplit(url).netloc or url),
        )
        client = ClientFactory(config).create(card)
        if self.binding == 'GRPC':
            self._sign(client)
        return client

    def _sign(self, client):
        # The release lets no caller add metadata to a call.
        transport = client._transport
        of_extensions = transport._get_grpc_metadata

        def with_headers(extensions=None):
            own = [(name.lower(), value) for name, value in self.headers.items()]
            return [*(of_extensions(extensions) or []), *own]

        transport._get_grpc_metadata = with_headers

    def picked(self):
        """Where the client calls."""
        transport = self._unary._transport
        return getattr(transport, 'url', None)

    async def send(self, message, metadata=None, extensions=None, pushNotificationConfig=None, **configuration):
        request = read('Message', message)
        settings = read('MessageSendConfiguration', configuration) if configuration else None
        client = self._unary
        if pushNotificationConfig:
            # Given with a call, the binary bindings of the release stumble over it.
            push = [read('PushNotificationConfig', pushNotificationConfig)]
            client = self._client(self.card, streaming=False, push=push)
        with told():
            stream = client.send_message(
                request, configuration=settings, request_metadata=metadata, extensions=extensions
            )
            (answer,) = [event async for event in stream]
        return dump(answer if isinstance(answer, Message) else answer[0])

    async def stream(self, message, **configuration):
        settings = read('MessageSendConfiguration', configuration) if configuration else None
        with told():
            async for event in self._streaming.send_message(read('Message', message), configuration=settings):
                yield plain_event(event)

    async def get(self, task_id, **query):
        with told():
            return dump(await self._unary.get_task(read('TaskQueryParams', {'id': task_id, **query})))

    async def cancel(self, task_id):
        with told():
            return dump(await self._unary.cancel_task(read('TaskIdParams', {'id': task_id})))

    async def resubscribe(self, task_id):
        with told():
            async for event in self._streaming.resubscribe(read('TaskIdParams', {'id': task_id})):
                yield plain_event(event)

    async def set_push(self, config):
        with told():
            return dump(await self._unary.set_task_callback(read('TaskPushNotificationConfig', config)))

    async def get_push(self, task_id, config_id):
        params = {'id': task_id, 'pushNotificationConfigId': config_id}
        with told():
            request = read('GetTaskPushNotificationConfigParams', params)
            return dump(await self._unary.get_task_callback(request))

    async def extended_card(self, believing=False):
        """The extended card; `believing` asks for it whatever the public card says."""
        update = {'supports_authenticated_extended_card': True} if believing else {}
        client = self._client(self.card.model_copy(update=update), streaming=False)
        with told():
            return dump(await client.get_card())


def plain_event(event):
    if isinstance(event, Message):
        return dump(event)
    task, update = event
    return dump(task if update is None else update)


@contextmanager
def told():
    try:
        yield
    except A2AClientJSONRPCError as error:
        raise Refused(error.error.code) from error
    except A2AClientHTTPError as error:
        raise Refused(error.status_code) from error
    except grpc.aio.AioRpcError as error:
        prefix, colon, _ = (error.details() or '').partition(': ')
        raise Refused((error.code().name, prefix if colon else None)) from error
