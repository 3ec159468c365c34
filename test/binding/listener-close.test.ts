import { expect, it } from "vitest";
import { createListener } from "../../src/binding/listener.js";
import { getOverHttp1, getOverHttp2, http2Session } from "../support/http-calls.js";

// Alone in its file, since what other tests leave to be collected would count.
it("leaves nothing open", async () => {
  const open = () =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /TCP|Http|Timeout/.test(name))
      .sort();
  const before = open();
  const arrived: (() => void)[] = [];
  const arrival = () => new Promise<void>((resolve) => arrived.push(resolve));
  const http = (): void => arrived.shift()?.();
  const listener = await createListener({ host: "127.0.0.1", port: 0, http });
  const both = Promise.all([arrival(), arrival()]);
  const session = await http2Session(listener.port);
  const stuck = Promise.allSettled([getOverHttp1(listener.port, "/"), getOverHttp2(session, "/")]);
  await both;
  expect(open().length).toBeGreaterThan(before.length);
  await listener.close();
  await listener.close();
  expect((await stuck).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(open()).toEqual(before);
});
