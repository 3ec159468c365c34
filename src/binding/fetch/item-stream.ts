import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { type ReportOmission, readAnswer } from "../../protocol/codec/json/reading.js";
import type { CallOptions } from "../../protocol/context.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";
import type { StreamReader } from "../../version/codec.js";
import { isEventStream, readEvents } from "./answer.js";
import type { UnreadAnswer } from "./call.js";
import { isEmptyEvent } from "./event-stream-reader.js";

interface StreamingClient {
  readonly adapter: { readStream(operation: Operation, request?: AnyMessage): StreamReader<JsonValue> };
  readonly replyMaxBytes: number;
  readonly onLeftOut: ReportOmission | undefined;
}

interface StreamingCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
  /** Aborts when the reader leaves. */
  readonly leaveSignal?: AbortSignal | undefined;
}

/** How a JSON binding sends a streaming call and reads what comes. */
export interface StreamForm<Client, Call> {
  send(client: Client, call: Call): Promise<UnreadAnswer>;
  /**
   * Reads the JSON in the data of an event. `isNamed`: the event has a name other than `message`. Such an event may
   * hold no answer, as a ping does not; then it is read as `null`.
   */
  readEvent(client: Client, data: string, isNamed: boolean): JsonValue;
  /** Reads the JSON of a response that is no event stream. */
  readWhole(client: Client, answer: UnreadAnswer): Promise<JsonValue>;
}

/** Sends a streaming call and reads its items until the last one. Once its reader has left it ends without an error. */
export async function* readItems<Client extends StreamingClient, Call extends StreamingCall>(
  form: StreamForm<Client, Call>,
  client: Client,
  call: Call,
): AsyncGenerator<StreamItem, void, undefined> {
  const reader = client.adapter.readStream(call.operation, call.request);
  const read: StreamReader<JsonValue>["read"] = (json, head) =>
    readAnswer(client, call.options, () => reader.read(json, head));
  try {
    const answer = await form.send(client, call);
    if (!isEventStream(answer)) {
      yield* read(await form.readWhole(client, answer));
      return;
    }
    for await (const events of readEvents(answer, client.replyMaxBytes)) {
      for (const { data, id, event: name } of events) {
        // The reader also gets events without an answer, since in some versions the name of an event ends the stream.
        const isNamed = name !== undefined && name !== "message";
        const json = isEmptyEvent(data) ? null : form.readEvent(client, data, isNamed);
        // `yield*` would cost an async generator more for each item.
        for (const item of read(json, { id, name })) yield item;
        if (reader.isOver === true) return;
      }
    }
  } catch (error) {
    if (call.leaveSignal?.aborted !== true) throw error;
  }
}
