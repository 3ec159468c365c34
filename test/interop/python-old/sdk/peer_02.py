import uuid
from contextlib import contextmanager

from a2a.client import A2ACardResolver, A2AClient, A2AClientHTTPError
from a2a.types import SendStreamingMessageRequest

from peer import Peer, Refused, dump, read

EXTENDED_CARD_PATH = '/agent/authenticatedExtendedCard'


class Peer02(Peer):
    """Release 0.2: JSON-RPC alone, at the URL of the card."""

    gets_extended_card = True

    # It looks at the type of the answer first.
    status_of_refused_streams = 400

    async def open(self):
        self.card = await A2ACardResolver(self.http, self.url).get_agent_card()
        self._client = A2AClient(self.http, agent_card=self.card)

    def picked(self):
        """Where the client calls."""
        return self._client.url

    async def send(self, message, metadata=None, extensions=None, **configuration):
        headers = {'X-A2A-Extensions': ','.join(extensions)} if extensions else {}
        request = envelope('SendMessageRequest', 'message/send', params_of(message, configuration, metadata))
        with told():
            return result(await self._client.send_message(request, http_kwargs={'headers': headers}))

    async def stream(self, message, **configuration):
        fields = {'id': str(uuid.uuid4()), 'method': 'message/stream', 'params': params_of(message, configuration)}
        request = SendStreamingMessageRequest.model_validate(fields)
        with told():
            async for response in self._client.send_message_streaming(request):
                yield result(response)

    async def get(self, task_id, **query):
        request = envelope('GetTaskRequest', 'tasks/get', {'id': task_id, **query})
        with told():
            return result(await self._client.get_task(request))

    async def cancel(self, task_id):
        with told():
            return result(await self._client.cancel_task(envelope('CancelTaskRequest', 'tasks/cancel', {'id': task_id})))

    async def set_push(self, config):
        request = envelope('SetTaskPushNotificationConfigRequest', 'tasks/pushNotificationConfig/set', config)
        with told():
            return result(await self._client.set_task_callback(request))

    async def get_push(self, task_id, config_id):
        # The release asks by the task alone.
        request = envelope('GetTaskPushNotificationConfigRequest', 'tasks/pushNotificationConfig/get', {'id': task_id})
        with told():
            return result(await self._client.get_task_callback(request))

    async def extended_card(self, believing=False):
        with told():
            resolver = A2ACardResolver(self.http, self.url, agent_card_path=EXTENDED_CARD_PATH)
            return dump(await resolver.get_agent_card())


def params_of(message, configuration, metadata=None):
    params = {'message': message}
    if configuration:
        # Early releases do not do without these.
        params['configuration'] = {'acceptedOutputModes': [], **configuration}
    if metadata:
        params['metadata'] = metadata
    return params


def envelope(name, method, params):
    return read(name, {'id': str(uuid.uuid4()), 'method': method, 'params': params})


def result(response):
    answer = response.root
    if hasattr(answer, 'error'):
        raise Refused(answer.error.root.code if hasattr(answer.error, 'root') else answer.error.code)
    return dump(answer.result)


@contextmanager
def told():
    try:
        yield
    except A2AClientHTTPError as error:
        raise Refused(error.status_code) from error
