/**
 * Limits on the content of a request, beside its bytes. Lengths are counted in UTF-16 units, as `string.length` counts.
 * Anything longer or more is a violation that names the field and the limit.
 */
export interface ValidationLimits {
  /** Ids of messages, tasks, contexts, artifacts, push configurations, and the tenant. Default: 256. */
  readonly idMaxLength: number;
  /** URIs: of extensions, and of a webhook. The URL of a part is bounded by the content limit only. Default: 4,096. */
  readonly uriMaxLength: number;
  /** Media types, in parts and in `acceptedOutputModes`. Default: 256. */
  readonly mediaTypeMaxLength: number;
  /** File names and names of artifacts. Default: 1,024. */
  readonly nameMaxLength: number;
  /** Page tokens, and the token, scheme and credentials of a push configuration. Default: 4,096. */
  readonly tokenMaxLength: number;
  /** Parts of one message or artifact. Default: 256. */
  readonly partsMax: number;
  /** Entries of other lists: extensions, referenced tasks, output modes. Default: 128. */
  readonly entriesMax: number;
  /**
   * Nesting of JSON, counting the request as the first level; also that of `data` and `metadata` over gRPC. Default:
   * 64.
   */
  readonly jsonDepthMax: number;
}

export const defaultValidationLimits: ValidationLimits = {
  idMaxLength: 256,
  uriMaxLength: 4_096,
  mediaTypeMaxLength: 256,
  nameMaxLength: 1_024,
  tokenMaxLength: 4_096,
  partsMax: 256,
  entriesMax: 128,
  jsonDepthMax: 64,
};
