/** The client of the JavaScript SDK with its defaults. */
import { SendMessageRequest } from "@a2a-js/sdk";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { serveWork } from "../control.ts";
import { sendParams } from "../wire.ts";
import { argsOf, streamLength, workOf } from "./work.ts";

const { wire, http } = argsOf();
const Factory = wire.startsWith("grpc")
  ? GrpcTransportFactory
  : wire === "http-json"
    ? RestTransportFactory
    : JsonRpcTransportFactory;
const client = await new ClientFactory({ transports: [new Factory()] }).createFromUrl(http);

const message = async (n: number): Promise<string> => {
  const answer = await client.sendMessage(SendMessageRequest.fromJSON(sendParams("message", n)));
  const content = "parts" in answer ? answer.parts[0]?.content : undefined;
  return content?.$case === "text" ? content.value : "";
};

const stream = async (n: number): Promise<readonly string[]> => {
  const chunks: string[] = [];
  const request = SendMessageRequest.fromJSON(sendParams(`stream ${streamLength}`, n));
  for await (const { payload } of client.sendMessageStream(request)) {
    if (payload?.$case !== "artifactUpdate") continue;
    const content = payload.value.artifact?.parts[0]?.content;
    chunks.push(content?.$case === "text" ? content.value : "");
  }
  return chunks;
};

serveWork(workOf({ message, stream }, wire));
