import { artifact, createAgent, type MountedAgent, memoryTaskStore } from "trivium";
import { afterEach, expect, it } from "vitest";
import { hosts } from "./hosts.js";

const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
let agents: MountedAgent[] = [];
afterEach(async () => {
  for (const agent of agents) await agent.close();
  agents = [];
});

async function agentNamed(agentId: string, store: ReturnType<typeof memoryTaskStore>): Promise<MountedAgent> {
  const agent = await createAgent({
    card: { name: agentId, description: "One of several", version: "1.0.0" },
    agentId,
    store,
    async *agent({ text }) {
      yield artifact(`${agentId}: ${text}`);
    },
  });
  agents.push(agent);
  return agent;
}

it.each(hosts)("several agents on one store are mounted under several paths of $name", async ({ start }) => {
  const store = memoryTaskStore();
  const mounts = {
    "/agents/weather": await agentNamed("weather", store),
    "/agents/travel": await agentNamed("travel", store),
  };
  await using app = await start(mounts);
  const ids: Record<string, string> = {};
  for (const [path, { card }] of Object.entries(mounts)) {
    const url = app.url + path;
    const shown = await json<{ name: string; supportedInterfaces: { url: string }[] }>(
      `${url}/.well-known/agent-card.json`,
    );
    expect(shown.name).toBe(card.name);
    expect(shown.supportedInterfaces.every((each) => each.url.startsWith(`${url}/`))).toBe(true);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
    const response = await json<{ task: { id: string } }>(`${url}/http-json/message:send`, {
      method: "POST",
      body: JSON.stringify({ message }),
    });
    expect(response).toMatchObject({ task: { artifacts: [{ parts: [{ text: `${card.name}: hi` }] }] } });
    ids[path] = response.task.id;
  }
  for (const path of Object.keys(mounts)) {
    const { tasks } = await json<{ tasks: { id: string }[] }>(`${app.url}${path}/http-json/tasks`);
    expect(tasks.map(({ id }) => id)).toEqual([ids[path]]);
  }
});

async function json<T>(url: string, init: RequestInit = {}): Promise<T> {
  return (await (await fetch(url, { headers, ...init })).json()) as T;
}
