"""FastA2A as a client of version 0.1: runs every case against an agent and prints one line of JSON for each.

It reads no card and has two calls: to send a new task, and to get one.
"""

import argparse
import asyncio
import json
import logging
import traceback

from fasta2a.client import A2AClient, UnexpectedResponseError

CASE_TIMEOUT_S = 10

NOBODY = '00000000-0000-7000-8000-000000000000'
BYTES = 'AH+A/w=='


def text(content):
    return {'type': 'text', 'text': content}


def user(content):
    return {'role': 'user', 'parts': [text(content)] if isinstance(content, str) else content}


def text_of(holder):
    return ''.join(part.get('text', '') for part in holder['parts'])


def equal(seen, wanted):
    assert seen == wanted, f'{seen!r} is not {wanted!r}'


async def send(client, content, **options):
    response = await client.send_task(user(content), **options)
    assert 'result' in response, response
    return response['result']


async def message(client):
    answer = await send(client, 'pong ü 漢 🙂')
    equal((answer['status']['state'], text_of(answer['status']['message'])), ('completed', 'pong pong ü 漢 🙂'))
    equal(answer['status']['message']['role'], 'agent')
    assert answer['id'] and answer['session_id']


async def echo(client):
    data = {'type': 'data', 'data': {'list': [1, 2.5, None, True, 'x'], 'nested': {'empty': {}}}, 'metadata': {'a': 1}}
    answer = await send(client, [text('echo'), data])
    equal(answer['status']['message']['parts'], [text('echo'), data])


async def file_bytes(client):
    file = {'data': BYTES, 'mime_type': 'application/octet-stream', 'name': 'f.bin'}
    equal(await echoed(client, file), file)


async def file_uri(client):
    file = {'url': 'https://files.example/a.txt', 'mime_type': 'text/plain', 'name': 'a.txt'}
    equal(await echoed(client, file), file)


async def echoed(client, file):
    answer = await send(client, [text('echo'), {'type': 'file', 'file': file}])
    return answer['status']['message']['parts'][1]['file']


async def task(client):
    task = await send(client, 'count')
    equal(task['status']['state'], 'completed')
    (numbers,) = task['artifacts']
    equal((numbers['index'], text_of(numbers)), (0, ''.join(f'{n},' for n in range(500))))


async def artifacts(client):
    task = await send(client, 'work')
    equal((task['status']['state'], text_of(task['status']['message'])), ('completed', 'done'))
    report, extra = task['artifacts']
    equal((report['index'], report['name'], text_of(report), extra['index']), (0, 'Report', 'one two', 1))


async def history(client):
    task = await send(client, 'ask', history_length=10)
    equal([text_of(each) for each in task['history']], ['ask'])
    assert not (await send(client, 'ask')).get('history')


async def input_required(client):
    task = await send(client, 'ask')
    equal((task['status']['state'], text_of(task['status']['message'])), ('input-required', 'which one?'))


async def auth_required(client):
    # The version has no state of its own for it.
    task = await send(client, 'login')
    equal((task['status']['state'], text_of(task['status']['message'])), ('input-required', 'log in first'))


async def rejected(client):
    task = await send(client, 'refuse')
    equal((task['status']['state'], text_of(task['status']['message'])), ('failed', 'not that'))


async def failed(client):
    task = await send(client, 'crash')
    equal(task['status']['state'], 'failed')
    assert 'secret' not in str(task)


async def get(client):
    made = await send(client, 'count')
    response = await client.get_task(made['id'])
    got = response['result']
    equal((got['id'], got['session_id']), (made['id'], made['session_id']))
    equal((got['status']['state'], text_of(got['artifacts'][0])), ('completed', text_of(made['artifacts'][0])))


async def parallel(client):
    words = [f'pong {index}' for index in range(50)]
    answers = await asyncio.gather(*(send(client, word) for word in words))
    equal([text_of(answer['status']['message']) for answer in answers], [f'pong {word}' for word in words])


async def large(client):
    long = '0123456789abcdeé' * 65_536
    answer = await send(client, [text('echo'), text(long)])
    assert text_of(answer['status']['message']) == f'echo{long}'


