import { over, type Step, type StepStream, streamOfSteps } from "../../protocol/async/steps.js";
import { A2AError } from "../../protocol/errors.js";
import type { StreamItem } from "../../protocol/operations.js";
import { NameTaken, responseUnderName } from "../../protocol/task-names.js";

/**
 * The stream of a task whose caller knows it by a name. It is opened when it is first read, and again, before its first
 * item, when the name was given to another task meanwhile; at most `tries` times.
 */
export function namedStream(
  name: string,
  open: () => Promise<AsyncIterable<StreamItem>>,
  tries: number,
): StepStream<StreamItem> {
  let triesLeft = tries;
  let source: AsyncIterator<StreamItem> | undefined;
  let isOver = false;
  const read = async (): Promise<Step<StreamItem>> => {
    try {
      if (source === undefined) {
        triesLeft -= 1;
        source = (await open())[Symbol.asyncIterator]();
      }
      const step = source.next();
      // Left while it was being opened: its message is sent all the same, as that of any other stream.
      if (isOver) await source.return?.();
      return await step;
    } catch (error) {
      source = undefined;
      if (error instanceof NameTaken && triesLeft > 0) return read();
      isOver = true;
      throw errorUnderName(error, name);
    }
  };
  const next = async (): Promise<Step<StreamItem>> => {
    const step = isOver ? over : await read();
    if (step.done !== true) return { done: false, value: itemUnderName(step.value, name) };
    isOver = true;
    return over;
  };
  return streamOfSteps(next, () => {
    isOver = true;
    return source?.return?.();
  });
}

const slot = Symbol("under a name");

// Kept on the item, which all readers that keep up share, so that what a version makes of it is made once. A task has one
// name, but its callers may use its id as well.
function itemUnderName(item: StreamItem, name: string): StreamItem {
  const kept: StreamItem & { [slot]?: { readonly name: string; readonly item: StreamItem } } = item;
  if (kept[slot]?.name === name) return kept[slot].item;
  // Not a spread: what else is kept on the item was made of it as it is.
  const named = { response: responseUnderName(item.response, name), id: item.id };
  kept[slot] = { name, item: named };
  return named;
}

/** An error for a caller that knows the task of its call by a name. */
export function errorUnderName(error: unknown, name: string): unknown {
  if (!(error instanceof A2AError) || error.metadata["taskId"] === undefined) return error;
  const { code, message, cause, violations, metadata, retryAfterMs, challenge } = error;
  return new A2AError(code, message, {
    cause,
    violations,
    metadata: { ...metadata, taskId: name },
    retryAfterMs,
    challenge,
  });
}
