import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { loadMessages } from "../built.ts";

const service = "/lf.a2a.v1.A2AService";

interface GrpcLoadOptions {
  /** Calls in flight. Default: 16. */
  readonly concurrency?: number;
  /** Metadata of every call. Default: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether to open a connection that no other loader uses. Default: clients of one port share one. */
  readonly ownConnection?: boolean;
}

/** A bare grpc-js client of the service: requests encoded by the caller's text, answers decoded and handed on. */
export async function createGrpcLoader(
  port: number,
  { concurrency = 16, metadata: more = {}, ownConnection = false }: GrpcLoadOptions = {},
) {
  const {
    SendMessageRequestSchema,
    SendMessageResponseSchema,
    StreamResponseSchema,
    SubscribeToTaskRequestSchema,
    Role,
  } = await loadMessages();
  const channel = ownConnection ? { "grpc.use_local_subchannel_pool": 1 } : {};
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), channel);
  const metadata = new Metadata();
  metadata.set("a2a-version", "1.0");
  for (const [name, value] of Object.entries(more)) metadata.set(name, value);
  let next = 0;

  const encode = (text: string) => {
    const parts = [{ content: { case: "text" as const, value: text } }];
    const message = { messageId: `m-${next++}`, role: Role.USER, parts };
    return Buffer.from(toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message })));
  };
  const decodeAnswer = (bytes: Buffer) => fromBinary(SendMessageResponseSchema, bytes);
  const decodeEvent = (bytes: Buffer) => fromBinary(StreamResponseSchema, bytes);
  const asIs = (bytes: Buffer) => bytes;

  const encodeId = (id: string) =>
    Buffer.from(toBinary(SubscribeToTaskRequestSchema, create(SubscribeToTaskRequestSchema, { id })));

  const send = (text: string) =>
    new Promise<ReturnType<typeof decodeAnswer>>((resolve, reject) => {
      client.makeUnaryRequest(
        `${service}/SendMessage`,
        asIs,
        decodeAnswer,
        encode(text),
        metadata,
        {},
        (error, answer) => (answer ? resolve(answer) : reject(error ?? new Error("no answer"))),
      );
    });

  return {
    /** Sends the text and gives the answer. */
    send,
    /** Sends the text `count` times with a fixed number in flight; `check` throws on a wrong answer. */
    run: async (text: string, count: number, check: (answer: ReturnType<typeof decodeAnswer>) => void) => {
      let callsLeft = count;
      const worker = async () => {
        while (callsLeft-- > 0) check(await send(text));
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
    },
    /** Sends the text and gives the events of its stream. */
    stream: (text: string): AsyncIterable<ReturnType<typeof decodeEvent>> =>
      client.makeServerStreamRequest(`${service}/SendStreamingMessage`, asIs, decodeEvent, encode(text), metadata, {}),
    /** Subscribes to a task and gives its events. */
    subscribe: (id: string): AsyncIterable<ReturnType<typeof decodeEvent>> =>
      client.makeServerStreamRequest(`${service}/SubscribeToTask`, asIs, decodeEvent, encodeId(id), metadata, {}),
    [Symbol.dispose]: () => client.close(),
  };
}
