/** Bare clients: `fetch` and `JSON.parse`, `fetch` with `eventsource-parser`, grpc-js with the messages of the project. */
import { createParser } from "eventsource-parser";
import { serveWork } from "../control.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import {
  type HttpCall,
  httpJsonCall,
  jsonRpcCall,
  jsonRpcResult,
  type PayloadJson,
  sendParams,
  textOf,
} from "../wire.ts";
import { argsOf, type ClientUnderMeasure, streamLength, workOf } from "./work.ts";

const { wire, http, port } = argsOf();
serveWork(workOf(wire.startsWith("grpc") ? await grpcClient() : httpClient(), wire));

function httpClient(): ClientUnderMeasure {
  const rpc = wire !== "http-json";
  const send = (verb: string) => (n: number) => sendParams(verb, n);
  const message = rpc ? jsonRpcCall("SendMessage", send("message")) : httpJsonCall("message:send", send("message"));
  const stream = jsonRpcCall("SendStreamingMessage", send(`stream ${streamLength}`));
  return {
    async message(n) {
      const body = await (await post(message, n)).text();
      const payload = rpc ? jsonRpcResult<PayloadJson>(body, n) : (JSON.parse(body) as PayloadJson);
      return textOf(payload.message);
    },
    async stream(n) {
      const chunks: string[] = [];
      const parser = createParser({
        onEvent({ data }) {
          const { artifactUpdate } = jsonRpcResult<PayloadJson>(data, n);
          if (artifactUpdate) chunks.push(textOf(artifactUpdate.artifact));
        },
      });
      const decoder = new TextDecoder();
      for await (const piece of (await post(stream, n)).body ?? [])
        parser.feed(decoder.decode(piece, { stream: true }));
      return chunks;
    },
  };
}

async function post(call: HttpCall, n: number): Promise<Response> {
  const headers = { "content-type": call.contentType, "a2a-version": "1.0" };
  const response = await fetch(`${http}${call.path}`, { method: "POST", headers, body: call.body(n) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response;
}

async function grpcClient(): Promise<ClientUnderMeasure> {
  const loader = await createGrpcLoader(port);
  return {
    async message() {
      const { payload } = await loader.send("message");
      const content = payload.case === "message" ? payload.value.parts[0]?.content : undefined;
      return content?.case === "text" ? content.value : "";
    },
    async stream() {
      const chunks: string[] = [];
      for await (const { payload } of loader.stream(`stream ${streamLength}`)) {
        if (payload.case !== "artifactUpdate") continue;
        const content = payload.value.artifact?.parts[0]?.content;
        chunks.push(content?.case === "text" ? content.value : "");
      }
      return chunks;
    },
  };
}
