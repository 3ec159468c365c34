import { readdirSync, readFileSync } from "node:fs";
import pino from "pino";
import { serve } from "trivium";
import { expect, it } from "vitest";
import { root } from "../../support/command.js";

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };

it("pino prints the stack and the cause of an agent that throws", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const card = { name: "Logged", description: "d", version: "1" };
  const agent = async (): Promise<void> => {
    throw new TypeError("no tide today", { cause: new Error("the gauge is dry") });
  };
  await using server = await serve({ card, port: 0, agent, logger });
  const answer = await fetch(`${server.url}/http-json/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: JSON.stringify({ message }),
  });
  expect(answer.status).toBe(200);
  const record = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === "the agent failed");
  expect(record).toMatchObject({
    level: 50,
    reference: expect.any(String),
    err: {
      type: "TypeError",
      message: "no tide today: the gauge is dry",
      stack: expect.stringMatching(
        /^TypeError: no tide today\n {4}at [\s\S]*caused by: Error: the gauge is dry\n {4}at /,
      ),
    },
  });
});

it("every record of an error has it under `err`, where pino looks for it", () => {
  const files = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const wrong =
    /(?:logger|log)\??\.(?:debug|info|warn|error)\(\s*\{[^}]*\b(?:error|cause|e)\b(?=\s*[,}])(?<!err: error)/;
  const breaches = files.filter((name) => wrong.test(readFileSync(`${root}src/${name}`, "utf8")));
  expect(files.length).toBeGreaterThan(300);
  expect(breaches).toEqual([]);
  expect(wrong.test('logger.warn({ id, error }, "x")')).toBe(true);
});
