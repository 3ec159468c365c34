/** When the process counts as overloaded. See docs/explanation/overload.md. */
export interface OverloadLimits {
  /**
   * Part of the heap, as Node limits it, that is in use after a garbage collection and from which on every send is refused.
   * `false`: it is not measured. Default: 0.7.
   */
  readonly heapMaxRatio: number | false;
  /**
   * Part of the container's memory that the process has and from which on every send is refused. `false`: it is not
   * measured, nor is it outside a container. Default: 0.9.
   */
  readonly containerMaxRatio: number | false;
  /**
   * Duration of one round of the event loop from which on every send is refused, if five measurements in a row are as
   * long. Fewer measurements, but at least two, suffice if they last five times as long together. `false`: it is not
   * measured. Default: 1 s.
   */
  readonly eventLoopMaxMs: number | false;
  /** How long every send may be refused for overload before `/readyz` and gRPC health checks report it. Default: 30 s. */
  readonly overloadUnreadyMs: number;
}

/** The limits whose measuring can be switched off. */
export type OverloadMeasure = Exclude<keyof OverloadLimits, "overloadUnreadyMs">;

export const defaultOverloadLimits: OverloadLimits = {
  heapMaxRatio: 0.7,
  containerMaxRatio: 0.9,
  eventLoopMaxMs: 1000,
  overloadUnreadyMs: 30_000,
};
