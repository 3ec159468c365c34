import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import type { JsonValue } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Binding, bindingNames } from "../protocol/bindings.js";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../protocol/context.js";
import { invokeStream, invokeUnary, type Operation, operations } from "../protocol/operations.js";
import type { JsonRpcAdapter } from "../version/codec.js";
import { v1 } from "../version/v1.0/v1.js";
import { versionTable } from "../version/versions.js";
import { hasText, printText } from "./answer-text.js";
import { addCallerOptions, callerOptions } from "./caller.js";
import { type ConnectionFlags, connect, connectOptions } from "./connect.js";
import { runInterruptible } from "./interruption.js";
import { showAuthorization } from "./login/login.js";
import { appendText, checkUsage } from "./option-values.js";
import { print, printJson } from "./print.js";
import { parseTarget } from "./target.js";

interface CallFlags extends ConnectionFlags {
  readonly extension?: readonly string[];
  readonly lastEventId?: string;
  readonly ids: boolean;
  readonly text: boolean;
}

const examples = `
Examples:
  trivium call http://127.0.0.1:41241 SendMessage '{"message":{"parts":[{"text":"Hello."}]}}'
  trivium call 127.0.0.1:41241 ListTasks '{"pageSize":10}'
  trivium call https://agent.example/http-json SubscribeToTask - < request.json`;

/** `trivium call`. */
export function callCommand(command: Command): void {
  command
    .argument("<url>", "base URL of the agent or URL of its card, URL of an interface, or host:port of gRPC")
    .argument("<operation>", "SendMessage, GetTask, …", parseOperation)
    .argument("[json]", "the request in the JSON of the newest version; - reads it from standard input", "{}")
    .addOption(
      new Option("--binding <binding>", `${bindingNames.join(", ")}; default: by the card or the URL`).argParser(
        parseBinding,
      ),
    )
    .addOption(
      new Option(
        "--protocol-version <version>",
        "the only protocol version to use; default: the newest in the card",
      ).choices(versionTable.map(({ name }) => name)),
    );
  addCallerOptions(command)
    .option("--extension <uri>", "extension to activate; may be repeated", appendText)
    .option("--last-event-id <id>", "resume after this event of a stream")
    .option("--ids", "print each event of a stream as { id, event }", false)
    .option("--text", "print only the text of the answer, of a stream as it arrives", false)
    .option("--verbose", "report on stderr which interface is used, and why others are not", false)
    .addHelpText("after", examples)
    .action((url: string, operation: Operation, json: string, flags: CallFlags) =>
      call(command, { url, operation, json }, flags),
    );
}

interface CallArguments {
  readonly url: string;
  readonly operation: Operation;
  readonly json: string;
}

async function call(command: Command, { url, operation, json }: CallArguments, flags: CallFlags): Promise<void> {
  const adapter = jsonAdapter();
  const target = checkUsage(command, () => parseTarget(url, flags.binding));
  if ((flags.credential ?? flags.login) !== undefined && target.kind === "interface") {
    command.error(
      "error: credentials by scheme and --login need the card of the agent: give its base URL, or a bearer token",
    );
  }
  const caller = checkUsage(command, () => callerOptions(flags, url));
  if (flags.text && !hasText(operation)) {
    command.error(`error: --text is for operations that answer with a task or a message, not for ${operation.method}`);
  }
  const source = json === "-" ? await text(process.stdin) : json;
  const input = checkUsage(command, () => JSON.parse(source) as JsonValue, "the request is not JSON: ");
  const request = adapter.codec(operation).readRequest(completeMessage(operation, input));
  await runInterruptible(async (signal) => {
    await using client = await connect(target, {
      ...connectOptions(flags),
      ...caller,
      signal,
      onAuthRequired: showAuthorization(flags),
    });
    const options: CallOptions = { signal, extensions: flags.extension, after: flags.lastEventId };
    if (flags.text) return await printText(client, { operation, request, options });
    if (!operation.streams) {
      const reply = await invokeUnary(client.operations, operation, request, options);
      return printJson(adapter.codec(operation).writeReply(reply, request));
    }
    const writer = adapter.writeStream(operation, request);
    for await (const item of invokeStream(client.operations, operation, request, options)) {
      for (const { payload, id = null } of writer.write(item)) {
        await print(flags.ids ? `{"id":${JSON.stringify(id)},"event":${payload}}` : payload);
      }
    }
  });
}

/** Adds a new id and the role of a user to a message without them, so that a command can be run again as it is. */
function completeMessage({ name }: Operation, input: JsonValue): JsonValue {
  if ((name !== "sendMessage" && name !== "sendStreamingMessage") || !isJsonObject(input)) return input;
  const { message } = input;
  if (!isJsonObject(message)) return input;
  return { ...input, message: { messageId: randomUUID(), role: "ROLE_USER", ...message } };
}

function jsonAdapter(): JsonRpcAdapter {
  if (v1.jsonRpc === undefined) throw new TypeError(`version ${v1.name} has no JSON`);
  return v1.jsonRpc;
}

const byPlainName = new Map(operations.map((operation) => [plainName(operation.method), operation]));

function plainName(name: string): string {
  return name.replace(/[-_\s]/g, "").toLowerCase();
}

function parseOperation(name: string): Operation {
  const operation = byPlainName.get(plainName(name));
  if (operation !== undefined) return operation;
  throw new InvalidArgumentError(`The operations are ${operations.map(({ method }) => method).join(", ")}.`);
}

function parseBinding(name: string): Binding {
  const binding = bindingNames.find((each) => each === name.toUpperCase());
  if (binding !== undefined) return binding;
  throw new InvalidArgumentError(`The bindings are ${bindingNames.join(", ")}.`);
}
