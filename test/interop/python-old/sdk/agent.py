"""An older release of the official Python SDK as an agent on every binding it has.

Prints one line of JSON that says where its card is, and ends with its standard input. With `--token` and `--key` it
demands one of them.
"""

import argparse
import asyncio
import json
import logging
import socket
import sys
from importlib.metadata import version
from pathlib import Path

import uvicorn
from a2a.types import AgentCard

sys.path.append(str(Path(__file__).parents[2] / 'python'))
from guard import SECURITY_BEFORE, OverGrpc, OverHttp  # noqa: E402

RELEASE = version('a2a-sdk')

SKILL = {'id': 'script', 'name': 'Script', 'description': 'Plays a script', 'tags': ['test']}
INNER = {'id': 'inner', 'name': 'Inner', 'description': 'For callers who are known', 'tags': ['test']}


def card_of(base, interfaces, skills, security):
    return AgentCard.model_validate(
        {
            'name': 'Python',
            'description': 'Plays the script that the first text names',
            'version': '1.2.3',
            'url': f'{base}/rpc',
            **interfaces,
            'capabilities': {'streaming': True, 'pushNotifications': True},
            'supportsAuthenticatedExtendedCard': True,
            'defaultInputModes': ['text/plain'],
            'defaultOutputModes': ['text/plain'],
            'skills': skills,
            **security,
        }
    )


async def main():
    # Each release has its module: what one imports the other does not have.
    if RELEASE.startswith('0.2.'):
        import serve_02 as release
    else:
        import serve_03 as release
    parser = argparse.ArgumentParser()
    for option in ('--token', '--key'):
        parser.add_argument(option)
    wanted = vars(parser.parse_args())
    guarded = wanted['token'] is not None
    security = SECURITY_BEFORE if guarded else {}
    web = socket.create_server(('127.0.0.1', 0))
    base = f'http://127.0.0.1:{web.getsockname()[1]}'
    app, stop = await release.build(
        base,
        lambda interfaces, *more: card_of(base, interfaces, [SKILL, *more], security),
        INNER,
        [OverGrpc(**wanted)] if guarded else [],
    )
    app = OverHttp(app, **wanted) if guarded else app
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan='off'))
    serving = asyncio.create_task(server.serve([web]))
    print(json.dumps({'card': base}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = server.force_exit = True
    await serving
    await stop()


# Clients provoke errors, which the SDK also logs.
logging.disable(logging.CRITICAL)
asyncio.run(main())
