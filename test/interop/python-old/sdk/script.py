import asyncio
import uuid

from a2a.server.agent_execution import AgentExecutor
from a2a.types import Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent


class Script(AgentExecutor):
    """Does what the first text says: `stream 3` gives three chunks. Without a script it repeats what it was sent."""

    async def execute(self, context, event_queue):
        turn = Turn(context, event_queue)
        word = turn.text.split(' ')[0]
        if context.current_task:
            await turn.artifact(f'you said {turn.text}')
            await turn.status('completed', 'done')
        elif word in SCRIPTS:
            await SCRIPTS[word](turn)
        else:
            await turn.reply(context.message.parts)

    async def cancel(self, context, event_queue):
        await Turn(context, event_queue).status('canceled', 'stopped')


class Turn:
    """What one execution says. Events are read from the JSON of the protocol: what their fields are called differs between releases."""

    def __init__(self, context, event_queue):
        self.context = context
        self.queue = event_queue
        self.text = context.get_user_input() if context.message else ''
        self.ids = {'taskId': context.task_id, 'contextId': context.context_id}

    def says(self, parts):
        return {'kind': 'message', 'messageId': str(uuid.uuid4()), 'role': 'agent', 'parts': parts}

    async def reply(self, parts):
        message = {**self.says(parts), 'contextId': self.context.context_id}
        await self.queue.enqueue_event(Message.model_validate(message))

    async def begin(self):
        await self.queue.enqueue_event(
            Task.model_validate(
                {
                    'kind': 'task',
                    'id': self.context.task_id,
                    'contextId': self.context.context_id,
                    'status': {'state': 'submitted'},
                    'history': [self.context.message],
                }
            )
        )

    async def status(self, state, text, final=True):
        status = {'state': state, 'message': {**self.says(said(text)), **self.ids}, 'timestamp': '2026-01-02T03:04:05Z'}
        event = {'kind': 'status-update', **self.ids, 'status': status, 'final': final}
        await self.queue.enqueue_event(TaskStatusUpdateEvent.model_validate(event))

    async def work(self):
        await self.begin()
        await self.status('working', 'on it', final=False)

    async def artifact(self, text, **options):
        artifact = {'artifactId': 'result', 'name': 'Result', 'parts': said(text)}
        event = {'kind': 'artifact-update', **self.ids, 'artifact': artifact, **options}
        await self.queue.enqueue_event(TaskArtifactUpdateEvent.model_validate(event))


def said(text):
    return [{'kind': 'text', 'text': text}]


async def message(turn):
    await turn.reply(said('hello'))


async def task(turn):
    await turn.work()
    await turn.artifact('the result')
    await turn.status('completed', 'done')


async def stream(turn):
    count, pace_ms, *_ = [*map(int, turn.text.split(' ')[1:]), 0]
    await turn.work()
    for index in range(count):
        await turn.artifact(f'{index},', append=index > 0, lastChunk=index == count - 1)
        await asyncio.sleep(pace_ms / 1000)
    await turn.status('completed', 'done')


async def slow(turn):
    await turn.work()
    await asyncio.Event().wait()


async def tick(turn):
    """Takes its time, for who comes later and is shown nothing of before."""
    await turn.work()
    for number in range(20):
        await asyncio.sleep(0.05)
        await turn.artifact(f'{number},', append=number > 0)
    await turn.status('completed', 'done')


async def sudden(turn):
    """Tells of a task without having shown it first."""
    await turn.status('working', 'on it', final=False)
    await turn.artifact('the result')
    await turn.status('completed', 'done')


async def crash(turn):
    await turn.work()
    raise RuntimeError('it broke')


def stops(state, text):
    async def play(turn):
        await turn.begin()
        await turn.status(state, text)

    return play


SCRIPTS = {
    'message': message,
    'task': task,
    'stream': stream,
    'slow': slow,
    'tick': tick,
    'sudden': sudden,
    'crash': crash,
    'ask': stops('input-required', 'which one?'),
    'auth': stops('auth-required', 'log in first'),
    'fail': stops('failed', 'it broke'),
    'reject': stops('rejected', 'not that'),
}
