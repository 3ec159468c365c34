"""The official Python SDK reads the card of an agent that demands scopes.

Prints one line of JSON with the requirements of the card, of its first skill and of the extended card.
"""

import argparse
import asyncio
import json

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb


def plain(requirements):
    return [{name: list(scopes.list) for name, scopes in each.schemes.items()} for each in requirements]


async def main():
    parser = argparse.ArgumentParser()
    for option in ('--url', '--key', '--binding'):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    async with httpx.AsyncClient(headers={'x-key': options.key}) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[options.binding])
        client = ClientFactory(config).create(card)
        extended = await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        read = {
            'card': card.security_requirements,
            'skill': card.skills[0].security_requirements,
            'extended': extended.security_requirements,
        }
        print(json.dumps({name: plain(requirements) for name, requirements in read.items()}))


asyncio.run(main())
