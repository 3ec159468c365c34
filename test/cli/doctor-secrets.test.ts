import { expect, it } from "vitest";
import { checkAgent } from "../../src/cli/doctor/agent.js";
import { checkStreaming } from "../../src/cli/doctor/streaming.js";
import { agentElsewhere, key } from "../client/support/agent-elsewhere.js";
import { allBindings } from "../client/support/cards.js";

// A card may name any server; `trivium doctor` calls them all.

const anywhere = { allowPrivate: true, allowPlaintext: true, grpcTls: false };
const secrets = { credentials: () => ({ headers: { [key]: "k" } }), headers: { cookie: "session=1" } };

it.each(allBindings)(
  "trivium doctor shows no secret to an interface of %s at another host, unless it is trusted",
  async (binding) => {
    await using served = await agentElsewhere(binding);
    const check = { url: served.url, timeoutMs: 5000 };
    const { card, findings } = await checkAgent({ ...check, options: { ...anywhere, ...secrets } });
    expect(findings.at(-1)).toMatchObject({
      result: "warning",
      seen: expect.stringContaining("answers and wants credentials"),
      remedy: expect.stringMatching(/^secrets go to 127\.0\.0\.1 only, unless trustedOrigins lists .* \(--trust\)$/),
    });
    if (card === undefined) throw new Error("no card");
    await checkStreaming({ url: served.url, card, message: "say", options: { ...anywhere, ...secrets } });
    expect(new Set(served.agent.shown)).toEqual(new Set([undefined]));
    const trusted = { ...anywhere, ...secrets, trustedOrigins: [served.origin] };
    expect((await checkAgent({ ...check, options: trusted })).findings.at(-1)).toMatchObject({ result: "ok" });
  },
);
