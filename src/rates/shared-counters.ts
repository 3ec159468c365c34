import { createHash } from "node:crypto";
import type { RateDraw, RateGrant, RateStore } from "../core/ports.js";
import { type Clock, monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Logger } from "../protocol/logger.js";
import type { Claim, ClaimOutcome, Counters, LimitBalance } from "./counters.js";
import { computeShift } from "./rate.js";

// Counts for processes that share a store. Each process draws blocks from the store's windows and takes from its blocks
// without asking. One statement at a time draws for all callers. A call waits for the store for half a second; then the
// counts of the process decide, which it keeps all the time.
//
// Invariant: the store has counted everything that a block holds, so that what all processes take from blocks never
// exceeds a limit. A block ends with its window, by the store's clock.

/** The part of a caller's window that this process may use. */
interface Block {
  /** Below 0: used, and not counted by the store yet. */
  left: number;
  /** The store's balance at its last answer; `undefined` before that. */
  storeLeft: number | undefined;
  /** By the monotonic clock. */
  endsAt: number;
}

/** A claim that the store is asked for. */
interface OpenClaim {
  readonly claim: Claim;
  need: number;
}

/** Draws of one statement. */
const drawsMax = 500;
/** How long a call waits for the store; then the local limits hold. */
const drawWaitMs = 500;
/** How long the store is not called after it has failed. */
const retryMs = 1000;
/** How often one call asks a store that grants too little. */
const triesMax = 10;
/** Number of blocks above which ended ones are removed. */
const blocksBeforeSweep = 5000;
/** Number of blocks kept. Beyond it the oldest ones are dropped with their rest, and drawn again. */
const blocksMax = 100_000;

