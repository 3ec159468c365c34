"""The official Python SDK as the callers of a fleet: sends and streams to each target, one call behind another, until its
input ends, and prints one line of JSON for each call. A target is an agent's URL and the binding to call it over.
"""

import asyncio
import json
import logging
import sys
import traceback
from urllib.parse import urlsplit

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

from peer import collect, one, send, text_of


async def send_once(clients, request):
    answer = await one(clients['send'].send_message(request))
    # A reply that takes long is the message of a task.
    return text_of(answer.status.message if hasattr(answer, 'status') else answer)


async def stream_once(clients, request):
    events = await collect(clients['stream'].send_message(request))
    return ''.join(text_of(event.artifact_update.artifact) for event in events if event.HasField('artifact_update'))


CALLS = {'send': send_once, 'stream': stream_once}


async def repeat(what, clients, content, over):
    while not over.is_set():
        request = send(content)
        line = {**what, 'id': request.message.message_id}
        try:
            line['text'] = await CALLS[what['call']](clients, request)
        except Exception:  # noqa: BLE001: whatever it is, it is reported
            line['error'] = traceback.format_exc()
        print(json.dumps(line), flush=True)


async def run(target, texts, over):
    url = urlsplit(target['url'])
    # As httpx does it, the environment names the certificates that are trusted.
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, target['url']).get_agent_card()
        for each in card.supported_interfaces:
            path = urlsplit(each.url).path
            each.url = url.netloc if each.protocol_binding == 'GRPC' else f'{target["url"]}{path}'

        def client(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_protocol_bindings=[target['binding']],
                grpc_channel_factory=lambda address: grpc.aio.secure_channel(address, grpc.ssl_channel_credentials()),
            )
            return ClientFactory(config).create(card)

        clients = {'send': client(False), 'stream': client(True)}
        await asyncio.gather(
            *(repeat({'name': target['name'], 'call': call}, clients, text, over) for call, text in zip(CALLS, texts))
        )


async def main():
    _, targets, *texts = sys.argv
    over = asyncio.Event()

    async def wait():
        await asyncio.to_thread(sys.stdin.read)
        over.set()

    await asyncio.gather(wait(), *(run(target, texts, over) for target in json.loads(targets)))


# What fails is reported, and the SDK also logs it.
logging.disable(logging.CRITICAL)
asyncio.run(main())
