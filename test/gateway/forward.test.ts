import { describe, expect, it } from "vitest";
import { checkForwardNames } from "../../src/gateway/forward.js";

describe("headers to pass on", () => {
  it("headers to pass on are names without case, each once", () => {
    expect(checkForwardNames(["Authorization", "X-Key", "authorization"])).toEqual(["authorization", "x-key"]);
    expect(checkForwardNames(undefined)).toEqual([]);
  });

  it.each(["host", "Content-Length", "a2a-version", "A2A-Extensions", "Last-Event-ID", "grpc-timeout", "trace-bin"])(
    "headers to pass on cannot come from the call itself: %s",
    (name) => {
      expect(() => checkForwardNames([name])).toThrow(`forward: ${name.toLowerCase()} belongs to the call`);
    },
  );

  it.each(["", "two words", "a:b", "a\nb"])("headers to pass on have to be names: %j", (name) => {
    expect(() => checkForwardNames([name])).toThrow("is not the name of a header");
  });
});
