import { artifact, createAgent, type MountedAgent } from "trivium";
import { type NextRouteContext, nextRoute } from "trivium/next";
import { afterEach, beforeEach, expect, it } from "vitest";

// The contract between Next's App Router and a route handler: what Next calls it with. The suite of the packed package
// builds and starts a real Next app.

const origin = "http://localhost:3000";
let agent: MountedAgent;
let callCount: number;
beforeEach(async () => {
  callCount = 0;
  agent = await createAgent({
    card: { name: "Routed", description: "Is a route of Next", version: "1.0.0" },
    async *agent({ text }) {
      yield artifact(text);
    },
  });
});
afterEach(() => agent.close());

const route = (options = {}) =>
  nextRoute(() => {
    callCount += 1;
    return agent;
  }, options);

/** What Next gives a handler for the segments that `[[...path]]` matched. */
const below = (...path: readonly string[]): NextRouteContext => ({
  params: Promise.resolve(path.length === 0 ? {} : { path }),
});

async function urlsOf(response: Response): Promise<readonly string[]> {
  const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: { url: string }[] };
  return supportedInterfaces.map(({ url }) => url);
}

it.each([
  { where: "below a path", prefix: "/agents/weather", params: {} },
  { where: "at the root", prefix: "", params: {} },
  { where: "below a dynamic segment", prefix: "/teams/a%20b/agent", params: { team: "a b" } },
])("a Next route takes the agent's path from what the catch-all matched $where", async ({ prefix, params }) => {
  const { GET, HEAD } = route();
  const context = { params: Promise.resolve({ ...params, path: [".well-known", "agent-card.json"] }) };
  const request = (): Request =>
    new Request(`${origin}${prefix}/.well-known/agent-card.json`, { headers: { host: "app.example" } });
  expect(await urlsOf(await GET(request(), context))).toContain(`http://app.example${prefix}/json-rpc`);
  expect((await HEAD(request(), context)).status).toBe(200);
  expect(callCount).toBe(1);
});

it("a Next route answers calls below the route and at the route itself", async () => {
  const { POST } = route();
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
  const call = (path: string, body: object): Request =>
    new Request(origin + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
      body: JSON.stringify(body),
    });
  const http = await POST(call("/a/http-json/message:send", { message }), below("http-json", "message:send"));
  expect(await http.json()).toMatchObject({ task: { artifacts: [{ parts: [{ text: "hi" }] }] } });
  const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  expect(await (await POST(call("/a", rpc), below())).json()).toMatchObject({ result: { task: {} } });
});

it("a Next route takes `basePath` for the path of which Next cut off the app's own", async () => {
  const { GET, POST } = route({ basePath: "/shop/agents/weather" });
  const file = [".well-known", "agent-card.json"];
  const request = new Request(`${origin}/agents/weather/${file.join("/")}`);
  expect(await urlsOf(await GET(request, below(...file)))).toContain(`${origin}/shop/agents/weather/json-rpc`);
  const listTasks = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
  const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
  const call = new Request(`${origin}/agents/weather`, { method: "POST", headers, body: JSON.stringify(listTasks) });
  expect(await (await POST(call, below())).json()).toMatchObject({ result: { tasks: [] } });
});
