"""The official Python SDK as a client: runs every case against an agent and prints one line of JSON for each."""

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
from peer import Peer

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
    options = parser.parse_args()
    async with Peer(options) as peer:
        for name, run in CASES.items():
            print(json.dumps(await outcome(name, run, peer)), flush=True)


# Cases provoke errors, which the SDK also logs.
logging.disable(logging.CRITICAL)
asyncio.run(main())
