import { A2AError, type Caller, gateway, type Principal } from "trivium";
import { describe, expect, it } from "vitest";
import { errorOf, requestOf, say, stateOf, taskOf } from "../support/say.js";
import { bindings, startScene } from "./scene.js";

const names = ["authorization", "x-api-key", "cookie", "x-other"] as const;
const secrets = { authorization: "Bearer ada", "x-api-key": "k", cookie: "c=1", "x-other": "o" };
const anyTask = requestOf("getTask", { id: "nowhere" });

/** An `authenticate` that records the credentials and uses the token as the caller's name. */
function doorman() {
  const shown: Record<string, string>[] = [];
  const authenticate = (caller: Caller): Principal => {
    const entries = names.flatMap((name) => {
      const value = caller.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    shown.push(Object.fromEntries(entries));
    const token = caller.header("authorization");
    if (token === "Bearer wrong") {
      throw new A2AError("unauthenticated", "not this one", { challenge: 'Bearer realm="port"' });
    }
    if (token === "Bearer poor") {
      throw new A2AError("permissionDenied", "too little", { challenge: 'Bearer error="insufficient_scope"' });
    }
    return { owner: token ?? "nobody" };
  };
  return { shown, authenticate };
}

describe.each(["JSONRPC", "HTTP+JSON", "GRPC"] as const)("in front of %s", (spoken) => {
  describe.each(bindings)("a caller over %s", (binding) => {
    it("a caller of a gateway stays unknown to the agent unless configured", async () => {
      const { shown, authenticate } = doorman();
      await using scene = await startScene({ behind: { bindings: [spoken], authenticate } });
      const { operations } = await scene.over(binding, { headers: secrets });
      shown.length = 0;
      await errorOf(operations.getTask(anyTask, {}));
      await operations.sendMessage(say("echo hi"), {});
      await errorOf(operations.subscribeToTask(requestOf("subscribeToTask", { id: "nowhere" }), {}));
      expect(shown.length).toBeGreaterThanOrEqual(3);
      expect(shown).toEqual(shown.map(() => ({})));
    });

    it("a caller of a gateway sends the agent the configured headers, beside the gateway's", async () => {
      const { shown, authenticate } = doorman();
      await using scene = await startScene({
        behind: { bindings: [spoken], authenticate },
        gateway: { forward: ["Authorization", "x-api-key"], client: { headers: { "x-other": "of the gateway" } } },
      });
      const { operations } = await scene.over(binding, { headers: secrets });
      shown.length = 0;
      await errorOf(operations.getTask(anyTask, {}));
      await errorOf(operations.subscribeToTask(requestOf("subscribeToTask", { id: "nowhere" }), {}));
      const wanted = { authorization: "Bearer ada", "x-api-key": "k", "x-other": "of the gateway" };
      expect(shown.length).toBeGreaterThanOrEqual(2);
      expect(shown).toEqual(shown.map(() => wanted));
    });

    it.each([
      ["wrong", "unauthenticated", "not this one", 'Bearer realm="port"'],
      ["poor", "permissionDenied", "too little", 'Bearer error="insufficient_scope"'],
    ])(
      "a caller of a gateway gets the agent's challenge to a token that is %s",
      async (token, code, message, challenge) => {
        const { authenticate } = doorman();
        await using scene = await startScene({
          behind: { bindings: [spoken], authenticate },
          gateway: { forward: ["authorization"] },
        });
        const { operations } = await scene.over(binding, { headers: { authorization: `Bearer ${token}` } });
        const error = await errorOf(operations.getTask(anyTask, {}));
        expect(error).toMatchObject({ code, message });
        // gRPC cannot carry the challenge.
        if (spoken !== "GRPC" && binding !== "GRPC") expect(error.challenge).toBe(challenge);
      },
    );
  });
});

describe("a gateway", () => {
  it("a gateway keeps the tasks of callers apart when the agent authenticates them", async () => {
    const { authenticate } = doorman();
    await using scene = await startScene({ behind: { authenticate }, gateway: { forward: ["authorization"] } });
    const ada = await scene.over("GRPC", { headers: { authorization: "Bearer ada" } });
    const bob = await scene.over("JSONRPC", { headers: { authorization: "Bearer bob" } });
    const { id } = taskOf(await ada.operations.sendMessage(say("echo mine"), {}));
    expect(stateOf(await ada.operations.getTask(requestOf("getTask", { id }), {}))).toBe("COMPLETED");
    expect((await errorOf(bob.operations.getTask(requestOf("getTask", { id }), {}))).code).toBe("taskNotFound");
  });

  it("a gateway is one caller to the agent, with its own credentials", async () => {
    const { shown, authenticate } = doorman();
    const credentials = () => ({ headers: { authorization: "Bearer gateway" } });
    await using scene = await startScene({ behind: { authenticate }, gateway: { client: { credentials } } });
    const { operations } = await scene.over("JSONRPC", { headers: secrets });
    shown.length = 0;
    await errorOf(operations.getTask(anyTask, {}));
    expect(shown).toEqual([{ authorization: "Bearer gateway" }]);
  });

  it("a gateway can authenticate its own callers", async () => {
    const authenticate = (caller: Caller): Principal => {
      if (caller.header("authorization") !== "Bearer ada") throw new A2AError("unauthenticated", "who is it");
      return { owner: "ada" };
    };
    await using scene = await startScene({ gateway: { authenticate } });
    const stranger = await scene.over("HTTP+JSON");
    expect(await errorOf(stranger.operations.getTask(anyTask, {}))).toMatchObject({ message: "who is it" });
    const ada = await scene.over("HTTP+JSON", { headers: { authorization: "Bearer ada" } });
    expect((await errorOf(ada.operations.getTask(anyTask, {}))).code).toBe("taskNotFound");
  });

  it("a gateway listens on other interfaces only with authentication, or when all callers are allowed", async () => {
    await using scene = await startScene();
    const options = { upstream: scene.behind.url, port: 0, host: "0.0.0.0" };
    await expect(gateway(options)).rejects.toThrow("host 0.0.0.0 can be reached from other machines");
    await using open = await gateway({ ...options, anonymous: "shared" });
    expect((await fetch(`http://127.0.0.1:${open.port}/healthz`)).status).toBe(200);
  });

  it("a gateway refuses to forward headers of its own calls", async () => {
    await using scene = await startScene();
    await expect(gateway({ upstream: scene.behind.url, port: 0, forward: ["host"] })).rejects.toThrow(
      "forward: host belongs to the call of the gateway itself: remove it",
    );
  });

  it("a gateway keeps the tenants of its own callers to itself", async () => {
    await using scene = await startScene({ gateway: { authenticate: () => ({ owner: "ada", tenant: "acme" }) } });
    const { operations } = await scene.over("HTTP+JSON");
    const { id } = taskOf(await operations.sendMessage(say("echo hi", { tenant: "acme" }), {}));
    const read = await operations.getTask(requestOf("getTask", { id, tenant: "acme" }), {});
    expect(stateOf(read)).toBe("COMPLETED");
    const other = await errorOf(operations.getTask(requestOf("getTask", { id, tenant: "other" }), {}));
    expect(other.code).toBe("invalidParams");
  });

  it("a gateway refreshes the card of its agent at a configurable interval", async () => {
    await using scene = await startScene();
    await expect(gateway({ upstream: scene.behind.url, port: 0, refreshMs: Number.NaN })).rejects.toThrow(
      "refreshMs must be a number of 0 or more, not NaN",
    );
  });
});
