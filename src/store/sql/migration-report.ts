import type { Clock } from "../../core/ports.js";
import { noop } from "../../protocol/async/noop.js";

/** Progress of a migration. */
export type MigrationProgress =
  | { readonly kind: "begun"; readonly from: number; readonly to: number }
  /** Waiting for other migrations or for writes. */
  | { readonly kind: "waiting" }
  /** A statement starts: the one with this number in the step that creates `schema`. */
  | {
      readonly kind: "statement";
      readonly schema: number;
      readonly name: string;
      readonly statement: number;
      readonly statements: number;
    }
  | { readonly kind: "done" };

export type ReportMigration = (progress: MigrationProgress) => void;

export interface MigrationReport {
  readonly report: ReportMigration;
  /** Stops reporting, however the migration ended. */
  end(): void;
}

export interface MigrationReportOptions {
  readonly clock: Clock;
  /** `seconds`: duration of the migration so far. */
  say(line: string, facts: { readonly from: number; readonly to: number; readonly seconds: number }): void;
}

const firstMs = 1_000;
const everyMs = 10_000;

/** Reports the end of each migration. One longer than a second also reports its progress every 10 seconds. */
export function createMigrationReport({ clock, say }: MigrationReportOptions): MigrationReport {
  let begun: { readonly from: number; readonly to: number; readonly at: number } | undefined;
  let where = "";
  let cancel = noop;

  function tell(how: (facts: { readonly what: string; readonly seconds: number }) => string): void {
    if (begun === undefined) return;
    const { from, to, at } = begun;
    const seconds = Math.round((clock.now() - at) / 100) / 10;
    say(how({ what: `from schema ${from} to ${to}`, seconds }), { from, to, seconds });
  }

  function tellWhere(): void {
    tell(({ what, seconds }) => `migrating the database ${what}: ${where}, ${seconds} s so far`);
  }

  function tellIn(ms: number): void {
    cancel = clock.after(ms, () => {
      tellWhere();
      tellIn(everyMs);
    });
  }

  function moved(to: string): void {
    where = to;
    // After one second each step is reported as it starts: in a thread blocked by a statement no timer fires.
    if (begun !== undefined && clock.now() - begun.at >= firstMs) tellWhere();
  }

  return {
    report(progress) {
      switch (progress.kind) {
        case "begun":
          begun = { from: progress.from, to: progress.to, at: clock.now() };
          return tellIn(firstMs);
        case "waiting":
          return moved("waiting for others");
        case "statement":
          return moved(
            `schema ${progress.schema} (${progress.name}), statement ${progress.statement} of ${progress.statements}`,
          );
        case "done":
          cancel();
          return tell(({ what, seconds }) => `the database has been migrated ${what} in ${seconds} s`);
      }
    },
    end: () => cancel(),
  };
}
