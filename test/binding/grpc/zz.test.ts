import { connect } from "node:http2";
import { expect, it } from "vitest";
import { echo, serviceOf } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";

it("probe", async () => {
  await using agent = await grpcAgent(serviceOf({ sendMessage: async (request) => echo(request) }), { http: (_q, s) => { s.end("hi"); } });
  const session = connect(`http://${agent.address}`);
  for (const path of ["/abc\xff", "/a%20", "/\u00e9", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Zip", "/grpc.zip/x"]) {
    const answer = await new Promise((resolve) => {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
      stream.on("response", (h) => { resolve({ ...h }); });
      stream.on("error", (e) => resolve(e));
      stream.resume();
      stream.end(Buffer.from([0, 0, 0, 0, 0]));
    });
    console.log(path, answer);
  }
  const t = await new Promise((resolve) => {
      const stream = session.request({ ":method": "POST", ":path": "/lf.a2a.v1.A2AService/SendMessage", "content-type": "application/grpc", te: "trailers", "grpc-timeout": "99999999H" });
      stream.on("response", (h) => { resolve({ ...h }); });
      stream.on("error", (e) => resolve(e));
      stream.resume();
      setTimeout(() => stream.end(Buffer.from([0, 0, 0, 0, 0])), 300);
    });
  console.log(t);
  session.close();
});
