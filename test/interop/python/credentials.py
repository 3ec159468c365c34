from a2a.client import (
    A2AClientError,
    AuthInterceptor,
    ClientCallContext,
    InMemoryContextCredentialStore,
)
from a2a.types import a2a_pb2 as pb

from peer import collect, equal, one, send, text_of

NOBODY = '00000000-0000-7000-8000-000000000000'


async def clients(peer, **credentials):
    """A client that does not stream and one that does, with the SDK's store of credentials by scheme."""
    store = InMemoryContextCredentialStore()
    for scheme, credential in credentials.items():
        await store.set_credentials('session', scheme, credential)
    card = await peer.card(peer.guarded_url)
    with_store = [AuthInterceptor(store)]
    return [peer.client(card, streaming, with_store) for streaming in (False, True)]


def session():
    return ClientCallContext(state={'sessionId': 'session'})


async def works(peer, **credentials):
    unary, streaming = await clients(peer, **credentials)
    equal(text_of(await one(unary.send_message(send('pong'), context=session()))), 'pong pong')
    events = await collect(streaming.send_message(send('work'), context=session()))
    task = next(event.task for event in events if event.HasField('task'))
    equal((await unary.get_task(pb.GetTaskRequest(id=task.id), context=session())).id, task.id)


async def is_refused(peer, **credentials):
    unary, streaming = await clients(peer, **credentials)
    for call in (
        collect(unary.send_message(send('pong'), context=session())),
        collect(streaming.send_message(send('pong'), context=session())),
        unary.get_task(pb.GetTaskRequest(id=NOBODY), context=session()),
    ):
        try:
            await call
        except A2AClientError as error:
            assert 'UNAUTHENTICATED' in str(error) or 'HTTP Error 401' in str(error), error
        else:
            raise AssertionError('no error was raised')


async def token(peer):
    await works(peer, token=peer.secrets.token)


async def key(peer):
    await works(peer, key=peer.secrets.key)


async def none(peer):
    await is_refused(peer)


async def expired(peer):
    await is_refused(peer, token=peer.secrets.expired)


CASES = {
    'credentials-token': token,
    'credentials-key': key,
    'error-credentials-none': none,
    'error-credentials-expired': expired,
}
