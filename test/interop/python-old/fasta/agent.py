"""FastA2A as an agent of version 0.1."""

from fasta2a.worker import Worker

from serving import serve

SKILL = {
    'id': 'script',
    'name': 'Script',
    'description': 'Plays a script',
    'tags': ['test'],
    'input_modes': ['application/json'],
    'output_modes': ['application/json'],
}

ENDED = ('completed', 'canceled', 'failed')


class Script(Worker):
    """Does what the first text of a task says. Without a script it gives back what it was sent as an artifact."""

    async def cancel_task(self, params):
        task = await self.storage.load_task(params['id'])
        if task and task['status']['state'] not in ENDED:
            await self.storage.update_task(params['id'], state='canceled')

    async def run_task(self, params):
        # What comes next, a cancellation too, waits until this returns.
        task_id, parts = params['id'], params['message']['parts']
        task = await self.storage.load_task(task_id)
        word = next((part['text'] for part in parts if part['type'] == 'text'), '')
        if task['status']['state'] == 'input-required':
            await self.finish(task_id, self.build_artifacts(said(f'you said {word}')))
        elif word == 'slow':
            await self.storage.update_task(task_id, state='working')
        elif word == 'ask':
            await self.storage.update_task(task_id, state='input-required', message=agent('which one?'))
        elif word == 'fail':
            await self.storage.update_task(task_id, state='failed', message=agent('it broke'))
        elif word == 'task':
            await self.storage.update_task(task_id, state='working', message=agent('on it'))
            await self.finish(task_id, self.build_artifacts(said('the result')))
        else:
            await self.finish(task_id, self.build_artifacts(parts))

    async def finish(self, task_id, artifacts):
        await self.storage.update_task(task_id, state='completed', artifacts=artifacts)

    def build_message_history(self, task_history):
        return task_history

    def build_artifacts(self, result):
        return [{'name': 'Result', 'index': 0, 'parts': result}]


def said(text):
    return [{'type': 'text', 'text': text}]


def agent(text):
    return {'role': 'agent', 'parts': said(text)}


serve(Script, description='Plays the script that the first text names', skills=[SKILL])
