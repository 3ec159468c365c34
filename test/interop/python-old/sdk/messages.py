import asyncio
import base64
import uuid

from peer import collect, dump, equal, state, text, text_of, user

BYTES = base64.b64encode(bytes([0, 127, 128, 255])).decode()


async def card(peer):
    card = dump(peer.card)
    equal((card['name'], card['version'], card['provider']['organization']), ('Interop', '1.2.3', 'Trivium'))
    equal((card['capabilities']['streaming'], card['capabilities']['pushNotifications']), (True, True))
    equal(card['skills'][0]['examples'], ['work'])
    assert peer.binding == 'GRPC' or peer.picked().startswith(peer.url), peer.picked()


async def extended_card(peer):
    equal([skill['id'] for skill in (await peer.extended_card())['skills']], ['words', 'inner'])


async def message(peer):
    answer = await peer.send(user('pong ü 漢 🙂'))
    equal((answer['kind'], answer['role'], text_of(answer)), ('message', 'agent', 'pong pong ü 漢 🙂'))
    assert answer.get('contextId') and not answer.get('taskId')


async def echo(peer):
    metadata = {'a': [1, {'b': None}], 'c': 'd'}
    data = {'kind': 'data', 'data': {'list': [1, 2.5, None, True, 'x'], 'nested': {'empty': {}}}}
    answer = await peer.send(user([text('echo'), data], metadata=metadata))
    equal(answer['parts'], [text('echo'), data])
    equal(answer['metadata'], metadata)


async def part_metadata(peer):
    parts = [{**text('echo'), 'metadata': {'size': 3}}, {'kind': 'data', 'data': {'a': 1}, 'metadata': {'b': 'c'}}]
    equal((await peer.send(user(parts)))['parts'], parts)


async def file_bytes(peer):
    file = {'bytes': BYTES, 'mimeType': 'application/octet-stream', 'name': 'f.bin'}
    equal(await echoed(peer, file), file)


async def file_uri(peer):
    file = {'uri': 'https://files.example/a.txt', 'mimeType': 'text/plain', 'name': 'a.txt'}
    equal(await echoed(peer, file), file)


async def echoed(peer, file):
    answer = await peer.send(user([text('echo'), {'kind': 'file', 'file': file}]))
    first, second = answer['parts']
    equal((first, second['kind']), (text('echo'), 'file'))
    return second['file']


async def stream_message(peer):
    events = await collect(peer.stream(user('pong')))
    equal([(event['kind'], text_of(event)) for event in events], [('message', 'pong pong')])


async def parallel(peer):
    words = [f'pong {index}' for index in range(50)]
    answers = await asyncio.gather(*(peer.send(user(word)) for word in words))
    equal([text_of(answer) for answer in answers], [f'pong {word}' for word in words])


async def large(peer):
    long = '0123456789abcdeé' * 65_536
    answer = await peer.send(user([text('echo'), text(long)]))
    assert text_of(answer) == f'echo{long}'


async def context(peer):
    context_id = str(uuid.uuid4())
    first = await peer.send(user('work', contextId=context_id))
    second = await peer.send(user('work', contextId=context_id, referenceTaskIds=[first['id']]))
    equal((first['contextId'], second['contextId'], state(second)), (context_id, context_id, 'completed'))
    assert first['id'] != second['id']


async def extensions(peer):
    answer = await peer.send(user('extensions'), extensions=['urn:trivium:interop', 'urn:nobody:knows'])
    equal(text_of(answer), 'urn:trivium:interop')


CASES = {
    'card': card,
    'extended-card': extended_card,
    'message': message,
    'echo': echo,
    'part-metadata': part_metadata,
    'file-bytes': file_bytes,
    'file-uri': file_uri,
    'stream-message': stream_message,
    'parallel': parallel,
    'large': large,
    'context': context,
    'extensions': extensions,
}
