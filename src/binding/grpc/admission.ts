import { type Binding, createContext, type OpenContext, type Principal } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { requestedExtensions, versionParameter } from "../../protocol/service-parameters.js";
import type { GrpcFace } from "../../version/codec.js";
import { declaredVersion, facesFor } from "../../version/detect.js";
import type { Service } from "../service.js";

export interface Admission {
  readonly principal: Principal;
  readonly binding: Binding;
  /** That of the service which the path names. */
  readonly face: GrpcFace;
  readonly header: (name: string) => string | undefined;
}

/**
 * The context of a call whose caller is known. The path has already picked the version; a declared one has to be served,
 * and in strict mode the same. Throws `versionNotSupported` and `extensionSupportRequired`.
 */
export function openContext(service: Service, { principal, binding, face, header }: Admission): OpenContext {
  const declared = declaredVersion(header(versionParameter), service.versions);
  const { version, callersNameTasks } = face;
  if (facesFor({ faces: [face], strict: service.strictVersions }, declared, () => true).length === 0) {
    throw new A2AError("methodNotFound", `version ${declared} has another service`);
  }
  const extensions = service.extensions(requestedExtensions(header));
  return createContext({ principal, binding, version, extensions, callersNameTasks, after: header("last-event-id") });
}
