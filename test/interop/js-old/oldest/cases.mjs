import { cases as credentials } from "./credentials.mjs";
import { cases as errors } from "./errors.mjs";
import { cases as tasks } from "./tasks.mjs";

export { createPeer } from "./peer.mjs";

export const cases = { ...tasks, ...credentials, ...errors };
