import type { Client } from "../client/node.js";
import { defaultClientLimits } from "../client/options.js";
import type { CallOptions } from "../protocol/context.js";
import { type SendMessageResponse, type Task, typeNames } from "../protocol/model.js";
import { invokeStream, invokeUnary, type Operation } from "../protocol/operations.js";
import { print, write } from "./print.js";

const answerTypes: ReadonlySet<string> = new Set([typeNames.Task, typeNames.SendMessageResponse]);

/** Whether an operation replies with an answer, which has a text. */
export function hasText({ streams, output }: Operation): boolean {
  return streams || answerTypes.has(output.typeName);
}

interface OperationCall {
  readonly operation: Operation;
  readonly request: Parameters<typeof invokeUnary>[2];
  readonly options: CallOptions;
}

/** Calls an operation and prints the text of its answer; the text of a stream is printed as it arrives. */
export async function printText({ operations }: Client, { operation, request, options }: OperationCall): Promise<void> {
  const { answerOf } = await import("../client/answer/answer.js");
  if (!operation.streams) {
    const reply = await invokeUnary(operations, operation, request, options);
    return print(answerOf(reply as Task | SendMessageResponse).text);
  }
  const { AnswerStream } = await import("../client/answer/answer-stream.js");
  const items = invokeStream(operations, operation, request, options);
  await printDeltas(new AnswerStream(() => items, defaultClientLimits.replyMaxBytes).text);
}

/** Prints a text as it arrives, and ends its last line. Returns false if there was no text. */
export async function printDeltas(deltas: AsyncIterable<string>): Promise<boolean> {
  let hasPrinted = false;
  for await (const delta of deltas) {
    hasPrinted ||= delta !== "";
    await write(delta);
  }
  if (hasPrinted) await print("");
  return hasPrinted;
}
