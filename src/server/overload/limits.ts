/** When the process counts as overloaded. See docs/explanation/overload.md. */
export interface OverloadLimits {
  /**
   * Share of Node's heap limit that is in use after a garbage collection, from which on every send is refused. `false`:
   * not measured. Default: 0.7.
   */
  readonly heapMaxRatio: number | false;
  /**
   * Share of the container's memory that the process uses, from which on every send is refused. `false`: not measured,
   * and never measured outside a container. Default: 0.9.
   */
  readonly containerMaxRatio: number | false;
  /**
   * Duration of one round of the event loop from which on every send is refused, if five measurements in a row are as
   * long. Two measurements or more suffice if together they last five times as long. `false`: not measured. Default: 1
   * s.
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
