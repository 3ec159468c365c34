import grpc
import httpx
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore
from starlette.applications import Starlette
from starlette.routing import Mount

from script import Script


async def build(base, card_of, inner, interceptors):
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Script(),
        task_store=InMemoryTaskStore(),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    rpc = grpc.aio.server(interceptors=interceptors)
    port = rpc.add_insecure_port('127.0.0.1:0')
    interfaces = {
        'preferredTransport': 'JSONRPC',
        'additionalInterfaces': [
            {'transport': 'HTTP+JSON', 'url': f'{base}/rest'},
            {'transport': 'GRPC', 'url': f'http://127.0.0.1:{port}'},
        ],
    }
    card, extended = card_of(interfaces), card_of(interfaces, inner)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), rpc)
    await rpc.start()
    json_rpc = A2AStarletteApplication(agent_card=card, http_handler=handler, extended_agent_card=extended)
    rest = A2ARESTFastAPIApplication(agent_card=card, http_handler=handler, extended_agent_card=extended)
    app = Starlette(routes=[*json_rpc.routes(rpc_url='/rpc'), Mount('/', rest.build(rpc_url='/rest'))])
    return app, lambda: rpc.stop(None)
