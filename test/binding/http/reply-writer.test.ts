import { describe, expect, it } from "vitest";
import {
  AccountedBody,
  type AccountedCall,
  accountReply,
  EventStream,
  type EventStreamCall,
} from "../../../src/binding/http/reply-writer.js";
import { smallReplyBytes } from "../../../src/binding/server-call.js";
import { noop } from "../../../src/protocol/async/noop.js";
import { runSteps } from "../../../src/protocol/async/run-steps.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { statusItem } from "../../support/echo-service.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

const large = new Uint8Array(smallReplyBytes + 1);

/** A call that records what is booked, and how often it ends. */
function recordingCall() {
  const seen = { booked: 0, most: 0, ends: 0 };
  const call: AccountedCall = {
    hold(bytes) {
      seen.booked += bytes;
      seen.most = Math.max(seen.most, seen.booked);
    },
    release(bytes) {
      seen.booked -= bytes;
    },
    countReply: noop,
    end() {
      seen.booked = 0;
      seen.ends += 1;
    },
  };
  return { seen, call };
}

async function* piecesOf(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

describe("the pieces of a reply", () => {
  it("the pieces of a reply are booked one by one while the socket has them, and end the call once", async () => {
    const { seen, call } = recordingCall();
    const body = new AccountedBody(piecesOf(large, new Uint8Array(10), large), call);
    const booked: number[] = [];
    for await (const piece of body) booked.push(seen.booked, piece.length);
    expect(booked).toEqual([large.length, large.length, 0, 10, large.length, large.length]);
    await body.return();
    expect(seen).toEqual({ booked: 0, most: large.length, ends: 1 });
  });

  it("the pieces of a whole reply are booked until all of it is taken", async () => {
    const { seen, call } = recordingCall();
    const { body } = accountReply(call, { status: 200, headers: {}, body: large });
    expect(seen).toMatchObject({ booked: large.length, ends: 0 });
    for await (const _ of body as AsyncIterable<Uint8Array>) expect(seen.booked).toBe(large.length);
    expect(seen).toEqual({ booked: 0, most: large.length, ends: 1 });
  });
});

describe("an event stream without events", () => {
  const keepAliveMs = 4_000;

  function openStream(limitMs: number) {
    const clock = createVirtualClock();
    const { seen, call } = recordingCall();
    const first = Promise.withResolvers<IteratorResult<StreamItem>>();
    const steps = [first.promise];
    const never = new Promise<never>(noop);
    const items = { [Symbol.asyncIterator]: () => ({ next: () => steps.shift() ?? never }) };
    const streamCall: EventStreamCall = {
      ...call,
      isLarge: () => false,
      reserve: () => 0,
      work: runSteps,
      service: { limits: { keepAliveMs: limitMs }, clock },
    };
    const writer = { write: () => [{ payload: "{}" }] };
    const stream = new EventStream(items, { writer, writeFailure: String }, streamCall);
    return { stream, clock, seen, push: () => first.resolve({ done: false, value: statusItem(1) }) };
  }

  it("an event stream without events opens with a comment, then sends one for each keepAliveMs", async () => {
    const { stream, clock, seen } = openStream(keepAliveMs);
    await clock.advance(1_999);
    let isOpen = false;
    void stream.opened.then(() => {
      isOpen = true;
    });
    await clock.advance(0);
    expect(isOpen).toBe(false);
    await clock.advance(1);
    expect(isOpen).toBe(true);
    expect(await stream.next()).toEqual({ done: false, value: ": keep-alive\n" });
    for (let silence = 0; silence < 3; silence += 1) {
      const next = stream.next();
      let taken: unknown;
      void next.then((piece) => {
        taken = piece;
      });
      await clock.advance(keepAliveMs - 1);
      expect(taken).toBeUndefined();
      await clock.advance(1);
      expect(taken).toEqual({ done: false, value: ": keep-alive\n" });
    }
    await stream.return();
    expect([clock.pending(), seen.ends]).toEqual([[], 1]);
  });

  it("an event stream without events gets no comment but the first when keepAliveMs is Infinity", async () => {
    const { stream, clock, push } = openStream(Number.POSITIVE_INFINITY);
    await clock.advance(2_000);
    expect(await stream.next()).toEqual({ done: false, value: ": keep-alive\n" });
    const next = stream.next();
    await clock.advance(2 ** 31);
    push();
    expect(await next).toEqual({ done: false, value: "data: {}\n\n" });
    await stream.return();
  });
});
