import { cases as credentials } from "./credentials.mjs";
import { cases as errors } from "./errors.mjs";
import { cases as messages } from "./messages.mjs";
import { cases as push } from "./push.mjs";
import { cases as tasks } from "./tasks.mjs";

/** A peer of the SDK whose version the program was told. */
export async function createPeer({ sdk, ...options }) {
  const { createPeer: create } = await import(`./sdk-${sdk}.mjs`);
  return create(options);
}

export const cases = { ...messages, ...tasks, ...push, ...credentials, ...errors };
