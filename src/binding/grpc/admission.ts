import { type Binding, createContext, type OpenContext, type Principal } from "../../protocol/context.js";
import { extensionsParameter, parseExtensions, versionParameter } from "../../protocol/service-parameters.js";
import { declaredVersion } from "../../version/detect.js";
import type { Service } from "../service.js";

export interface Admission {
  readonly principal: Principal;
  readonly binding: Binding;
  /** Version of the service that the path names. */
  readonly version: string;
  readonly header: (name: string) => string | undefined;
}

/**
 * The context of a call whose caller is known. The path has already picked the version, so a declared one can only be
 * the same. Throws `versionNotSupported` and `extensionSupportRequired`.
 */
export function openContext(service: Service, { principal, binding, version, header }: Admission): OpenContext {
  // A value that was sent twice reaches us joined by a comma: the first one counts.
  declaredVersion(header(versionParameter)?.split(",", 1)[0], [version], service.strictVersions);
  const extensions = service.extensions(parseExtensions(header(extensionsParameter)));
  return createContext({ principal, binding, version, extensions, after: header("last-event-id") });
}
