import uuid
from contextlib import aclosing

import httpx
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from peer import OPEN, collect, equal, one, owner, send, state, text_of, waiting


async def task(peer):
    task = await one(peer.unary.send_message(send('work')))
    equal((state(task), text_of(task.status.message)), ('COMPLETED', 'done'))
    assert task.status.timestamp.ToMilliseconds() > 0
    report, extra = task.artifacts
    equal((report.artifact_id, report.name, text_of(report)), ('report', 'Report', 'one two'))
    numbers, data = extra.parts
    equal(json_format.MessageToDict(numbers.data), {'count': 3, 'ratio': 0.5, 'nested': {'list': [1, None, 'x']}})
    equal((data.raw, data.filename, data.media_type), (bytes([0, 1, 254, 255]), 'raw.bin', 'application/octet-stream'))


async def return_immediately(peer):
    task = await waiting(peer)
    ended = await one(peer.unary.send_message(send('go', taskId=task.id)))
    equal((state(ended), text_of(ended.artifacts[0])), ('COMPLETED', 'heard go'))
    equal(state(await peer.unary.get_task(pb.GetTaskRequest(id=task.id))), 'COMPLETED')


async def stream_task(peer):
    first, *updates = await collect(peer.streaming.send_message(send('work')))
    equal(first.WhichOneof('payload'), 'task')
    chunks = [event.artifact_update for event in updates if event.HasField('artifact_update')]
    equal(
        [(each.artifact.artifact_id, each.append, each.last_chunk) for each in chunks],
        [('report', False, False), ('report', True, True), ('extra', False, False)],
    )
    equal(chunks[0].artifact.name, 'Report')
    assert all(each.task_id == first.task.id for each in chunks)
    states = [state(event.status_update) for event in updates if event.HasField('status_update')]
    equal(states, ['WORKING', 'COMPLETED'])
    assert updates[-1].HasField('status_update')


async def stream_chunks(peer):
    events = await collect(peer.streaming.send_message(send('count')))
    equal(''.join(text_of(event.artifact_update.artifact) for event in events), ''.join(f'{n},' for n in range(500)))


async def stream_silence(peer):
    events = await collect(peer.streaming.send_message(send('hush')))
    equal(state(events[-1].status_update), 'COMPLETED')


async def get(peer):
    made = await one(peer.unary.send_message(send('work')))
    whole = await peer.unary.get_task(pb.GetTaskRequest(id=made.id))
    equal([text_of(each) for each in whole.history], ['work', 'on it'])
    equal(len(whole.artifacts), 2)
    last = await peer.unary.get_task(pb.GetTaskRequest(id=made.id, history_length=1))
    equal([text_of(each) for each in last.history], ['on it'])
    none = await peer.unary.get_task(pb.GetTaskRequest(id=made.id, history_length=0))
    equal(len(none.history), 0)


async def list_tasks(peer):
    context_id = str(uuid.uuid4())
    made = []
    for word in ('work', 'refuse', 'work'):
        made.insert(0, (await one(peer.unary.send_message(send(word, contextId=context_id)))).id)

    async def page(**query):
        return await peer.unary.list_tasks(pb.ListTasksRequest(context_id=context_id, **query))

    first = await page(page_size=2)
    equal((len(first.tasks), first.total_size, first.page_size), (2, 3, 2))
    rest = await page(page_size=2, page_token=first.next_page_token)
    equal(rest.next_page_token, '')
    equal([each.id for each in [*first.tasks, *rest.tasks]], made)
    assert all(not each.artifacts for each in first.tasks)
    equal([each.id for each in (await page(status=pb.TASK_STATE_REJECTED)).tasks], [made[1]])
    whole = await page(include_artifacts=True, history_length=5)
    equal([len(each.artifacts) for each in whole.tasks], [2, 0, 2])
    later = pb.ListTasksRequest(context_id=context_id)
    later.status_timestamp_after.FromJsonString('2999-01-01T00:00:00Z')
    equal(len((await peer.unary.list_tasks(later)).tasks), 0)


async def list_owner(peer):
    context_id = str(uuid.uuid4())
    await one(peer.unary.send_message(send('work', contextId=context_id), context=owner('anna')))
    query = pb.ListTasksRequest(context_id=context_id)
    equal(len((await peer.unary.list_tasks(query, context=owner('anna'))).tasks), 1)
    equal(len((await peer.unary.list_tasks(query, context=owner('bert'))).tasks), 0)


async def cancel(peer):
    task = await waiting(peer)
    equal(state(await peer.unary.cancel_task(pb.CancelTaskRequest(id=task.id))), 'CANCELED')
    equal(state(await peer.unary.get_task(pb.GetTaskRequest(id=task.id))), 'CANCELED')


