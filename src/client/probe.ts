import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { randomUuid } from "../protocol/id/random-uuid.js";
import { findOperation } from "../protocol/operations.js";
import { isAgentAnswer, isUnknownMethod, shouldTryNextInterface } from "./failures.js";
import type { InterfaceClient } from "./interface-client.js";
import { type Allowance, callWithin } from "./timing.js";

// Harmless calls to an unused interface, loaded with the first one.

/** The time limit of a probe. */
export interface ProbeTime {
  readonly allowance: Allowance;
  readonly limitMs: number;
}

/**
 * Requests something that does not exist: any answer of an agent proves that it is there. A guessed version is probed
 * by a method with a different name in the other version. Throws when the interface is unusable.
 */
export async function probe(client: InterfaceClient, time: ProbeTime): Promise<void> {
  const operation = findOperation(client.isGuess ? "getTaskPushNotificationConfig" : "getTask");
  const id = randomUuid();
  const request = Object.assign(create(operation.input), client.isGuess ? { id, taskId: id } : { id });
  const error = await answerTo(time, (callOptions) => client.unary(operation, request, callOptions));
  if (!client.isGuess || error === undefined) return;
  if (isUnknownMethod(error)) throw error;
  // Agents without push give this error even for a method of a later draft of their own version.
  if (isUnsupported(error)) await probeStreams(client, time);
}

/** Requests a stream without a message, which no agent can start; the method's name differs by version. */
async function probeStreams(client: InterfaceClient, time: ProbeTime): Promise<void> {
  const operation = findOperation("sendStreamingMessage");
  const error = await answerTo(time, async (callOptions) => {
    const leave = new AbortController();
    const { rest } = await client.open(operation, create(operation.input), callOptions, leave.signal);
    await rest.return?.();
  });
  // The request is invalid on purpose.
  if (error !== undefined && error.code !== "invalidRequest" && isUnknownMethod(error)) throw error;
}

/** The error with which an agent answers; `undefined` for any other answer. Throws when there is no answer. */
async function answerTo(
  { allowance, limitMs }: ProbeTime,
  ask: (options: CallOptions) => Promise<unknown>,
): Promise<A2AError | undefined> {
  try {
    await callWithin(allowance, limitMs, ask);
    return undefined;
  } catch (error) {
    if (
      !(error instanceof A2AError) ||
      !isAgentAnswer(error) ||
      shouldTryNextInterface(error, { repeatable: true, proven: false })
    ) {
      throw error;
    }
    return error;
  }
}

function isUnsupported({ code }: A2AError): boolean {
  return code === "unsupportedOperation" || code === "pushNotificationNotSupported";
}
