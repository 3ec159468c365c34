import { expect } from "vitest";
import { collect as collectTask } from "../../src/client/index.js";
import type { Client } from "../../src/client/node.js";
import type { ErrorCode } from "../../src/protocol/errors.js";
import type { Message, Part, Task } from "../../src/protocol/model.js";
import { data, file, text } from "../../src/protocol/parts.js";
import type { VersionName } from "../../src/version/versions.js";
import { type Peer, stateOf } from "./client-cases.js";

/** An agent on an older SDK and our client's connection to it over one binding. */
export interface OldPeer extends Peer {
  readonly version: VersionName;
}

export interface OldClientCase {
  run(peer: OldPeer): Promise<unknown>;
  /** The error with which the call must fail. */
  readonly code?: ErrorCode | undefined;
}

const bytes = Uint8Array.of(0, 127, 128, 255);

/** Sends content and returns the task of the answer. */
export async function taskFor(client: Client, content: Parameters<Client["send"]>[0]): Promise<Task> {
  const answer = await client.send(content);
  if (!isTask(answer)) throw new Error("a task was wanted, not a message");
  return answer;
}

export function isTask(answer: Message | Task): answer is Task {
  return answer.$typeName === "lf.a2a.v1.Task";
}

export function joined(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

function contents(parts: readonly Part[] = []): unknown[] {
  return parts.map(({ content, mediaType }) => {
    const value = content.case === "raw" ? [...content.value] : content.value;
    return [content.case, value, mediaType];
  });
}

/** Cases for agents of every older version. */
export const anyCases: Readonly<Record<string, OldClientCase>> = {
  "gets files and data back unchanged": {
    async run({ client }) {
      const parts = [
        file(bytes, { filename: "f.bin", mediaType: "application/octet-stream" }),
        file(new URL("https://files.example/a.txt"), { filename: "a.txt", mediaType: "text/plain" }),
        data({ list: [1, 2.5, null, true, "x"], nested: {} }),
      ];
      const task = await taskFor(client, [text("file"), ...parts]);
      expect(stateOf(task)).toBe("COMPLETED");
      expect(contents(task.artifacts[0]?.parts)).toEqual([
        ["raw", [...bytes], "application/octet-stream"],
        ["url", "https://files.example/a.txt", "text/plain"],
        ["data", parts[2]?.content.value, expect.any(String)],
      ]);
    },
  },

  "goes on with a task by `continue`": {
    async run({ client }) {
      const question = await taskFor(client, "ask");
      const answer = await client.continue(question, "this one");
      if (!isTask(answer)) expect.fail("a task was wanted");
      expect([answer.id, stateOf(answer)]).toEqual([question.id, "COMPLETED"]);
      expect(joined(answer.artifacts[0]?.parts)).toBe("you said this one");
    },
  },

  "collects a stream into the task that it came to": {
    async run({ client }) {
      const task = await collectTask(client.stream("stream 20"));
      if (!isTask(task)) expect.fail("a task was wanted");
      expect(stateOf(task)).toBe("COMPLETED");
      expect(joined(task.artifacts[0]?.parts)).toBe(Array.from({ length: 20 }, (_, index) => `${index},`).join(""));
    },
  },
};
