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
  report(line: string, facts: { readonly from: number; readonly to: number; readonly seconds: number }): void;
}

const firstMs = 1_000;
const everyMs = 10_000;

/** Reports the end of each migration. One longer than a second also reports its progress every 10 seconds. */
export function createMigrationReport({ clock, report }: MigrationReportOptions): MigrationReport {
  let migration: { readonly from: number; readonly to: number; readonly at: number } | undefined;
  let step = "";
  let cancel = noop;

  function reportLine(formatLine: (facts: { readonly range: string; readonly seconds: number }) => string): void {
    if (migration === undefined) return;
    const { from, to, at } = migration;
    const seconds = Math.round((clock.now() - at) / 100) / 10;
    report(formatLine({ range: `from schema ${from} to ${to}`, seconds }), { from, to, seconds });
  }

  function reportProgress(): void {
    reportLine(({ range, seconds }) => `migrating the database ${range}: ${step}, ${seconds} s so far`);
  }

  function sayProgressIn(ms: number): void {
    cancel = clock.after(ms, () => {
      reportProgress();
      sayProgressIn(everyMs);
    });
  }

  function enterStep(next: string): void {
    step = next;
    // After one second each step is reported as it starts: in a thread blocked by a statement no timer fires.
    if (migration !== undefined && clock.now() - migration.at >= firstMs) reportProgress();
  }

  return {
    report(progress) {
      switch (progress.kind) {
        case "begun":
          migration = { from: progress.from, to: progress.to, at: clock.now() };
          return sayProgressIn(firstMs);
        case "waiting":
          return enterStep("waiting for others");
        case "statement":
          return enterStep(
            `schema ${progress.schema} (${progress.name}), statement ${progress.statement} of ${progress.statements}`,
          );
        case "done":
          cancel();
          return reportLine(({ range, seconds }) => `the database has been migrated ${range} in ${seconds} s`);
      }
    },
    end: () => cancel(),
  };
}
