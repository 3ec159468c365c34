from contextlib import aclosing

from peer import OPEN, chunks_of, collect, equal, state, text_of, user, waiting


async def task(peer):
    task = await peer.send(user('work'))
    equal((task['kind'], state(task), text_of(task['status']['message'])), ('task', 'completed', 'done'))
    report, extra = task['artifacts']
    equal((report['artifactId'], report['name'], text_of(report)), ('report', 'Report', 'one two'))
    numbers, data = extra['parts']
    equal(numbers['data'], {'count': 3, 'ratio': 0.5, 'nested': {'list': [1, None, 'x']}})
    equal((data['file']['bytes'], data['file']['mimeType']), ('AAH+/w==', 'application/octet-stream'))


async def timestamp(peer):
    status = (await peer.send(user('work')))['status']
    assert status['timestamp'].startswith('20'), status


async def non_blocking(peer):
    task = await waiting(peer)
    ended = await peer.send(user('go', taskId=task['id'], contextId=task['contextId']), blocking=True)
    equal((state(ended), text_of(ended['artifacts'][0])), ('completed', 'heard go'))
    equal(state(await peer.get(task['id'])), 'completed')


async def stream_task(peer):
    first, *updates = await collect(peer.stream(user('work')))
    equal(first['kind'], 'task')
    chunks = [event for event in updates if event['kind'] == 'artifact-update']
    equal(
        [(each['artifact']['artifactId'], each.get('append', False), each.get('lastChunk', False)) for each in chunks],
        [('report', False, False), ('report', True, True), ('extra', False, False)],
    )
    equal(chunks[0]['artifact']['name'], 'Report')
    assert all(each['taskId'] == first['id'] for each in chunks)
    states = [(state(event), event['final']) for event in updates if event['kind'] == 'status-update']
    equal(states, [('working', False), ('completed', True)])
    equal(updates[-1]['kind'], 'status-update')


async def stream_chunks(peer):
    events = await collect(peer.stream(user('count')))
    equal(chunks_of(events), ''.join(f'{n},' for n in range(500)))


async def stream_silence(peer):
    events = await collect(peer.stream(user('hush')))
    equal(state(events[-1]), 'completed')


async def get(peer):
    made = await peer.send(user('work'))
    whole = await peer.get(made['id'])
    equal([text_of(each) for each in whole['history']], ['work', 'on it'])
    equal((whole['contextId'], len(whole['artifacts'])), (made['contextId'], 2))
    last = await peer.get(made['id'], historyLength=1)
    equal([text_of(each) for each in last['history']], ['on it'])


async def get_no_history(peer):
    made = await peer.send(user('work'))
    none = await peer.get(made['id'], historyLength=0)
    equal(none.get('history', []), [])


async def cancel(peer):
    task = await waiting(peer)
    equal(state(await peer.cancel(task['id'])), 'canceled')
    equal(state(await peer.get(task['id'])), 'canceled')


async def cancel_stream(peer):
    states = []
    async for event in peer.stream(user('wait')):
        states.append((state(event), event.get('final')))
        if state(event) == 'working':
            await peer.cancel(event['taskId'])
    equal(states, [('submitted', None), ('working', False), ('canceled', True)])


async def resubscribe(peer):
    task = await waiting(peer)
    events = []
    async for event in peer.resubscribe(task['id']):
        if not events:
            equal(event['kind'], 'task')
            assert state(event) in OPEN, event
            await peer.send(user('go on', taskId=task['id'], contextId=task['contextId']), blocking=False)
        events.append(event)
    equal((chunks_of(events), state(events[-1]), events[-1]['final']), ('heard go on', 'completed', True))


async def resubscribe_finished(peer):
    task = await peer.send(user('work'))
    first, *rest = await collect(peer.resubscribe(task['id']))
    equal((first['kind'], first['id'], state(first)), ('task', task['id'], 'completed'))
    # Whoever waits for a final event is given one.
    assert all(event['kind'] == 'status-update' and event['final'] for event in rest), rest


async def leave(peer):
    task_id = ''
    async with aclosing(peer.stream(user('wait'))) as events:
        async for event in events:
            task_id = event.get('taskId') or event['id']
            if state(event) == 'working':
                break
    equal(state(await peer.get(task_id)), 'working')
    equal(state(await peer.send(user('go', taskId=task_id))), 'completed')


async def input_required(peer):
    question = await peer.send(user('ask'))
    equal((state(question), text_of(question['status']['message'])), ('input-required', 'which one?'))
    reply = user('the red one', taskId=question['id'], contextId=question['contextId'])
    answer = await peer.send(reply)
    equal(
        (answer['id'], answer['contextId'], state(answer)), (question['id'], question['contextId'], 'completed')
    )
    equal(text_of(answer['artifacts'][0]), 'you said the red one')
    equal([text_of(each) for each in answer['history']], ['ask', 'which one?', 'the red one'])


async def input_required_stream(peer):
    events = await collect(peer.stream(user('ask')))
    last = events[-1]
    # The release stops reading at a final event, so the question has to be one.
    equal((state(last), last['final']), ('input-required', True))
    rest = await collect(peer.stream(user('this one', taskId=last['taskId'], contextId=last['contextId'])))
    equal(rest[0]['kind'], 'task')
    equal((chunks_of(rest), state(rest[-1]), rest[-1]['final']), ('you said this one', 'completed', True))


async def auth_required(peer):
    task = await peer.send(user('login'))
    equal((state(task), text_of(task['status']['message'])), ('auth-required', 'log in first'))


async def rejected(peer):
    task = await peer.send(user('refuse'))
    equal((state(task), text_of(task['status']['message'])), ('rejected', 'not that'))


async def failed(peer):
    task = await peer.send(user('crash'))
    equal(state(task), 'failed')
    assert 'secret' not in str(task)


CASES = {
    'task': task,
    'timestamp': timestamp,
    'non-blocking': non_blocking,
    'stream-task': stream_task,
    'stream-chunks': stream_chunks,
    'stream-silence': stream_silence,
    'get': get,
    'get-no-history': get_no_history,
    'cancel': cancel,
    'cancel-stream': cancel_stream,
    'resubscribe': resubscribe,
    'resubscribe-finished': resubscribe_finished,
    'leave': leave,
    'input-required': input_required,
    'input-required-stream': input_required_stream,
    'auth-required': auth_required,
    'rejected': rejected,
    'failed': failed,
}
