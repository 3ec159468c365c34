import type { PushAdapter } from "../codec.js";
import { kindJsonText } from "./json/stream.js";

/** Webhooks of 0.2 and 0.3 carry the bare task, the only form that known receivers read. */
export const pushAdapter: PushAdapter = {
  mediaType: "application/json",
  tokenHeaders: ["X-A2A-Notification-Token"],
  delivers: "task",
  write: kindJsonText,
};