export interface SharedCountersOptions {
  readonly store: RateStore;
  /** The agent, whose callers are counted apart from those of others on the store. `undefined`: the server. */
  readonly scope: string | undefined;
  /** Counts along, and decides while the store is away. */
  readonly local: Counters;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class SharedCounters implements Counters {
  readonly #options: SharedCountersOptions;
  readonly #blocks = new Map<string, Block>();
  /** Claims that the next statement draws. */
  #openClaims = new Map<string, OpenClaim>();
  #next: Promise<void> | undefined;
  #lastQuery: Promise<void> = Promise.resolve();
  #sweepAt = blocksBeforeSweep;
  /** When the store is asked again; `undefined` while it answers. */
  #retryAt: number | undefined;
  /** Statements without an answer so far. */
  #failures = 0;

  constructor(options: SharedCountersOptions) {
    this.#options = options;
  }

  async take(claims: readonly Claim[]): Promise<ClaimOutcome> {
    for (let tries = 0; tries < triesMax && !this.#isStoreUnavailable(claims); tries++) {
      const shortClaims = claims.filter((claim) => this.#findBlock(claim).left < readNeed(claim));
      if (shortClaims.length === 0) return this.#takeFromBlocks(claims);
      const emptyClaim = shortClaims.find((claim) => this.#findBlock(claim).storeLeft === 0);
      if (emptyClaim !== undefined) {
        return { refusal: this.#readBalance(emptyClaim), balances: this.#readBalances(claims), undo: noop };
      }
      await this.#draw(shortClaims);
    }
    return this.#options.local.take(claims);
  }

  #takeFromBlocks(claims: readonly Claim[]): ClaimOutcome {
    const blocks = claims.map((claim) => this.#findBlock(claim));
    const change = (sign: 1 | -1): void => {
      for (const [index, { amount }] of claims.entries()) {
        const block = blocks[index];
        if (block !== undefined) block.left -= sign * amount;
      }
      this.#countAlong(claims, sign);
    };
    change(1);
    void this.#settle(claims);
    return { refusal: undefined, balances: this.#readBalances(claims), undo: () => change(-1) };
  }

  async charge(claims: readonly Claim[]): Promise<readonly LimitBalance[]> {
    if (this.#isStoreUnavailable(claims)) return this.#options.local.charge(claims);
    this.#countAlong(claims, 1);
    for (const claim of claims) this.#findBlock(claim).left -= claim.amount;
    await this.#settle(claims);
    return this.#readBalances(claims);
  }

  /** Makes the store count what was used beyond the blocks. */
  async #settle(claims: readonly Claim[]): Promise<void> {
    const debts = claims.filter((claim) => this.#findBlock(claim).left < 0);
    if (debts.length > 0) await this.#draw(debts);
  }

  // Then the local limits are right when the store goes away.
  #countAlong(claims: readonly Claim[], sign: 1 | -1): void {
    void this.#options.local.charge(claims.map((claim) => ({ ...claim, amount: sign * claim.amount })));
  }

  #readBalances(claims: readonly Claim[]): readonly LimitBalance[] {
    return claims.map((claim) => this.#readBalance(claim));
  }

  #readBalance(claim: Claim): LimitBalance {
    const { left, storeLeft = 0, endsAt } = this.#findBlock(claim);
    const endsInMs = Math.max(1, Math.ceil(endsAt - this.#now()));
    return { limit: claim.limit, left: Math.max(0, left) + storeLeft, endsInMs };
  }

  #findBlock({ key, limit }: Claim): Block {
    const existing = this.#blocks.get(key);
    if (existing !== undefined && existing.endsAt > this.#now()) return existing;
    const block = { left: 0, storeLeft: undefined, endsAt: this.#now() + limit.windowMs };
    this.#blocks.set(key, block);
    return block;
  }

  #now(): number {
    return monotonic(this.#options.clock);
  }

  /** Whether the store does not answer. It is asked again in the background: calls do not wait for it. */
  #isStoreUnavailable(claims: readonly Claim[]): boolean {
    if (this.#retryAt === undefined) return false;
    if (this.#now() >= this.#retryAt) {
      this.#retryAt = this.#now() + retryMs;
      void this.#draw(claims);
    }
    return true;
  }

  /** Resolves when the store has answered for all these claims, or is away. One statement at a time draws for all callers. */
  #draw(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) {
      const openClaim = this.#openClaims.get(claim.key) ?? { claim, need: 0 };
      openClaim.need += readNeed(claim);
      this.#openClaims.set(claim.key, openClaim);
    }
    if (this.#next === undefined) {
      const failures = this.#failures;
      this.#next = this.#lastQuery.then(() => this.#ask(failures));
      this.#lastQuery = this.#next;
    }
    return this.#next;
  }

  // Once a statement has failed, the waiting ones are not tried: their calls have waited already. `failures`: the number of
  // failed statements when the first of them began to wait.
  async #ask(failures: number): Promise<void> {
    const openClaims = [...this.#openClaims.values()];
    this.#openClaims = new Map();
    this.#next = undefined;
    this.#sweep();
    for (let first = 0; first < openClaims.length && this.#failures === failures; first += drawsMax) {
      await this.#askFor(openClaims.slice(first, first + drawsMax));
    }
  }

  async #askFor(openClaims: readonly OpenClaim[]): Promise<void> {
    const { store, clock, logger } = this.#options;
    const draws = openClaims.map((each) => this.#createDraw(each));
    const askedAt = this.#now();
    const answer = store.draw(draws.map(({ draw }) => draw)).then((grants) => {
      const grantsByKey = new Map(grants.map((grant) => [grant.key, grant]));
      for (const blockDraw of draws) this.#applyGrant(blockDraw, grantsByKey.get(blockDraw.draw.key), askedAt);
    });
    const late = Promise.withResolvers<never>();
    const cancel = clock.after(drawWaitMs, () => late.reject(new Error(`no answer within ${drawWaitMs} ms`)));
    try {
      await Promise.race([answer, late.promise]);
      if (this.#retryAt !== undefined) logger.info({}, "the limits of callers are shared again");
      this.#retryAt = undefined;
    } catch (error) {
      answer.catch(noop);
      this.#failures += 1;
      if (this.#retryAt === undefined) {
        logger.warn({ err: error }, "the store does not count callers: each process limits them by itself");
      }
      this.#retryAt = this.#now() + retryMs;
    } finally {
      cancel();
    }
  }

  #createDraw({ claim, need }: OpenClaim): BlockDraw {
    const { windowMs, limit } = claim.limit;
    const block = this.#findBlock(claim);
    const used = Math.max(0, -block.left);
    // Windows of another length have other numbers.
    const name = JSON.stringify([this.#options.scope, claim.key, windowMs]);
    const key = createHash("sha256").update(name).digest("base64url");
    // A need above the whole limit is refused like one above the rest.
    const draw = {
      key,
      windowMs,
      shiftMs: computeShift(claim.key, windowMs),
      limit,
      need: Math.min(need, limit),
      used,
    };
    return { claim, block, draw };
  }

  #applyGrant({ claim, block: drawnBlock, draw }: BlockDraw, grant: RateGrant | undefined, askedAt: number): void {
    if (grant === undefined) return;
    const block = this.#findBlock(claim);
    // Counted from before the request, so that no block is used in the window after its own.
    const endsAt = askedAt + grant.endsInMs;
    const isNew = block.storeLeft !== undefined && endsAt - block.endsAt > draw.windowMs / 2;
    const debt = block === drawnBlock ? draw.used : 0;
    block.left = (isNew ? Math.min(0, block.left) : block.left) + debt + grant.granted;
    block.endsAt = block.storeLeft === undefined ? endsAt : Math.max(endsAt, block.endsAt);
    block.storeLeft = grant.left;
  }

  #sweep(): void {
    if (this.#blocks.size >= this.#sweepAt) {
      for (const [key, { endsAt }] of this.#blocks) if (endsAt <= this.#now()) this.#blocks.delete(key);
      this.#sweepAt = Math.max(blocksBeforeSweep, 2 * this.#blocks.size);
    }
    let surplus = this.#blocks.size - blocksMax;
    for (const [key, { left }] of this.#blocks) {
      if (surplus <= 0) return;
      // The store has not counted a block below 0.
      if (left >= 0 && this.#blocks.delete(key)) surplus -= 1;
    }
  }
}

interface BlockDraw {
  readonly claim: Claim;
  readonly block: Block;
  readonly draw: RateDraw;
}

/** How much must be left. */
function readNeed({ amount, isUsed }: Claim): number {
  return isUsed ? 1 : amount;
}
