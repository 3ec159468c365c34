"""Serves a worker of FastA2A. Prints one line of JSON that says where its card is, and ends with its standard input."""

import asyncio
import json
import logging
import socket
import sys
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage


def serve(worker_class, **card):
    # What its clients provoke is also logged by the framework.
    logging.disable(logging.CRITICAL)
    asyncio.run(run(worker_class, card))


async def run(worker_class, card):
    web = socket.create_server(('127.0.0.1', 0))
    base = f'http://127.0.0.1:{web.getsockname()[1]}'
    server = uvicorn.Server(uvicorn.Config(build(worker_class, base, card), log_config=None))
    serving = asyncio.create_task(server.serve([web]))
    print(json.dumps({'card': base}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = server.force_exit = True
    await serving


def build(worker_class, base, card):
    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = worker_class(broker=broker, storage=storage)

    @asynccontextmanager
    async def lifespan(app):
        async with app.task_manager, worker.run():
            yield

    return FastA2A(
        storage=storage, broker=broker, name='Python', version='1.2.3', url=base, lifespan=lifespan, **card
    )
