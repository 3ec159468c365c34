"""The official Python SDK as an agent on every binding it has.

Prints one line of JSON that says where its card is, and ends with its standard input. With `--token` and `--key` it
demands one of them.
"""

import argparse
import asyncio
import json
import logging
import socket
import sys

import grpc
import httpx
import uvicorn
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from a2a.types import a2a_pb2 as pb
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
from google.protobuf import json_format
from starlette.applications import Starlette

from guard import SECURITY, OverGrpc, OverHttp
from script import Script


def card_of(base, rpc_port, security):
    def at(binding, url):
        return {'protocolBinding': binding, 'url': url, 'protocolVersion': '1.0'}

    return json_format.ParseDict(
        {
            'name': 'Python',
            'description': 'Plays the script that the first text names',
            'version': '1.2.3',
            'supportedInterfaces': [
                at('JSONRPC', f'{base}/rpc'),
                at('HTTP+JSON', f'{base}/rest'),
                at('GRPC', f'127.0.0.1:{rpc_port}'),
            ],
            'capabilities': {'streaming': True, 'pushNotifications': True},
            'defaultInputModes': ['text/plain'],
            'defaultOutputModes': ['text/plain'],
            'skills': [{'id': 'script', 'name': 'Script', 'description': 'Plays a script', 'tags': ['test']}],
            **security,
        },
        pb.AgentCard(),
    )


async def main():
    parser = argparse.ArgumentParser()
    for option in ('--token', '--key'):
        parser.add_argument(option)
    wanted = vars(parser.parse_args())
    guarded = wanted['token'] is not None
    web = socket.create_server(('127.0.0.1', 0))
    base = f'http://127.0.0.1:{web.getsockname()[1]}'
    rpc = grpc.aio.server(interceptors=[OverGrpc(**wanted)] if guarded else [])
    card = card_of(base, rpc.add_insecure_port('127.0.0.1:0'), SECURITY if guarded else {})
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Script(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    await rpc.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, '/rpc'),
        *create_rest_routes(handler, path_prefix='/rest'),
    ]
    app = Starlette(routes=routes)
    app = OverHttp(app, **wanted) if guarded else app
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan='off'))
    serving = asyncio.create_task(server.serve([web]))
    print(json.dumps({'card': base}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = server.force_exit = True
    await serving
    await rpc.stop(None)


# Clients provoke errors, which the SDK also logs.
logging.disable(logging.CRITICAL)
asyncio.run(main())
