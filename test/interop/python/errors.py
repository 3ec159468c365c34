from a2a.client import A2AClientError, ClientCallContext
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors as a2a

from peer import collect, fails, one, owner, part, send, waiting

NOBODY = '00000000-0000-7000-8000-000000000000'


async def finished(client):
    return (await one(client.send_message(send('work')))).id


async def get(peer):
    await fails(a2a.TaskNotFoundError, peer.unary.get_task(pb.GetTaskRequest(id=NOBODY)))


async def cancel_missing(peer):
    await fails(a2a.TaskNotFoundError, peer.unary.cancel_task(pb.CancelTaskRequest(id=NOBODY)))


async def subscribe_missing(peer):
    await fails(a2a.TaskNotFoundError, collect(peer.streaming.subscribe(pb.SubscribeToTaskRequest(id=NOBODY))))


async def send_missing(peer):
    await fails(a2a.TaskNotFoundError, one(peer.unary.send_message(send('pong', taskId=NOBODY))))


async def foreign(peer):
    anna, bert = owner('anna'), owner('bert')
    task = await waiting(peer, anna)
    request = pb.SubscribeToTaskRequest(id=task.id)
    await fails(a2a.TaskNotFoundError, peer.unary.get_task(pb.GetTaskRequest(id=task.id), context=bert))
    await fails(a2a.TaskNotFoundError, peer.unary.cancel_task(pb.CancelTaskRequest(id=task.id), context=bert))
    await fails(a2a.TaskNotFoundError, collect(peer.streaming.subscribe(request, context=bert)))
    await peer.unary.cancel_task(pb.CancelTaskRequest(id=task.id), context=anna)


async def cancel_finished(peer):
    task_id = await finished(peer.unary)
    await fails(a2a.TaskNotCancelableError, peer.unary.cancel_task(pb.CancelTaskRequest(id=task_id)))


async def subscribe_finished(peer):
    request = pb.SubscribeToTaskRequest(id=await finished(peer.unary))
    await fails(a2a.UnsupportedOperationError, collect(peer.streaming.subscribe(request)))


async def send_finished(peer):
    task_id = await finished(peer.unary)
    await fails(a2a.UnsupportedOperationError, one(peer.unary.send_message(send('more', taskId=task_id))))


async def content_type(peer):
    picture = send([part(text='echo'), pb.Part(raw=b'png', media_type='image/png')])
    await fails(a2a.ContentTypeNotSupportedError, one(peer.unary.send_message(picture)))


async def content_type_agent(peer):
    await fails(a2a.ContentTypeNotSupportedError, one(peer.unary.send_message(send('picky'))))


async def content_type_stream(peer):
    await fails(a2a.ContentTypeNotSupportedError, collect(peer.streaming.send_message(send('picky'))))


async def unauthenticated(peer):
    # The SDK has no error of its own for a caller who was refused: what it says is in the text.
    for client in (peer.unary, peer.streaming):
        try:
            await collect(client.send_message(send('pong'), context=owner('stranger')))
        except A2AClientError as error:
            assert 'UNAUTHENTICATED' in str(error) or 'HTTP Error 401' in str(error), error
        else:
            raise AssertionError('no error was raised')


async def params(peer):
    await fails(a2a.InvalidParamsError, one(peer.unary.send_message(send([]))))


async def page_token(peer):
    await fails(a2a.InvalidParamsError, peer.unary.list_tasks(pb.ListTasksRequest(page_token='made up')))


async def version(peer):
    transport = (await peer.believing())._transport
    if peer.binding == 'GRPC':
        # It would send its own version beside this one. For an agent with a tenant it is wrapped.
        getattr(transport, '_base', transport)._get_grpc_metadata = lambda _: [('a2a-version', '9.9')]
    context = ClientCallContext(service_parameters={'A2A-Version': '9.9'})
    await fails(a2a.VersionNotSupportedError, transport.get_task(pb.GetTaskRequest(id=NOBODY), context=context))


async def push(peer):
    client = await peer.believing(push_notifications=True)
    ids = {'task_id': await finished(client), 'id': 'x'}
    config = pb.TaskPushNotificationConfig(**ids, url='http://127.0.0.1:9/')
    error = a2a.PushNotificationNotSupportedError
    await fails(error, client.create_task_push_notification_config(config))
    get = pb.GetTaskPushNotificationConfigRequest(**ids)
    await fails(error, client.get_task_push_notification_config(get))
    every = pb.ListTaskPushNotificationConfigsRequest(task_id=ids['task_id'])
    await fails(error, client.list_task_push_notification_configs(every))
    delete = pb.DeleteTaskPushNotificationConfigRequest(**ids)
    await fails(error, client.delete_task_push_notification_config(delete))


async def push_inline(peer):
    configuration = {'taskPushNotificationConfig': {'url': 'http://127.0.0.1:9/'}}
    error = a2a.PushNotificationNotSupportedError
    await fails(error, one(peer.plain.send_message(send('work', configuration))))


async def push_missing(peer):
    request = pb.GetTaskPushNotificationConfigRequest(task_id=await finished(peer.unary), id='none')
    await fails(a2a.TaskNotFoundError, peer.unary.get_task_push_notification_config(request))


async def extended_card(peer):
    # With the published card the client would not even ask.
    client = await peer.believing(extended_agent_card=True)
    request = pb.GetExtendedAgentCardRequest()
    await fails(a2a.UnsupportedOperationError, client.get_extended_agent_card(request))


CASES = {
    'error-get': get,
    'error-cancel-missing': cancel_missing,
    'error-subscribe-missing': subscribe_missing,
    'error-send-missing': send_missing,
    'error-foreign': foreign,
    'error-cancel-finished': cancel_finished,
    'error-subscribe-finished': subscribe_finished,
    'error-send-finished': send_finished,
    'error-content-type': content_type,
    'error-content-type-agent': content_type_agent,
    'error-content-type-stream': content_type_stream,
    'error-unauthenticated': unauthenticated,
    'error-params': params,
    'error-page-token': page_token,
    'error-version': version,
    'error-push': push,
    'error-push-inline': push_inline,
    'error-push-missing': push_missing,
    'error-extended-card': extended_card,
}
