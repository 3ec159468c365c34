import type { ValidationLimits } from "../protocol/validation-limits.js";

/** How the bytes of a file stand in the binary form of a version in which peers disagree on it. */
export type FileBytes = "base64" | "raw";

export interface VersionOptions {
  /** What a request may hold. */
  readonly limits?: ValidationLimits | undefined;
  /** Form of file bytes towards a peer that has not shown its own. Default: `"base64"`. */
  readonly fileBytes?: FileBytes | undefined;
}
