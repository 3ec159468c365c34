"""FastA2A as an agent of version 0.3 or 1.0, by its release: it answers a send before the task has ended.

Prints one line of JSON that says where its card is, and ends with its standard input.
"""

import asyncio
import json
import logging
import socket
import sys
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage
from fasta2a.worker import Worker


class Script(Worker):
    """Gives back what it was sent as an artifact; with `ask` it asks first, and with `fail` it fails."""

    async def cancel_task(self, params):
        await self.storage.update_task(params['id'], state='canceled')

    async def run_task(self, params):
        task_id, parts = params['id'], params['message']['parts']
        words = [part['text'] for part in parts if 'text' in part]
        task = await self.storage.load_task(task_id)
        asked = task['status']['state'] == 'input-required'
        await self.storage.update_task(task_id, state='working')
        if words == ['fail']:
            raise RuntimeError('as it was told')
        if words == ['ask'] and not asked:
            await self.storage.update_task(task_id, state='input-required')
            return
        artifact = {'artifact_id': str(uuid.uuid4()), 'name': 'Result', 'parts': parts}
        await self.storage.update_task(task_id, state='completed', new_artifacts=[artifact])

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return result


def build(base):
    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = Script(broker=broker, storage=storage)

    @asynccontextmanager
    async def lifespan(app):
        async with app.task_manager, worker.run():
            yield

    return FastA2A(
        storage=storage,
        broker=broker,
        name='Python',
        description='Gives back what it was sent',
        version='1.2.3',
        url=base,
        lifespan=lifespan,
    )


async def main():
    web = socket.create_server(('127.0.0.1', 0))
    base = f'http://127.0.0.1:{web.getsockname()[1]}'
    server = uvicorn.Server(uvicorn.Config(build(base), log_config=None))
    serving = asyncio.create_task(server.serve([web]))
    print(json.dumps({'card': base}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = server.force_exit = True
    await serving


# A task that fails is also logged by the framework.
logging.disable(logging.CRITICAL)
asyncio.run(main())
