import { A2AError } from "../../protocol/errors.js";

/** A card, or an answer, names an authorization server to which the secret may not go. */
export class UntrustedOriginError extends A2AError {
  /** The message without its remedy. */
  readonly problem: string;
  /** The server's. */
  readonly origin: string;

  constructor(problem: string, origin: string) {
    super("unauthenticated", `${problem}: list ${origin} in trustedOrigins of the credential`);
    this.problem = problem;
    this.origin = origin;
  }
}
