import { expect } from "vitest";
import type { Client } from "../../src/client/node.js";
import type { ErrorCode } from "../../src/protocol/errors.js";
import type { Part, Task } from "../../src/protocol/model.js";
import { data, file, text } from "../../src/protocol/parts.js";
import type { VersionName } from "../../src/version/versions.js";
import { taskOf } from "../support/answers.js";
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
  return taskOf(await client.send(content));
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
      const question = await client.send("ask");
      const answer = await client.send("this one", { continue: question });
      expect([answer.taskId, answer.state]).toEqual([question.taskId, "completed"]);
      expect(answer.text).toBe("you said this one");
    },
  },

  "collects a stream into the task that it came to": {
    async run({ client }) {
      const { state, text: whole } = await client.stream("stream 20").answer;
      expect([state, whole]).toEqual(["completed", Array.from({ length: 20 }, (_, index) => `${index},`).join("")]);
    },
  },
};
