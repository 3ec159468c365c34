import { create, fromJson, toJson, equals, toBinary, fromBinary } from "@bufbuild/protobuf";
import { it } from "vitest";
import { v1 } from "../src/version/v1.0/v1.ts";
import { SendMessageRequestSchema, StreamResponseSchema, SendMessageResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { operationOf } from "../src/protocol/operations.ts";
import { readJson } from "../src/protocol/json-reader.ts";
import { writeJson } from "../src/protocol/json-writer.ts";
import { validate } from "../src/protocol/validate.ts";
function bench(name: string, fn: () => unknown) {
  let best = Infinity;
  for (let r = 0; r < 8; r++) {
    const n = 50000; let sink: unknown;
    const t = process.hrtime.bigint();
    for (let i = 0; i < n; i++) sink = fn();
    const per = Number(process.hrtime.bigint() - t) / n / 1000;
    if (r > 1 && per < best) best = per;
    (globalThis as any).sink = sink;
  }
  console.log(name.padEnd(50), best.toFixed(3), "µs");
}
it("bench", () => {
  { const t = performance.now(); const c = v1.httpJson!.codec(operationOf("sendMessage")); c.readRequest({message:{messageId:"a",role:"ROLE_USER",parts:[{text:"x"}]}}); console.log("first read µs", (performance.now()-t)*1000); const u = performance.now(); writeJson(SendMessageResponseSchema, c.readReply({message:{messageId:"a",role:"ROLE_AGENT",parts:[{text:"x"}]}})); console.log("first write µs", (performance.now()-u)*1000); }
  const json = JSON.parse('{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Find a free berth for a 190 m ship on 12 May"}]},"configuration":{"acceptedOutputModes":["text/plain","application/json"],"historyLength":0}}');
  const small = JSON.parse('{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"Find a free berth for a 190 m ship on 12 May"}]}}');
  const event = JSON.parse('{"artifactUpdate":{"taskId":"t-400","contextId":"c-4","artifact":{"artifactId":"rep","name":"report.md","parts":[{"text":"# Shift 3\\n","mediaType":"text/markdown"}]},"append":true}}');
  const reply = JSON.parse('{"message":{"messageId":"m-3","contextId":"c-1","role":"ROLE_AGENT","parts":[{"text":"UTC."}]}}');
  const status = JSON.parse('{"statusUpdate":{"taskId":"t-400","contextId":"c-4","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-05-02T10:00:00.300Z"}}}');
  const send = v1.httpJson!.codec(operationOf("sendMessage"));
  const opts = { ignoreUnknownFields: true };
  for (let k = 0; k < 1; k++) {
    bench("read small + validate", () => send.readRequest(small));
    bench("fromJson small", () => fromJson(SendMessageRequestSchema, small, opts));
    bench("readJson small", () => readJson(SendMessageRequestSchema, small));
    const sm = readJson(SendMessageRequestSchema, small).message;
    bench("validate small (read)", () => validate(SendMessageRequestSchema, sm, undefined, { isRead: true }));
    bench("validate small (grpc)", () => validate(SendMessageRequestSchema, sm));
    bench("read E-1 + validate", () => send.readRequest(json));
    bench("fromJson E-1", () => fromJson(SendMessageRequestSchema, json, opts));
    for (const [n, d, j] of [["message reply", SendMessageResponseSchema, reply], ["artifactUpdate", StreamResponseSchema, event], ["statusUpdate", StreamResponseSchema, status]] as const) {
      const m: any = fromJson(d as any, j);
      bench(`write ${n}`, () => writeJson(d, m));
      bench(`toJson ${n}`, () => toJson(d as any, m));
      const w = writeJson(d, m);
      bench(`stringify ${n}`, () => JSON.stringify(w));
      bench(`write+stringify ${n}`, () => JSON.stringify(writeJson(d, m)));
      bench(`read ${n}`, () => readJson(d, j, { lenient: true }));
      bench(`fromJson ${n}`, () => fromJson(d as any, j, opts));
      bench(`toBinary ${n}`, () => toBinary(d as any, m));
    }
  }
});
