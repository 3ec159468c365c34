from contextlib import asynccontextmanager

from peer import Refused, collect, equal, open_peer, text_of, user

NOBODY = '00000000-0000-7000-8000-000000000000'


@asynccontextmanager
async def guarded(peer, headers):
    """The agent that demands credentials, for a caller with these headers."""
    caller = await open_peer(peer.secrets.guarded, peer.binding, headers=headers)
    try:
        yield caller
    finally:
        await caller.close()


async def works(peer, headers):
    async with guarded(peer, headers) as caller:
        equal(text_of(await caller.send(user('pong'))), 'pong pong')
        events = await collect(caller.stream(user('work')))
        task = next(event for event in events if event['kind'] == 'task')
        equal((await caller.get(task['id']))['id'], task['id'])


async def is_refused(peer, headers):
    async with guarded(peer, headers) as caller:
        for call, status in (
            (caller.send(user('pong')), 401),
            (collect(caller.stream(user('pong'))), caller.status_of_refused_streams),
            (caller.get(NOBODY), 401),
        ):
            try:
                await call
            except Refused as error:
                over_grpc = peer.binding == 'GRPC'
                equal(error.told[0] if over_grpc else error.told, 'UNAUTHENTICATED' if over_grpc else status)
            else:
                raise AssertionError('no error was raised')


def bearer(token):
    return {'Authorization': f'Bearer {token}'}


async def token(peer):
    await works(peer, bearer(peer.secrets.token))


async def key(peer):
    await works(peer, {'X-Api-Key': peer.secrets.key})


async def none(peer):
    await is_refused(peer, {})


async def expired(peer):
    await is_refused(peer, bearer(peer.secrets.expired))


async def unknown_key(peer):
    await is_refused(peer, {'X-Api-Key': 'an-old-key'})


CASES = {
    'credentials-token': token,
    'credentials-key': key,
    'error-credentials-none': none,
    'error-credentials-expired': expired,
    'error-credentials-key': unknown_key,
}
