import { artifact, Client, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { blocksOf } from "../docs/pages.js";
import { fixedPort } from "../support/fixed-port.js";
import { execute } from "../support/owned.js";
import { sdks } from "./sdk.js";
import { startAgent } from "./sdk-agents.js";

// The two pieces of Python that the guide for those who come from it shows, with what they leave out.

const python = sdks.find(({ name }) => name === "Python");
const [agent = "", client = ""] = blocksOf("docs/guides/come-from-python.md").flatMap(({ language, code }) =>
  language === "python" ? code : [],
);

const before = (url: string): string => `
import json, uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette
rpc = AgentInterface(url="${url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
card = AgentCard(name="Tides", version="1.0.0", capabilities=AgentCapabilities(streaming=True), supported_interfaces=[rpc])
print(json.dumps({"card": "${url}"}), flush=True)
`;

describe.skipIf(python?.installed !== true)(
  "docs/guides/come-from-python.md (test/interop/setup.sh installs its SDK)",
  () => {
    it("the guide for Python shows an agent in Python that asks, and answers", async () => {
      const port = await fixedPort();
      const url = `http://127.0.0.1:${port}`;
      const program = `${before(url)}${agent.replace("port=9999", `port=${port}`)}`;
      await using _ = await startAgent({
        ...{ name: "Python", command: python?.command ?? "", installed: true },
        options: ["-c", program],
      });
      // It has printed its line before it listens.
      const card = (): Promise<boolean> =>
        fetch(`${url}/.well-known/agent-card.json`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(card).toBe(true);
      await using caller = await Client.connect(url);
      const question = await caller.send("high water?");
      expect([question.state, question.text]).toEqual(["input-required", "Which harbour?"]);
      const answer = await caller.send("Emden", { continue: question });
      expect([answer.state, answer.text]).toEqual(["completed", "Emden: 03:10"]);
    });

    it("the guide for Python shows a client in Python that prints the answer of an agent", async () => {
      await using server = await serve({
        card: { name: "Tides", description: "Knows when there is high water", version: "1.0.0" },
        port: 0,
        logger: false,
        async *agent({ text }) {
          yield artifact(`${text}: 03:10`, { name: "tides" });
        },
      });
      const program = `
import asyncio, httpx
from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import Role, SendMessageRequest
url = "${server.url}"
async def main():
${client.replaceAll(/^(?=.)/gm, "    ")}
asyncio.run(main())
`;
      const { stdout } = await execute(python?.command ?? "", ["-c", program]);
      expect(stdout).toContain("Emden: 03:10");
    });
  },
);
