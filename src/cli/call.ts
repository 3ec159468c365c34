import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { JsonValue } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { CallOptions } from "../protocol/context.js";
import { invokeStream, invokeUnary, type Operation, type Operations, operations } from "../protocol/operations.js";
import { v1 } from "../version/v1.0/v1.js";
import { type CallBinding, callBindings, type Target, targetOf } from "./target.js";

interface CallFlags {
  readonly binding?: CallBinding;
  readonly header: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly extension?: readonly string[];
  readonly lastEventId?: string;
  readonly ids: boolean;
}

const examples = `
Examples:
  trivium call http://127.0.0.1:41241 SendMessage '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hello."}]}}'
  trivium call 127.0.0.1:41241 ListTasks '{"pageSize":10}'
  trivium call https://agent.example/http-json SubscribeToTask - --header 'Authorization: Bearer …' < request.json`;

/** Adds `trivium call`. */
export function addCall(program: Command): void {
  program
    .command("call")
    .description("call one operation of an agent and print its reply as JSON, a stream as one object a line")
    .argument("<url>", "URL of an interface, host:port of gRPC, or base URL of the agent")
    .argument("<operation>", "SendMessage, GetTask, …", parseOperation)
    .argument("[json]", "the request in the JSON of the protocol; - reads it from standard input", "{}")
    .addOption(new Option("--binding <binding>", "default: what the URL says, else json-rpc").choices(callBindings))
    .option("--header <name:value>", "header or gRPC metadata of the call; may be repeated", addHeader, {})
    .option("--timeout <ms>", "limit of the whole call in milliseconds", parseTimeout)
    .option("--extension <uri>", "extension to activate; may be repeated", addExtension)
    .option("--last-event-id <id>", "go on behind this event of a stream")
    .option("--ids", "print each event of a stream as { id, event }", false)
    .addHelpText("after", examples)
    .action(call);
}

async function call(
  url: string,
  operation: Operation,
  json: string,
  flags: CallFlags,
  command: Command,
): Promise<void> {
  const face = faceOf(v1.jsonRpc);
  const target = understood(command, () => targetOf(url, flags.binding));
  const source = json === "-" ? await text(process.stdin) : json;
  const input = understood(command, () => JSON.parse(source) as JsonValue, "the request is no JSON: ");
  const request = face.codec(operation).readRequest(input);
  const { header: headers, timeout: timeoutMs, extension: extensions, lastEventId: after } = flags;
  const options: CallOptions = { headers, timeoutMs, extensions, after };
  const transport = await connect[target.binding](target);
  try {
    if (!operation.streams) {
      const reply = face
        .codec(operation)
        .writeReply(await invokeUnary(transport, operation, request, options), request);
      await print(JSON.stringify(reply, null, process.stdout.isTTY ? 2 : undefined));
      return;
    }
    const writer = face.writeStream(operation, request);
    for await (const item of invokeStream(transport, operation, request, options)) {
      for (const { payload, id = null } of writer.write(item)) {
        await print(flags.ids ? `{"id":${JSON.stringify(id)},"event":${payload}}` : payload);
      }
    }
  } finally {
    transport.close?.();
  }
}

type Transport = Operations<CallOptions> & { readonly close?: () => void };

// Each is loaded when it is wanted: gRPC alone takes longer to load than the others to call.
const connect: Readonly<Record<CallBinding, (target: Target) => Promise<Transport>>> = {
  "json-rpc": async ({ address: url }) => {
    const { createJsonRpcTransport } = await import("../binding/json-rpc/client.js");
    return createJsonRpcTransport({ url, face: faceOf(v1.jsonRpc) });
  },
  "http-json": async ({ address: url }) => {
    const { createHttpJsonTransport } = await import("../binding/http-json/client.js");
    return createHttpJsonTransport({ url, face: faceOf(v1.httpJson) });
  },
  grpc: async ({ address }) => {
    const { createGrpcTransport } = await import("../binding/grpc/client.js");
    return createGrpcTransport({ address, face: faceOf(v1.grpc) });
  },
};

function faceOf<F>(face: F | undefined): F {
  if (face === undefined) throw new TypeError(`version ${v1.name} lacks a binding`);
  return face;
}

/** What cannot be understood is a matter of usage. */
function understood<T>(command: Command, read: () => T, prefix = ""): T {
  try {
    return read();
  } catch (error) {
    return command.error(`error: ${prefix}${error instanceof Error ? error.message : String(error)}`);
  }
}

async function print(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
}

const byPlainName = new Map(operations.map((operation) => [plain(operation.method), operation]));

function plain(name: string): string {
  return name.replace(/[-_\s]/g, "").toLowerCase();
}

function parseOperation(name: string): Operation {
  const operation = byPlainName.get(plain(name));
  if (operation !== undefined) return operation;
  throw new InvalidArgumentError(`The operations are ${operations.map(({ method }) => method).join(", ")}.`);
}

function parseTimeout(value: string): number {
  const timeoutMs = Number(value);
  // The longest that a timer of Node can wait.
  if (Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs < 2 ** 31) return timeoutMs;
  throw new InvalidArgumentError("It takes a whole number of milliseconds, 1 or more.");
}

function addHeader(header: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):(.*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("It takes name:value.");
  return { ...before, [name]: value.trim() };
}

function addExtension(uri: string, before: readonly string[] = []): readonly string[] {
  return [...before, uri];
}
