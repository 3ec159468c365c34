import { text } from "node:stream/consumers";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { credentials } from "@grpc/grpc-js";
import { collect, send, textOf } from "./peer.mjs";

// The official JavaScript SDK as the callers of a fleet: sends and streams to each target, one call behind another, until
// its input ends, and prints one line of JSON for each call. A target is an agent's URL and the binding to call it over.

const factories = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  "HTTP+JSON": () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory({ grpcChannelCredentials: credentials.createSsl() }),
};

const calls = {
  async send(client, request) {
    const answer = await client.sendMessage(request);
    // A reply that takes long is the message of a task.
    return textOf(answer.status?.message ?? answer);
  },
  async stream(client, request) {
    const events = await collect(client.sendMessageStream(request));
    const artifacts = events.filter(({ $case }) => $case === "artifactUpdate");
    return artifacts.map(({ value }) => textOf(value.artifact)).join("");
  },
};

const [, , targets, ...texts] = process.argv;
let isOver = false;
void text(process.stdin).then(() => {
  isOver = true;
});

await Promise.all(JSON.parse(targets).map(run));
// Channels that the SDK gives no way to close would keep the process.
process.exit(0);

async function run({ name, url, binding }) {
  const card = await new DefaultAgentCardResolver().resolve(url);
  card.supportedInterfaces = card.supportedInterfaces
    .filter(({ protocolBinding }) => protocolBinding === binding)
    .map((each) => ({
      ...each,
      url: binding === "GRPC" ? new URL(url).host : new URL(new URL(each.url).pathname, url).href,
    }));
  const factory = new ClientFactory({ transports: [factories[binding]()] });
  const client = await factory.createFromAgentCard(card);
  await Promise.all(Object.keys(calls).map((call, index) => repeat({ name, call }, client, texts[index])));
}

async function repeat(what, client, content) {
  while (!isOver) {
    const request = send(content);
    const line = { ...what, id: request.message.messageId };
    try {
      report({ ...line, text: await calls[what.call](client, request) });
    } catch (error) {
      report({ ...line, error: `${error?.stack ?? error}` });
    }
  }
}

function report(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
