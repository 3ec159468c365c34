import asyncio

from a2a.helpers import new_task, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2 as pb


class Script(AgentExecutor):
    """Does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats the text."""

    async def execute(self, context, event_queue):
        turn = Turn(context, event_queue)
        word = turn.text.split(' ')[0]
        if context.current_task:
            await turn.artifact(f'you said {turn.text}')
            await turn.updater.complete(turn.says('done'))
        elif word in SCRIPTS:
            await SCRIPTS[word](turn)
        else:
            await turn.reply(turn.text)

    async def cancel(self, context, event_queue):
        turn = Turn(context, event_queue)
        await turn.updater.cancel(turn.says('stopped'))


class Turn:
    """What one execution says, in the words of the SDK."""

    def __init__(self, context, event_queue):
        self.context = context
        self.queue = event_queue
        self.text = context.get_user_input()
        self.updater = TaskUpdater(event_queue, context.task_id, context.context_id)

    def says(self, text):
        return self.updater.new_agent_message([new_text_part(text)])

    async def begin(self):
        task = new_task(self.context.task_id, self.context.context_id, pb.TASK_STATE_SUBMITTED)
        task.history.append(self.context.message)
        await self.queue.enqueue_event(task)

    async def work(self):
        await self.begin()
        await self.updater.start_work(self.says('on it'))

    async def artifact(self, text, **options):
        await self.updater.add_artifact([new_text_part(text)], artifact_id='result', name='Result', **options)

    async def reply(self, text):
        message = new_text_message(text, context_id=self.context.context_id)
        await self.queue.enqueue_event(message)


async def message(turn):
    await turn.reply('hello')


async def task(turn):
    await turn.work()
    await turn.artifact('the result')
    await turn.updater.complete(turn.says('done'))


async def stream(turn):
    count, pace_ms, *_ = [*map(int, turn.text.split(' ')[1:]), 0]
    await turn.work()
    for index in range(count):
        await turn.artifact(f'{index},', append=index > 0, last_chunk=index == count - 1)
        await asyncio.sleep(pace_ms / 1000)
    await turn.updater.complete(turn.says('done'))


async def slow(turn):
    await turn.work()
    await asyncio.Event().wait()


async def ask(turn):
    await turn.begin()
    await turn.updater.requires_input(turn.says('which one?'))


async def auth(turn):
    await turn.begin()
    await turn.updater.requires_auth(turn.says('log in first'))


async def fail(turn):
    await turn.begin()
    await turn.updater.failed(turn.says('it broke'))


async def reject(turn):
    await turn.begin()
    await turn.updater.reject(turn.says('not that'))


SCRIPTS = {
    'message': message,
    'task': task,
    'stream': stream,
    'slow': slow,
    'ask': ask,
    'auth': auth,
    'fail': fail,
    'reject': reject,
}
