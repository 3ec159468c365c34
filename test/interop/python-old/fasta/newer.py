"""FastA2A as an agent of version 0.3 or 1.0, by its release: it answers a send before the task has ended."""

import uuid

from fasta2a.worker import Worker

from serving import serve


class Script(Worker):
    """Gives back what it was sent as an artifact; with `ask` it asks first, and with `fail` it fails."""

    async def cancel_task(self, params):
        await self.storage.update_task(params['id'], state='canceled')

    async def run_task(self, params):
        task_id, parts = params['id'], params['message']['parts']
        words = [part['text'] for part in parts if 'text' in part]
        task = await self.storage.load_task(task_id)
        asked = task['status']['state'] == 'input-required'
        await self.storage.update_task(task_id, state='working')
        if words == ['fail']:
            raise RuntimeError('as it was told')
        if words == ['ask'] and not asked:
            await self.storage.update_task(task_id, state='input-required')
            return
        artifact = {'artifact_id': str(uuid.uuid4()), 'name': 'Result', 'parts': parts}
        await self.storage.update_task(task_id, state='completed', new_artifacts=[artifact])

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return result


serve(Script, description='Gives back what it was sent')
