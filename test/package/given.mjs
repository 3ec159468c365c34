import { EventEmitter } from "node:events";
import { artifact, Client, completed, memoryTaskStore, serve } from "trivium";

// What the reader of a page has: a value for each name of test/docs/ambient.d.ts, loaded before a program of the page.

const skills = [{ id: "forecast", name: "Forecast", description: "Forecasts for ports", tags: ["weather"] }];
const card = { name: "Given", description: "Is what the reader has", version: "1.0.0", skills };

async function* agent({ text }) {
  yield artifact(text);
  yield completed();
}

const upstream = process.env.UPSTREAM;

/** Those that cost something are made when a program first names them. */
const made = {
  server: () => serve({ card, agent, port: 0, logger: false }),
  client: () => Client.connect(upstream),
};

const names = {
  card,
  agent,
  upstream,
  authenticate: ({ bearer }) => ({ owner: bearer ?? "anybody" }),
  store: memoryTaskStore(),
  contextId: "the-harbour",
  response: new Response("%PDF"),
  run: agent,
  hangs: agent,
  weatherCard: card,
  forecast: agent,
  travelCard: card,
  plan: agent,
  session: { token: async () => "a-token" },
  grants: { has: async () => true, exchange: async () => {} },
  callbacks: new EventEmitter(),
  consentUrl: ({ state }) => `https://login.example/consent?state=${state}`,
  readCalendar: async (owner) => `the calendar of ${owner}`,
  browserWindow: { visit: async (url) => `${url}?code=a-code` },
  userTokens: { load: () => undefined, save: () => {} },
  jobs: new EventEmitter(),
  startJob: async () => {},
  analyse: async (text) => `analysed: ${text}`,
  presigned: async (key) => `https://files.example/${key}?signed`,
  show: () => {},
  verify: async () => ({ id: "anna", team: "north" }),
  openStore: async () => memoryTaskStore(),
  Bun: {
    serve: async ({ fetch }) => {
      const { status } = await fetch(new Request("http://127.0.0.1/.well-known/agent-card.json"));
      if (status !== 200) throw new Error(`the card is answered by ${status}`);
    },
  },
};

Object.assign(globalThis, names);
for (const name of (process.env.NAMED ?? "").split(" ")) if (name in made) globalThis[name] = await made[name]();
