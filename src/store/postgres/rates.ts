import type { RateDraw, RateGrant, RateStore } from "../../core/ports.js";
import { clockText } from "./dialect.js";
import { retryConflict } from "./flush.js";
import type { Pool } from "./pool.js";

// The use of callers' limits, for all processes on the database.

/** `now`: the store's clock. Default: the database's clock. */
export function postgresRates(pool: Pool, now?: () => number): RateStore {
  return {
    draw(draws) {
      const values = [...columns.map((column) => draws.map((draw) => draw[column])), now?.() ?? null];
      return retryConflict(() => pool.query<RateGrant & Record<string, unknown>>(text, values));
    },
  };
}

const columns = ["key", "windowMs", "shiftMs", "limit", "need", "used"] as const satisfies readonly (keyof RateDraw)[];

/** How much of a window is left before a draw. */
const room = (used: string): string => `(excluded.ceiling - ${used} - excluded.forced)`;
/** Grants a sixteenth of the rest, so that many processes get a share: at least the need, at most the rest. */
const grant = (used: string): string =>
  `greatest(0, least(${room(used)}, greatest(excluded.need, ${room(used)} / 16)))`;
/**
 * Whether the row's window is the current one. A statement that waited for the row may find a later window, which is
 * current too. A window far ahead was written while the clock was wrong.
 */
const isCurrent =
  "r.period >= excluded.period and r.expires_at - excluded.expires_at <= greatest(excluded.width, 600000)";
const usedBefore = `case when ${isCurrent} then r.used else 0 end`;

/**
 * Draws from every window in one statement. Rows are locked in the order of their keys, so that none deadlock. An update
 * sees the draw only in the columns of the proposed row, so the table has columns for it.
 */
const text = `
with moment as (select coalesce($7::bigint, ${clockText}) as now),
draws as (
  select d.*, (now + shift) / width as period,
    greatest(0, least(ceiling - forced, greatest(need, (ceiling - forced) / 16))) as granted
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    as d(key, width, shift, ceiling, need, forced), moment
)
insert into trivium_rates as r (key, period, width, used, expires_at, ceiling, need, forced, granted)
select key, period, width, forced + granted, (period + 1) * width - shift, ceiling, need, forced, granted
from draws order by key
on conflict (key) do update set
  period = case when ${isCurrent} then r.period else excluded.period end,
  used = ${usedBefore} + excluded.forced + ${grant(usedBefore)},
  width = excluded.width,
  expires_at = case when ${isCurrent} then r.expires_at else excluded.expires_at end,
  ceiling = excluded.ceiling,
  need = excluded.need,
  forced = excluded.forced,
  granted = ${grant(usedBefore)}
returning key, granted, greatest(0, ceiling - used) as "left", expires_at - (select now from moment) as "endsInMs"`;
