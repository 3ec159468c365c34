import type { ValidationLimits } from "../protocol/validation-limits.js";

/** Encoding of file bytes over gRPC and HTTP+JSON in a version whose implementations disagree on it. */
export type FileBytes = "base64" | "raw";

export interface VersionOptions {
  /** Limits on requests. */
  readonly limits?: ValidationLimits | undefined;
  /** Encoding of file bytes for a peer that has not shown its own. Default: `"base64"`. */
  readonly fileBytes?: FileBytes | undefined;
  /**
   * The form of required scopes in JSON cards of 1.0. `"go"`: a bare list, as the Go SDK reads it. Default:
   * `"protojson"`.
   */
  readonly securityRequirements?: "protojson" | "go" | undefined;
}