async def error_get(client):
    response = await client.get_task(NOBODY)
    equal((response['error']['code'], 'result' in response), (-32001, False))


async def error_params(client):
    response = await client.send_task(user([]))
    equal((response['error']['code'], 'result' in response), (-32602, False))


async def error_content_type(client):
    picture = {'type': 'file', 'file': {'data': 'cG5n', 'mime_type': 'image/png'}}
    response = await client.send_task(user([text('echo'), picture]))
    equal((response['error']['code'], 'result' in response), (-32005, False))


async def error_content_type_agent(client):
    response = await client.send_task(user('picky'))
    equal((response['error']['code'], 'result' in response), (-32005, False))


async def error_push_inline(plain):
    response = await plain.send_task(user('pong'), push_notification={'url': 'http://127.0.0.1:9/'})
    equal((response['error']['code'], 'result' in response), (-32003, False))


async def error_unauthenticated(client):
    await with_headers({'Authorization': 'stranger'}, is_refused)(client)


async def error_foreign(client):
    headers = client.http_client.headers
    headers['Authorization'] = 'anna'
    made = await send(client, 'count')
    headers['Authorization'] = 'bert'
    response = await client.get_task(made['id'])
    del headers['Authorization']
    equal((response['error']['code'], 'result' in response), (-32001, False))


CASES = {
    'message': message,
    'echo': echo,
    'file-bytes': file_bytes,
    'file-uri': file_uri,
    'task': task,
    'artifacts': artifacts,
    'history': history,
    'input-required': input_required,
    'auth-required': auth_required,
    'rejected': rejected,
    'failed': failed,
    'get': get,
    'parallel': parallel,
    'large': large,
    'error-get': error_get,
    'error-foreign': error_foreign,
    'error-params': error_params,
    'error-content-type': error_content_type,
    'error-content-type-agent': error_content_type_agent,
    'error-unauthenticated': error_unauthenticated,
}

CASES_WITHOUT_PUSH = {'error-push-inline': error_push_inline}


def cases_of_credentials(secrets):
    token, expired = ({'Authorization': f'Bearer {each}'} for each in (secrets.token, secrets.expired))
    return {
        'credentials-token': with_headers(token, comes_in),
        'credentials-key': with_headers({'X-Api-Key': secrets.key}, comes_in),
        'error-credentials-none': with_headers({}, is_refused),
        'error-credentials-expired': with_headers(expired, is_refused),
        'error-credentials-key': with_headers({'X-Api-Key': 'an-old-key'}, is_refused),
    }


def with_headers(headers, run):
    async def case(client):
        client.http_client.headers.update(headers)
        try:
            await run(client)
        finally:
            for name in headers:
                del client.http_client.headers[name]

    return case


async def comes_in(client):
    made = await send(client, 'pong')
    equal((await client.get_task(made['id']))['result']['id'], made['id'])


async def is_refused(client):
    for call in (client.send_task(user('pong')), client.get_task(NOBODY)):
        try:
            await call
        except UnexpectedResponseError as error:
            equal(error.status_code, 401)
        else:
            raise AssertionError('no error was raised')


async def outcome(name, run, client):
    try:
        await asyncio.wait_for(run(client), CASE_TIMEOUT_S)
        return {'case': name, 'ok': True, 'detail': ''}
    except Exception:  # noqa: BLE001: whatever it is, it is the outcome
        return {'case': name, 'ok': False, 'detail': traceback.format_exc()}


async def main():
    parser = argparse.ArgumentParser()
    for option in ('--url', '--plain', '--binding', '--guarded', '--token', '--expired', '--key'):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    agents = (
        (options.url, CASES),
        (options.plain, CASES_WITHOUT_PUSH),
        (options.guarded, cases_of_credentials(options)),
    )
    for url, cases in agents:
        client = A2AClient(url)
        for name, run in cases.items():
            print(json.dumps(await outcome(name, run, client)), flush=True)
        await client.http_client.aclose()


# Cases provoke errors, which the client also logs.
logging.disable(logging.CRITICAL)
asyncio.run(main())
