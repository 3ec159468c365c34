import { type Selectable, sql } from "kysely";
import type { NewSend, SendClaim, SendRecords } from "../../../core/ports.js";
import type { Scope } from "../../../protocol/context.js";
import { compile, type Params } from "../compile.js";
import type { DbContext } from "../dialect.js";
import { type Backend, pickScope, type SendOutcomeRow, type SendRecordRow } from "../rows.js";
import type { SendsTable } from "../schema.js";
import { inScope } from "../scope.js";

export function sendQueries(context: DbContext): Pick<Backend, keyof SendRecords> {
  return {
    beginSend: (send) => beginSend(context, send),
    readSend: (scope, messageId) => readSend(context, scope, messageId),
    takeSend: async (claim, instance) =>
      (await claimSend.write(context, { ...claimArgs(claim), instance, next: claim.attempt + 1 })) > 0,
    settleSend: async (claim, outcome) => (await putOutcome.write(context, { ...claimArgs(claim), ...outcome })) > 0,
    forgetSend: async (claim) => (await deleteSend.write(context, claimArgs(claim))) > 0,
  };
}

async function beginSend(context: DbContext, send: NewSend): Promise<SendRecordRow> {
  const { scope, messageId, entry, digest, taskId, seq, instance } = send;
  const args = { ...scope, messageId, entry, digest, taskId, seq, instance };
  // Between the two statements the existing record may be forgotten: then there is room.
  for (;;) {
    await insertSend.write(context, args);
    const record = await readSend(context, scope, messageId);
    if (record !== undefined) return record;
  }
}

const insertSend = compile(({ db, dialect }, params: Params<Omit<NewSend, "scope"> & Scope>) => {
  const { agent, tenant, owner, messageId, entry, digest, taskId, seq, instance } = params;
  const ids = { agent, tenant, owner, message_id: messageId, entry, digest, task_id: taskId };
  const row = { ...ids, seq, instance, attempt: 1, began_at: dialect.now(), outcome: null, format: 0, payload: null };
  return db
    .insertInto("trivium_sends")
    .values(row)
    .onConflict((conflict) => conflict.doNothing());
});

async function readSend(context: DbContext, scope: Scope, messageId: string): Promise<SendRecordRow | undefined> {
  const row = await sendById.first(context, { ...scope, messageId });
  return row === undefined ? undefined : recordFrom(row);
}

const sendById = compile(({ db, dialect }, params: Params<Scope & { readonly messageId: string }>) =>
  db
    .selectFrom("trivium_sends as m")
    .leftJoin("trivium_instances as i", "i.name", "m.instance")
    .selectAll("m")
    .select(["i.expires_at", sql<number>`${dialect.now()}`.as("now")])
    .where(inScope("m", params))
    .where("m.message_id", "=", params.messageId),
);

const claimSend = compile(({ db }, params: Params<ClaimArgs & { readonly instance: string; readonly next: number }>) =>
  db
    .updateTable("trivium_sends")
    .set({ instance: params.instance, attempt: params.next })
    .where(matchesClaim(params))
    .where("outcome", "is", null),
);

const putOutcome = compile(({ db }, params: Params<ClaimArgs & SendOutcomeRow>) => {
  const { kind, format, bytes } = params;
  return db
    .updateTable("trivium_sends")
    .set((set) => ({
      // An existing outcome stays; the row still counts as found.
      outcome: set.fn.coalesce("outcome", kind),
      format: set.case().when("outcome", "is", null).then(format).else(set.ref("format")).end(),
      payload: set.case().when("outcome", "is", null).then(bytes).else(set.ref("payload")).end(),
    }))
    .where(matchesClaim(params));
});

const deleteSend = compile(({ db }, claim: Params<ClaimArgs>) =>
  db.deleteFrom("trivium_sends").where(matchesClaim(claim)),
);

type ClaimArgs = Scope & Omit<SendClaim, "scope">;

function claimArgs({ scope, messageId, entry, attempt }: SendClaim): ClaimArgs {
  return { ...scope, messageId, entry, attempt };
}

function matchesClaim(params: Params<ClaimArgs>) {
  const { messageId, entry, attempt } = params;
  return sql<boolean>`${inScope("trivium_sends", params)} and message_id = ${messageId}
    and entry = ${entry} and attempt = ${attempt}`;
}

type SendRow = Selectable<SendsTable> & { readonly expires_at: number | null; readonly now: number };

function recordFrom(row: SendRow): SendRecordRow {
  const { outcome: kind, format, payload } = row;
  return {
    scope: pickScope(row),
    messageId: row.message_id,
    entry: row.entry,
    digest: row.digest,
    taskId: row.task_id,
    seq: row.seq,
    instance: row.instance,
    attempt: row.attempt,
    live: row.expires_at !== null && row.now < row.expires_at,
    outcome: kind === null || payload === null ? undefined : { kind, format, bytes: payload },
  };
}
