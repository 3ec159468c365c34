import asyncio
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from a2a.types import a2a_pb2 as pb
from google.protobuf import json_format

from peer import equal, one, send, state, text_of, waiting


async def push_config(peer):
    task = await waiting(peer)
    url = 'http://127.0.0.1:9/hook'
    secret = pb.AuthenticationInfo(scheme='Bearer', credentials='very-secret')
    wanted = pb.TaskPushNotificationConfig(task_id=task.id, id='mine', url=url, token='t0ken', authentication=secret)
    made = await peer.unary.create_task_push_notification_config(wanted)
    equal((made.id, made.task_id, made.url), ('mine', task.id, url))
    assert made.authentication.credentials != 'very-secret'
    other = pb.TaskPushNotificationConfig(task_id=task.id, url='http://127.0.0.1:9/other')
    named = await peer.unary.create_task_push_notification_config(other)
    assert named.id != ''
    query = pb.GetTaskPushNotificationConfigRequest(task_id=task.id, id='mine')
    equal((await peer.unary.get_task_push_notification_config(query)).url, url)

    async def ids():
        request = pb.ListTaskPushNotificationConfigsRequest(task_id=task.id)
        return {each.id for each in (await peer.unary.list_task_push_notification_configs(request)).configs}

    equal(await ids(), {'mine', named.id})
    gone = pb.DeleteTaskPushNotificationConfigRequest(task_id=task.id, id='mine')
    await peer.unary.delete_task_push_notification_config(gone)
    equal(await ids(), {named.id})
    await peer.unary.cancel_task(pb.CancelTaskRequest(id=task.id))


async def push_delivery(peer):
    with receiver() as hook:
        task = await waiting(peer)
        secret = pb.AuthenticationInfo(scheme='Bearer', credentials='cr3d')
        config = pb.TaskPushNotificationConfig(task_id=task.id, url=hook.url, token='t0ken', authentication=secret)
        await peer.unary.create_task_push_notification_config(config)
        await one(peer.unary.send_message(send('go', taskId=task.id)))
        await hook.until_ended()
    assert all(headers['X-A2A-Notification-Token'] == 't0ken' for headers, _ in hook.calls)
    assert all(headers['Authorization'] == 'Bearer cr3d' for headers, _ in hook.calls)
    artifacts = [event.artifact_update for _, event in hook.calls if event.HasField('artifact_update')]
    equal([text_of(each.artifact) for each in artifacts], ['heard go'])
    equal(state(hook.calls[-1][1].status_update), 'COMPLETED')


async def push_inline(peer):
    with receiver() as hook:
        configuration = {'taskPushNotificationConfig': {'url': hook.url, 'token': 'inline'}}
        task = await one(peer.unary.send_message(send('work', configuration)))
        equal(state(task), 'COMPLETED')
        await hook.until_ended()
    assert all(headers['X-A2A-Notification-Token'] == 'inline' for headers, _ in hook.calls)
    equal(hook.calls[-1][1].status_update.task_id, task.id)


class Hook:
    """A webhook that keeps what it is sent, until the status update COMPLETED."""

    def __init__(self):
        self.calls = []
        self.ended = threading.Event()
        self.url = ''

    async def until_ended(self):
        assert await asyncio.to_thread(self.ended.wait, 10), f'not called to the end: {self.calls}'


@contextmanager
def receiver():
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers['Content-Length']))
            event = json_format.Parse(body, pb.StreamResponse())
            hook.calls.append((self.headers, event))
            self.send_response(204)
            self.end_headers()
            if event.HasField('status_update') and state(event.status_update) == 'COMPLETED':
                hook.ended.set()

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


CASES = {'push-config': push_config, 'push-delivery': push_delivery, 'push-inline': push_inline}
