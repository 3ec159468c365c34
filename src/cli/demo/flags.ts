/** What `trivium demo` was asked for. */
export interface DemoFlags {
  readonly port: number;
  readonly host: string;
  readonly anonymous: boolean;
  readonly store: string;
  readonly logLevel: (typeof logLevels)[number];
}

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
