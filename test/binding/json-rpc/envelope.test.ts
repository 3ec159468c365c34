import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { readRpcRequest } from "../../../src/binding/json-rpc/envelope.js";
import { noop } from "../../../src/protocol/async/noop.js";

const beyond = "9007199254740993";
const idOf = (text: string): string | undefined => readRpcRequest(text, noop).id;

describe("the id of a JSON-RPC request", () => {
  it.each([
    [
      "among members of the same name in the parameters",
      `{"params":{"id":1,"x":[{"id":2}]},"id":${beyond},"method":"m"}`,
    ],
    ["behind strings with quotes, braces and backslashes", `{"method":"\\"}{\\\\\\\\","x":"\\\\","id":${beyond}}`],
    ["given twice: the last one counts", `{"id":1,"method":"m","id" : ${beyond} }`],
    ["with an escaped key", `{"\\u0069\\u0064":${beyond},"method":"m"}`],
    ["where a value is called id", `{"id":${beyond},"method":"id","x":"id"}`],
  ])("the id of a JSON-RPC request is echoed digit by digit beyond 53 bits, %s", (_where, text) => {
    expect(idOf(text)).toBe(beyond);
  });

  it.each(["1e400", "-1.5e300", "12345678901234567890.5"])(
    "the id of a JSON-RPC request may be any number: %s",
    (id) => {
      expect(idOf(`{"method":"m","id":${id}}`)).toBe(id);
    },
  );

  it("the id of a JSON-RPC request is found whatever else is in the request", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.string(), (before, after, key) => {
        const text = `{${JSON.stringify(`x${key}`)}:${JSON.stringify(before)},"id":${beyond},"params":${JSON.stringify({ id: after })},"method":"m"}`;
        expect(idOf(text)).toBe(beyond);
      }),
    );
  });

  it("the id of a JSON-RPC request is exact below any nesting, and the request is parsed once", () => {
    const parse = vi.spyOn(JSON, "parse");
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(idOf(`{"params":${deep},"id":${beyond},"method":"m"}`)).toBe(beyond);
    expect(parse.mock.calls.filter(([text]) => text.length > 100)).toHaveLength(1);
    parse.mockRestore();
  });
});
