import { equals } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type SendMessageResponse, type Task, TaskSchema } from "../../../src/protocol/model.js";
import { requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import type { Swept } from "./sweep.js";
import { fiveLines, type Spoilable } from "./through-proxy.js";

// The calls under test, each with its permitted outcomes: the whole reply, or an error.

const message = () => say("go", { messageId: "m" });

/** GetTask of a completed task. */
export async function reading({ served }: Spoilable): Promise<Swept<Task>> {
  const { id } = taskOf(await served.client.sendMessage(message(), {}));
  const request = requestOf("getTask", { id });
  const whole = await served.client.getTask(request, {});
  return {
    call: (transport, signal) => transport.getTask(request, { signal }),
    judge: ({ reply, error }) => {
      if (error === undefined) expect(reply !== undefined && equals(TaskSchema, reply, whole)).toBe(true);
    },
  };
}

/** SendMessage; one call never runs the agent twice. */
export function sending(agent: Spoilable): Swept<SendMessageResponse> {
  let runs = agent.runs;
  return {
    call: (transport, signal) => {
      ({ runs } = agent);
      return transport.sendMessage(message(), { signal });
    },
    judge: ({ reply, error }) => {
      expect(agent.runs - runs).toBeLessThanOrEqual(1);
      if (error !== undefined) return;
      const task = reply && taskOf(reply);
      expect(stateOf(task)).toBe("COMPLETED");
      expect(task?.artifacts.map(({ parts }) => textIn(parts))).toEqual(["one two three"]);
    },
  };
}

/** SendStreamingMessage: every event at most once and in order; ends without an error only after the last. */
export function streaming(agent: Spoilable): Swept<never> {
  let runs = agent.runs;
  return {
    call: (transport, signal) => {
      ({ runs } = agent);
      return transport.sendStreamingMessage(message(), { signal });
    },
    judge: ({ lines, error }) => {
      expect(agent.runs - runs).toBeLessThanOrEqual(1);
      expect(lines).toEqual(error === undefined ? fiveLines : fiveLines.slice(0, lines.length));
    },
  };
}
