import asyncio
import uuid

from a2a.client import ClientCallContext
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from peer import collect, equal, one, part, send, state, text_of


async def card(peer):
    card = await peer.card()
    equal((card.name, card.version, card.provider.organization), ('Interop', '1.2.3', 'Trivium'))
    equal((card.capabilities.streaming, card.capabilities.push_notifications), (True, True))
    equal(list(card.skills[0].examples), ['work'])
    interfaces = [(each.protocol_binding, each.protocol_version) for each in card.supported_interfaces]
    assert (peer.binding, '1.0') in interfaces, interfaces


async def extended_card(peer):
    card = await peer.unary.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
    equal([skill.id for skill in card.skills], ['words', 'inner'])


async def message(peer):
    answer = await one(peer.unary.send_message(send('pong ü 漢 🙂')))
    equal(text_of(answer), 'pong pong ü 漢 🙂')
    equal(answer.role, pb.ROLE_AGENT)
    assert answer.context_id != ''
    equal(answer.task_id, '')


async def echo(peer):
    parts = [
        part(text='echo'),
        part(data={'list': [1, 2.5, None, True, 'x'], 'nested': {'empty': {}}}, mediaType='application/json'),
        pb.Part(raw=bytes([0, 127, 128, 255]), filename='f.bin', media_type='application/octet-stream'),
        part(url='https://files.example/a.txt', mediaType='text/plain', metadata={'size': 3}),
    ]
    metadata = {'a': [1, {'b': None}], 'c': 'd'}
    answer = await one(peer.unary.send_message(send(parts, metadata=metadata)))
    equal(list(answer.parts), parts)
    equal(json_format.MessageToDict(answer.metadata), metadata)


async def stream_message(peer):
    events = await collect(peer.streaming.send_message(send('pong')))
    equal([(event.WhichOneof('payload'), text_of(event.message)) for event in events], [('message', 'pong pong')])


async def parallel(peer):
    words = [f'pong {index}' for index in range(50)]
    answers = await asyncio.gather(*(one(peer.unary.send_message(send(word))) for word in words))
    equal([text_of(answer) for answer in answers], [f'pong {word}' for word in words])


async def large(peer):
    long = '0123456789abcdeé' * 65_536
    answer = await one(peer.unary.send_message(send([part(text='echo'), part(text=long)])))
    assert text_of(answer) == f'echo{long}'


async def context(peer):
    context_id = str(uuid.uuid4())
    first = await one(peer.unary.send_message(send('work', contextId=context_id)))
    second = await one(peer.unary.send_message(send('work', contextId=context_id, referenceTaskIds=[first.id])))
    equal((first.context_id, second.context_id, state(second)), (context_id, context_id, 'COMPLETED'))
    assert first.id != second.id


async def extensions(peer):
    update = with_a2a_extensions(['urn:trivium:interop', 'urn:nobody:knows'])
    call = ClientCallContext(service_parameters=ServiceParametersFactory.create([update]))
    answer = await one(peer.unary.send_message(send('extensions'), context=call))
    equal(text_of(answer), 'urn:trivium:interop')


CASES = {
    'card': card,
    'extended-card': extended_card,
    'message': message,
    'echo': echo,
    'stream-message': stream_message,
    'parallel': parallel,
    'large': large,
    'context': context,
    'extensions': extensions,
}