async def cancel_stream(peer):
    states = []
    async for event in peer.streaming.send_message(send('wait')):
        update = event.task if event.HasField('task') else event.status_update
        states.append(state(update))
        if states[-1] == 'WORKING':
            await peer.unary.cancel_task(pb.CancelTaskRequest(id=update.task_id))
    equal(states, ['SUBMITTED', 'WORKING', 'CANCELED'])


async def subscribe(peer):
    task = await waiting(peer)
    events = []
    async for event in peer.streaming.subscribe(pb.SubscribeToTaskRequest(id=task.id)):
        if not events:
            assert event.task.status.state in OPEN
            await one(peer.unary.send_message(send('go on', {'returnImmediately': True}, taskId=task.id)))
        events.append(event)
    kinds = [event.WhichOneof('payload') for event in events]
    assert kinds[0] == 'task' and 'task' not in kinds[1:], kinds
    text = ''.join(text_of(event.artifact_update.artifact) for event in events)
    equal((text, state(events[-1].status_update)), ('heard go on', 'COMPLETED'))


async def leave(peer):
    task_id = ''
    async with aclosing(peer.streaming.send_message(send('wait'))) as events:
        async for event in events:
            task_id = event.task.id or event.status_update.task_id
            if state(event.status_update) == 'WORKING':
                break
    equal(state(await peer.unary.get_task(pb.GetTaskRequest(id=task_id))), 'WORKING')
    equal(state(await one(peer.unary.send_message(send('go', taskId=task_id)))), 'COMPLETED')


async def input_required(peer):
    question = await one(peer.unary.send_message(send('ask')))
    equal((state(question), text_of(question.status.message)), ('INPUT_REQUIRED', 'which one?'))
    reply = send('the red one', taskId=question.id, contextId=question.context_id)
    answer = await one(peer.unary.send_message(reply))
    equal((answer.id, answer.context_id, state(answer)), (question.id, question.context_id, 'COMPLETED'))
    equal(text_of(answer.artifacts[0]), 'you said the red one')
    equal([text_of(each) for each in answer.history], ['ask', 'which one?', 'the red one'])


async def input_required_stream(peer):
    events = await collect(peer.streaming.send_message(send('ask')))
    last = events[-1].status_update
    equal(state(last), 'INPUT_REQUIRED')
    rest = await collect(peer.streaming.send_message(send('this one', taskId=last.task_id)))
    assert rest[0].HasField('task')
    equal(state(rest[-1].status_update), 'COMPLETED')


async def auth_required(peer):
    task = await one(peer.unary.send_message(send('login')))
    equal((state(task), text_of(task.status.message)), ('AUTH_REQUIRED', 'log in first'))


def page_of(status):
    """The page that the message of a status names to programs, with what is to be authorized there."""
    metadata = json_format.MessageToDict(status.message.metadata)
    request = metadata['urn:trivium:extension:authorization:v1']
    url = request.pop('url')
    assert url in text_of(status.message), text_of(status.message)
    equal(request, {'userCode': 'WDJB', 'scopes': ['calendar']})
    return url


async def authorize_message(peer):
    task = await one(peer.unary.send_message(send('authorize')))
    equal(state(task), 'AUTH_REQUIRED')
    page_of(task.status)
    ended = await one(peer.unary.send_message(send('done', taskId=task.id)))
    equal((state(ended), text_of(ended.artifacts[0])), ('COMPLETED', 'authorized by a message'))


async def authorize_page(peer):
    states, result = [], None
    async for event in peer.streaming.send_message(send('authorize')):
        if event.HasField('artifact_update'):
            result = text_of(event.artifact_update.artifact)
        if event.HasField('status_update'):
            states.append(state(event.status_update))
            if states[-1] == 'AUTH_REQUIRED':
                async with httpx.AsyncClient() as browser:
                    (await browser.get(page_of(event.status_update.status))).raise_for_status()
    equal((states, result), (['AUTH_REQUIRED', 'WORKING', 'COMPLETED'], 'authorized on the page'))


async def rejected(peer):
    task = await one(peer.unary.send_message(send('refuse')))
    equal((state(task), text_of(task.status.message)), ('REJECTED', 'not that'))


async def failed(peer):
    task = await one(peer.unary.send_message(send('crash')))
    equal(state(task), 'FAILED')
    assert 'secret' not in str(task)


CASES = {
    'task': task,
    'return-immediately': return_immediately,
    'stream-task': stream_task,
    'stream-chunks': stream_chunks,
    'stream-silence': stream_silence,
    'get': get,
    'list': list_tasks,
    'list-owner': list_owner,
    'cancel': cancel,
    'cancel-stream': cancel_stream,
    'subscribe': subscribe,
    'leave': leave,
    'input-required': input_required,
    'input-required-stream': input_required_stream,
    'auth-required': auth_required,
    'authorize-message': authorize_message,
    'authorize-page': authorize_page,
    'rejected': rejected,
    'failed': failed,
}
