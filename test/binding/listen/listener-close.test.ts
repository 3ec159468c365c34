import { expect, it } from "vitest";
import { createListener } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session } from "../../support/http-calls.js";
import { leftOpen, openHandles } from "../../support/leaks.js";

// In a file of its own, since uncollected handles of other tests would count.
it("a listener that is closed leaves nothing open", async () => {
  const before = openHandles();
  const arrived: (() => void)[] = [];
  const arrival = () => new Promise<void>((resolve) => arrived.push(resolve));
  const http = (): void => arrived.shift()?.();
  const listener = await createListener({ host: "127.0.0.1", port: 0, http });
  const both = Promise.all([arrival(), arrival()]);
  const session = await http2Session(listener.port);
  const stuck = Promise.allSettled([getOverHttp1(listener.port, "/"), getOverHttp2(session, "/")]);
  await both;
  // Both ends of two connections are in this process.
  expect(openHandles()["TCPSocketWrap"]).toBeGreaterThanOrEqual(4);
  await listener.close();
  await listener.close();
  expect((await stuck).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await leftOpen(before)).toEqual({});
});
