import type { Clock } from "../../core/ports.js";

/** How far the migration of a database has come. */
export type MigrationProgress =
  | { readonly kind: "begun"; readonly from: number; readonly to: number }
  /** Waits for other migrations, or for writes. */
  | { readonly kind: "waiting" }
  /** A statement begins: the one with this number of the step that makes `schema`. */
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
  /** Says nothing more, however the migration has ended. */
  end(): void;
}

export interface MigrationReportOptions {
  readonly clock: Clock;
  /** `seconds`: how long the migration has taken so far. */
  say(line: string, facts: { readonly from: number; readonly to: number; readonly seconds: number }): void;
}

const firstMs = 1_000;
const everyMs = 10_000;

/** Says of each migration when it is done. One that takes longer than a second also says how far it is, every 10 seconds. */
export function createMigrationReport({ clock, say }: MigrationReportOptions): MigrationReport {
  let begun: { readonly from: number; readonly to: number; readonly at: number } | undefined;
  let where = "";
  let cancel = (): void => {};

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
    // After one second each step is reported as it begins: a thread that a statement blocks has no timers.
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
