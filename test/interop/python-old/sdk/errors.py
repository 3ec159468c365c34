from peer import collect, fails, state, text, user, waiting

NOBODY = '00000000-0000-7000-8000-000000000000'

PICTURE = {'kind': 'file', 'file': {'bytes': 'cG5n', 'mimeType': 'image/png'}}


async def finished(peer):
    return (await peer.send(user('work')))['id']


async def get(peer):
    await fails(peer, 'TaskNotFound', peer.get(NOBODY))


async def cancel_missing(peer):
    await fails(peer, 'TaskNotFound', peer.cancel(NOBODY))


async def resubscribe_missing(peer):
    # It looks at no status here, and calls whatever is no stream a bad request.
    await fails(peer, 'TaskNotFound', collect(peer.resubscribe(NOBODY)), {'HTTP+JSON': 400})


async def send_missing(peer):
    await fails(peer, 'TaskNotFound', peer.send(user('pong', taskId=NOBODY)))


async def stream_missing(peer):
    await fails(peer, 'TaskNotFound', collect(peer.stream(user('pong', taskId=NOBODY))))


async def foreign(peer):
    anna, bert = await peer.of('anna'), await peer.of('bert')
    task = await waiting(anna)
    await fails(peer, 'TaskNotFound', bert.get(task['id']))
    await fails(peer, 'TaskNotFound', bert.cancel(task['id']))
    assert state(await anna.cancel(task['id'])) == 'canceled'
    await anna.close()
    await bert.close()


async def cancel_finished(peer):
    await fails(peer, 'TaskNotCancelable', peer.cancel(await finished(peer)))


async def send_finished(peer):
    await fails(peer, 'UnsupportedOperation', peer.send(user('more', taskId=await finished(peer))))


async def content_type(peer):
    await fails(peer, 'ContentTypeNotSupported', peer.send(user([text('echo'), PICTURE])))


async def content_type_agent(peer):
    await fails(peer, 'ContentTypeNotSupported', peer.send(user('picky')))


async def content_type_stream(peer):
    await fails(peer, 'ContentTypeNotSupported', collect(peer.stream(user('picky'))))


async def unauthenticated(peer):
    # The card is open to everyone.
    stranger = await peer.of('stranger')
    await fails(peer, 'Unauthenticated', stranger.send(user('pong')))
    await fails(peer, 'Unauthenticated', stranger.get(NOBODY))
    await stranger.close()


async def params(peer):
    await fails(peer, 'InvalidParams', peer.send(user([])))


async def push(peer):
    task_id = await finished(peer.plain)
    config = {'taskId': task_id, 'pushNotificationConfig': {'id': task_id, 'url': 'http://127.0.0.1:9/'}}
    await fails(peer, 'PushNotificationNotSupported', peer.plain.set_push(config))
    await fails(peer, 'PushNotificationNotSupported', peer.plain.get_push(task_id, task_id))


async def push_inline(peer):
    config = {'url': 'http://127.0.0.1:9/'}
    await fails(peer, 'PushNotificationNotSupported', peer.plain.send(user('work'), pushNotificationConfig=config))


async def push_missing(peer):
    await fails(peer, 'TaskNotFound', peer.get_push(await finished(peer), 'none'))


async def extended_card(peer):
    # Release 0.2 asks with a GET.
    told = {'JSONRPC': 404} if peer.gets_extended_card else {}
    await fails(peer, 'AuthenticatedExtendedCardNotConfigured', peer.plain.extended_card(believing=True), told)


CASES = {
    'error-get': get,
    'error-cancel-missing': cancel_missing,
    'error-resubscribe-missing': resubscribe_missing,
    'error-send-missing': send_missing,
    'error-stream-missing': stream_missing,
    'error-foreign': foreign,
    'error-cancel-finished': cancel_finished,
    'error-send-finished': send_finished,
    'error-content-type': content_type,
    'error-content-type-agent': content_type_agent,
    'error-content-type-stream': content_type_stream,
    'error-unauthenticated': unauthenticated,
    'error-params': params,
    'error-push': push,
    'error-push-inline': push_inline,
    'error-push-missing': push_missing,
    'error-extended-card': extended_card,
}
