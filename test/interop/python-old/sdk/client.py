"""An older release of the official Python SDK as a client.

Runs every case against an agent and prints one line of JSON for each.
"""

import argparse
import asyncio
import json
import logging
import traceback

import credentials
import errors
import messages
import push
import tasks
from peer import open_peer

CASE_TIMEOUT_S = 10

CASES = {**messages.CASES, **tasks.CASES, **push.CASES, **credentials.CASES, **errors.CASES}


async def outcome(name, run, peer):
    try:
        await asyncio.wait_for(run(peer), CASE_TIMEOUT_S)
        return {'case': name, 'ok': True, 'detail': ''}
    except Exception:  # noqa: BLE001: whatever it is, it is the outcome
        return {'case': name, 'ok': False, 'detail': traceback.format_exc()}


async def main():
    parser = argparse.ArgumentParser()
    for option in ('--url', '--plain', '--binding', '--guarded', '--token', '--expired', '--key'):
        parser.add_argument(option, required=True)
    parser.add_argument('--only', help='one case by its name')
    options = parser.parse_args()
    plain = await open_peer(options.plain, options.binding)
    peer = await open_peer(options.url, options.binding, plain=plain)
    peer.secrets = options
    for name, run in CASES.items():
        if options.only in (None, name):
            print(json.dumps(await outcome(name, run, peer)), flush=True)
    await peer.close()
    await plain.close()


# Cases provoke errors, which the SDK also logs.
logging.disable(logging.CRITICAL)
asyncio.run(main())
