import asyncio
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from peer import dump, equal, read, state, text_of, user, waiting


async def push_config(peer):
    task = await waiting(peer)
    config = {
        'id': task['id'],
        'url': 'http://127.0.0.1:9/hook',
        'token': 't0ken',
        'authentication': {'schemes': ['Bearer'], 'credentials': 'very-secret'},
    }
    made = await peer.set_push({'taskId': task['id'], 'pushNotificationConfig': config})
    shown = made['pushNotificationConfig']
    equal((made['taskId'], shown['id'], shown['url']), (task['id'], task['id'], config['url']))
    equal(shown['authentication']['schemes'], ['Bearer'])
    assert shown['authentication'].get('credentials') != 'very-secret'
    got = (await peer.get_push(task['id'], task['id']))['pushNotificationConfig']
    equal((got['id'], got['url']), (task['id'], config['url']))
    await peer.cancel(task['id'])


async def push_config_unnamed(peer):
    task = await waiting(peer)
    config = {'url': 'http://127.0.0.1:9/hook'}
    made = await peer.set_push({'taskId': task['id'], 'pushNotificationConfig': config})
    name = made['pushNotificationConfig']['id']
    assert name
    equal((await peer.get_push(task['id'], name))['pushNotificationConfig']['url'], config['url'])
    await peer.cancel(task['id'])


async def push_delivery(peer):
    with receiver() as hook:
        task = await waiting(peer)
        authentication = {'schemes': ['Bearer'], 'credentials': 'cr3d'}
        config = {'url': hook.url, 'token': 't0ken', 'authentication': authentication}
        await peer.set_push({'taskId': task['id'], 'pushNotificationConfig': config})
        await peer.send(user('go', taskId=task['id'], contextId=task['contextId']))
        await hook.until_ended()
    assert all(headers['X-A2A-Notification-Token'] == 't0ken' for headers, _ in hook.calls)
    assert all(headers['Authorization'] == 'Bearer cr3d' for headers, _ in hook.calls)
    last = hook.calls[-1][1]
    equal((last['id'], last['contextId'], state(last)), (task['id'], task['contextId'], 'completed'))
    equal([text_of(each) for each in last['artifacts']], ['heard go'])


async def push_inline(peer):
    with receiver() as hook:
        task = await peer.send(user('work'), blocking=True, pushNotificationConfig={'url': hook.url, 'token': 'inline'})
        equal(state(task), 'completed')
        await hook.until_ended()
    assert all(headers['X-A2A-Notification-Token'] == 'inline' for headers, _ in hook.calls)
    equal(hook.calls[-1][1]['id'], task['id'])


class Hook:
    """A webhook that reads a bare task, as receivers of these releases do, and keeps what it is sent until one is completed."""

    def __init__(self):
        self.calls = []
        self.wrong = []
        self.ended = threading.Event()
        self.url = ''

    async def until_ended(self):
        ended = await asyncio.to_thread(self.ended.wait, 8)
        equal(self.wrong, [])
        assert ended, f'not called to the end: {self.calls}'


@contextmanager
def receiver():
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            try:
                equal(self.headers['Content-Type'].partition(';')[0], 'application/json')
                equal(json.loads(body)['kind'], 'task')
                task = dump(read('Task', json.loads(body)))
            except Exception as error:  # noqa: BLE001: told to the case, which runs in another thread
                hook.wrong.append(f'{error!r}: {body!r}')
                hook.ended.set()
            else:
                hook.calls.append((self.headers, task))
                if state(task) == 'completed':
                    hook.ended.set()
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    hook.url = f'http://127.0.0.1:{server.server_port}/hook'
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()


CASES = {
    'push-config': push_config,
    'push-config-unnamed': push_config_unnamed,
    'push-delivery': push_delivery,
    'push-inline': push_inline,
}
