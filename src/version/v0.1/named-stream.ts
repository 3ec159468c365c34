import { over, type Step, type StepStream, streamOfSteps } from "../../protocol/async/steps.js";
import { A2AError, changeError } from "../../protocol/errors.js";
import type { StreamItem } from "../../protocol/operations.js";
import { NameTaken, responseUnderName } from "../../protocol/task-names.js";

/**
 * The stream of a task whose caller uses a name for it. Opens on the first read. Reopens, up to `tries` attempts in
 * all, if the name was given to another task before the first item.
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
      // Closed while opening. The message is still sent, as in any other stream.
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

// Cached on the item, which all readers that keep up share, so that each version encodes it once. A task has one name,
// but callers may use its id as well.
function itemUnderName(item: StreamItem, name: string): StreamItem {
  const cachedItem: StreamItem & { [slot]?: { readonly name: string; readonly item: StreamItem } } = item;
  if (cachedItem[slot]?.name === name) return cachedItem[slot].item;
  // Not a spread: the other caches on the item belong to the event without the name.
  const renamedItem = { response: responseUnderName(item.response, name), id: item.id };
  cachedItem[slot] = { name, item: renamedItem };
  return renamedItem;
}

/** Returns the error for a caller that uses a name for the task of its call. */
export function errorUnderName(error: unknown, name: string): unknown {
  if (!(error instanceof A2AError) || error.metadata["taskId"] === undefined) return error;
  return changeError(error, { metadata: { ...error.metadata, taskId: name } });
}
