import grpc
import httpx
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore

from script import Script


async def build(_, card_of, inner, interceptors):
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
        'additionalInterfaces': [{'transport': 'GRPC', 'url': f'127.0.0.1:{port}'}],
    }
    card, extended = card_of(interfaces), card_of(interfaces, inner)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), rpc)
    await rpc.start()
    application = A2AStarletteApplication(agent_card=card, http_handler=handler, extended_agent_card=extended)
    return application.build(rpc_url='/rpc'), lambda: rpc.stop(None)
