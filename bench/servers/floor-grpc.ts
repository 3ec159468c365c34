import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setImmediate as givenWay } from "node:timers/promises";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { type handleServerStreamingCall, type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { loadMessages } from "../built.ts";
import { answerText, artifactId, chunkText, parseScript, stamp } from "../corpus.ts";

/** Bare grpc-js with the messages of the project: replies, finished tasks, and streams of chunks. */
export async function listenGrpc(): Promise<number> {
  const { Role, SendMessageRequestSchema, SendMessageResponseSchema, StreamResponseSchema, TaskState } =
    await loadMessages();
  type Request = ReturnType<typeof deserializeRequest>;
  type Answer = Parameters<typeof serializeAnswer>[0];
  type Event = Parameters<typeof serializeEvent>[0];

  const deserializeRequest = (bytes: Buffer) => fromBinary(SendMessageRequestSchema, bytes);
  const serializeAnswer = (init: MessageInitShape<typeof SendMessageResponseSchema>) =>
    Buffer.from(toBinary(SendMessageResponseSchema, create(SendMessageResponseSchema, init)));
  const serializeEvent = (init: MessageInitShape<typeof StreamResponseSchema>) =>
    Buffer.from(toBinary(StreamResponseSchema, create(StreamResponseSchema, init)));
  const scriptOf = ({ message }: Request) => {
    const content = message?.parts[0]?.content;
    return parseScript(content?.case === "text" ? content.value : "");
  };
  const textPart = (text: string) => ({ content: { case: "text" as const, value: text } });
  const status = (state: (typeof TaskState)[keyof typeof TaskState]) => ({ state, timestamp: timestampNow() });

  const sendMessage: handleUnaryCall<Request, Answer> = ({ request }, callback) => {
    const { verb } = scriptOf(request);
    const contextId = randomUUID();
    if (verb === "message") {
      const message = { messageId: randomUUID(), contextId, role: Role.AGENT, parts: [textPart(answerText)] };
      callback(null, { payload: { case: "message", value: message } });
      return;
    }
    const id = randomUUID();
    const task = {
      id,
      contextId,
      status: status(TaskState.COMPLETED),
      artifacts: [{ artifactId: randomUUID(), parts: [textPart(answerText)] }],
      history: request.message === undefined ? [] : [{ ...request.message, taskId: id, contextId }],
    };
    callback(null, { payload: { case: "task", value: task } });
  };

  const sendStreamingMessage: handleServerStreamingCall<Request, Event> = async (call) => {
    const { verb, count } = scriptOf(call.request);
    const ids = { taskId: randomUUID(), contextId: randomUUID() };
    const write = async (payload: NonNullable<Event["payload"]>) => {
      await (call.write({ payload }) ? givenWay() : once(call, "drain"));
    };
    const task = { id: ids.taskId, contextId: ids.contextId, status: status(TaskState.WORKING) };
    await write({ case: "task", value: task });
    if (verb === "hold") return;
    for (let index = 0; index < count; index++) {
      const text = verb === "rush" && index === 0 ? stamp() : chunkText(index);
      const artifact = { artifactId, parts: [textPart(text)] };
      await write({ case: "artifactUpdate", value: { ...ids, artifact, append: index > 0 } });
    }
    await write({ case: "statusUpdate", value: { ...ids, status: status(TaskState.COMPLETED) } });
    call.end();
  };

  const common = { requestStream: false, requestSerialize: asIs, requestDeserialize: deserializeRequest } as const;
  const server = new Server();
  server.addService(
    {
      sendMessage: {
        ...common,
        path: "/lf.a2a.v1.A2AService/SendMessage",
        responseStream: false,
        responseSerialize: serializeAnswer,
        responseDeserialize: asIs,
      },
      sendStreamingMessage: {
        ...common,
        path: "/lf.a2a.v1.A2AService/SendStreamingMessage",
        responseStream: true,
        responseSerialize: serializeEvent,
        responseDeserialize: asIs,
      },
    },
    { sendMessage, sendStreamingMessage },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
