import httpx
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore, InMemoryTaskStore

from script import Script


async def build(_, card_of, inner):
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Script(),
        task_store=InMemoryTaskStore(),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    application = A2AStarletteApplication(
        agent_card=card_of({}), http_handler=handler, extended_agent_card=card_of({}, inner)
    )
    return application.build(rpc_url='/rpc'), closed


async def closed():
    pass
