import { artifact, authRequired, completed, park, working } from "trivium";
import { expect, it } from "vitest";
import { readAuthorization } from "../../../src/protocol/authorization/request.js";
import { TaskState } from "../../../src/protocol/model.js";
import { say, textIn } from "../../support/say.js";
import { overEach } from "../../support/serve-agent.js";
import { wiresOf } from "../../support/wires.js";

// A task that waits for an authorization out of band, for callers that know nothing of the extension.

const request = { url: "https://id.example/device", userCode: "WDJB-MJHT", scopes: ["calendar"] };

// 0.1 has no such state.
overEach(wiresOf("1.0", "0.3", "0.2"), (start) => {
  // Requirements: V1-STREAM-16
  it("a caller reads what to authorize as text, a program reads it as data, and the stream goes on afterwards", async () => {
    const isGranted = Promise.withResolvers<void>();
    await using served = await start({
      async *agent({ emit }) {
        await emit(authRequired(request));
        await isGranted.promise;
        yield working();
        yield artifact("your calendar");
        yield completed();
      },
    });
    const states: string[] = [];
    for await (const { response } of served.transport.sendStreamingMessage(say("go"), {})) {
      const { payload } = response;
      if (payload.case !== "statusUpdate") continue;
      const { status } = payload.value;
      states.push(TaskState[status?.state ?? 0] ?? "");
      if (status?.state !== TaskState.AUTH_REQUIRED) continue;
      expect(textIn(status.message?.parts)).toBe(
        "To authorize the agent, open https://id.example/device and enter the code WDJB-MJHT. It asks for: calendar",
      );
      expect(readAuthorization(status.message)).toEqual(request);
      isGranted.resolve();
    }
    expect(states.slice(-3)).toEqual(["AUTH_REQUIRED", "WORKING", "COMPLETED"]);
  });

  it("a parked task waits without a turn, and polls when it is due", async () => {
    let runs = 0;
    await using served = await start({
      limits: { minWakeIntervalMs: 20 },
      async *agent() {
        runs += 1;
        if (runs === 1) yield authRequired({ url: request.url });
        if (runs < 3) yield park({ wakeAt: Date.now() + 20 });
        else yield completed("done");
      },
    });
    const states: unknown[] = [];
    for await (const { response } of served.transport.sendStreamingMessage(say("go"), {})) {
      if (response.payload.case === "statusUpdate") states.push(response.payload.value.status?.state);
    }
    expect(states.at(-1)).toBe(TaskState.COMPLETED);
    expect(states.filter((state) => state === TaskState.AUTH_REQUIRED)).toHaveLength(1);
    expect(runs).toBe(3);
  });
});
