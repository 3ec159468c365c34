import { type AuthOptions, reply } from "trivium";
import { apiKey, basic } from "trivium/auth";
import { expect, it } from "vitest";
import { errorOf, say } from "../../support/say.js";
import { startAgent } from "../../support/serve-agent.js";
import { wires } from "../../support/wires.js";

// What JavaScript can return, whatever the types say. Callers without a name would all be one owner.
const nameless = JSON.parse('{ "user": "alice" }');
const key = apiKey({ in: "header", name: "x-api-key", verify: () => "alice" });
const headers = { "x-api-key": "k", authorization: `Basic ${btoa("alice:s")}` };

it.each<[string, string, AuthOptions]>([
  [
    "verify of an API key",
    "apiKey: verify",
    { schemes: { s: apiKey({ in: "header", name: "x-api-key", verify: () => nameless }) } },
  ],
  ["verify of a password", "basic: verify", { schemes: { s: basic({ verify: () => nameless }) } }],
  [
    "principal",
    "auth.principal must return an object whose owner is a text of one character or more",
    { schemes: { s: key }, principal: () => nameless },
  ],
])(
  "the agent does not run when %s names no caller, and the log says what must be returned",
  async (_, complaint, auth) => {
    let runs = 0;
    for (const wire of wires) {
      await using served = await startAgent(wire, {
        auth,
        async *agent() {
          runs += 1;
          yield reply("hello");
        },
      });
      const error = await errorOf(served.client.sendMessage(say("hi"), { headers }));
      expect(error).toMatchObject({ code: "internalError" });
      expect(error.message).not.toContain(complaint);
      expect(served.log.map(({ fields }) => "err" in fields && String(fields.err)).join()).toContain(complaint);
    }
    expect(runs).toBe(0);
  },
);
