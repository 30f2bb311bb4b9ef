import type { Connection } from 'mongoose';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { KeyMark } from '../register/facts.ts';
import type { LogVerification } from '../register/register-walk.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';
import { type AuditHead, toBody } from './audit-chain.ts';
import { AuditCollections } from './audit-collections.ts';
import { AuditExport, type ExportLine } from './audit-export.ts';
import { type AuditFault, AuditQueue, type EventBody } from './audit-queue.ts';
import type { Verification } from './audit-verification.ts';
import { type AuditKeys, AuditVerifier } from './audit-verifier.ts';
import { MissedHeads } from './chain-notes.ts';
import { ChainWriter } from './chain-writer.ts';
import { currentRequestId } from './request-id.ts';

/** Waiting events read at a time. */
const WAITING_AT_ONCE = 100;

/**
 * Audit trail: one append-only chain per sandbox or source, each entry bound to the one before by a keyed hash. Heads
 * are in another collection, births and lengths in the register. Only a process with the key appends and verifies;
 * every other one reads.
 */
export class Audit {
  readonly #stored: AuditCollections;
  readonly #queue: AuditQueue;
  readonly #keys: AuditKeys | null;
  readonly #writer: ChainWriter | null;
  /** Chains with waiting events, as far as this process knows. */
  readonly #awaited = new Set<string>();

  constructor(connection: Connection, sealing: StoreEncryption, keys: AuditKeys | null) {
    this.#stored = new AuditCollections(connection, sealing);
    this.#queue = new AuditQueue(connection, sealing);
    this.#keys = keys;
    this.#writer = keys && new ChainWriter(this.#stored, keys.chains, keys.register);
  }

  /**
   * Appends an event to the sandbox's chain; resolves when entry, birth and head are acknowledged. A repeated `eventId`
   * returns the existing entry. Among writers the unique `_id` decides; the loser takes the next number.
   * @throws MayflyError store_unavailable; internal without the key
   * @throws BrokenChain when the next number is taken by a forged entry, the head is not genuine, or the chain existed
   * before and is missing
   */
  async append(sandboxId: string, event: AuditEvent): Promise<AuditEntry> {
    checkId(sandboxId);
    return this.#require(this.#writer, 'append to').append(sandboxId, eventBody(event));
  }

  /**
   * As {@link append}, but queues the event when the chain cannot be continued, behind earlier ones, so that a fault of
   * the audit alone blocks nothing.
   * @returns the reason why it is queued; null when it was appended
   * @throws MayflyError store_unavailable; internal without the key
   */
  async record(sandboxId: string, event: AuditEvent): Promise<string | null> {
    checkId(sandboxId);
    const writer = this.#require(this.#writer, 'append to');
    const waiting = eventBody(event);
    try {
      if (this.#awaited.has(sandboxId)) await this.#appendWaitingOf(sandboxId);
      await writer.append(sandboxId, waiting);
      return null;
    } catch (error) {
      const why = describeFault(sandboxId, error);
      await this.#queue.put(this.#requireKeys('append to').chains, sandboxId, waiting, why);
      this.#awaited.add(sandboxId);
      return why;
    }
  }

  /** Returns the chains with waiting events. */
  async faults(): Promise<AuditFault[]> {
    return this.#queue.faults();
  }

  /**
   * Appends waiting events where possible. May be interrupted at any point: an event is appended once.
   * @returns the sandboxes and sources whose queue is empty now
   */
  async appendWaiting(): Promise<string[]> {
    const over: string[] = [];
    for (const { sandboxId } of await this.#queue.faults()) {
      try {
        await this.#appendWaitingOf(sandboxId);
        over.push(sandboxId);
      } catch (error) {
        describeFault(sandboxId, error);
        this.#awaited.add(sandboxId);
      }
    }
    return over;
  }

  /** @throws BrokenChain among others, at the first event that cannot be appended */
  async #appendWaitingOf(sandboxId: string): Promise<void> {
    const { chains } = this.#requireKeys('append to');
    for (let after: string | null = ''; after !== null; ) {
      const page = await this.#queue.of(chains, sandboxId, { after, limit: WAITING_AT_ONCE });
      for (const event of page.events) {
        await this.#writer?.append(sandboxId, event);
        await this.#queue.remove(sandboxId, event);
      }
      after = page.end;
    }
    this.#awaited.delete(sandboxId);
  }

  /**
   * Records in the register the lengths of chains to which this process has appended since the last call.
   * @throws BrokenChain as {@link append}; unrecorded lengths are recorded by the next call
   */
  async noteHeads(): Promise<void> {
    await this.#require(this.#writer, 'append to').noteHeads();
  }

  /** Records in the register the lengths of chains whose process ended before it could. */
  async catchUp(): Promise<void> {
    const { chains, register } = this.#requireKeys('record lengths in the register of');
    await new MissedHeads(this.#stored, chains, register).catchUp();
  }

  /**
   * Records in the register that the holder of the key accepts its present gaps, with the reason.
   * @returns number of gaps
   */
  async acceptLoss(reason: string): Promise<number> {
    const { register } = this.#requireKeys('accept a loss in');
    const { gaps } = await register.walk();
    for (const gap of gaps) await register.add({ kind: 'accepted', ...gap, reason });
    return gaps.length;
  }

  /** Records in the register API keys that are new or have changed. */
  async noteKeys(keys: readonly ({ id: string } & KeyMark)[]): Promise<void> {
    const { register } = this.#requireKeys('note API keys in');
    await Promise.all(keys.map(({ id, ...mark }) => register.addKey(id, mark)));
  }

  /** Returns the head as its last writer stored it; null before the first append. Not verified here. */
  async head(sandboxId: string): Promise<AuditHead | null> {
    checkId(sandboxId);
    return this.#stored.head(sandboxId);
  }

  /** Returns entries with a number above `after`, in order, at most `limit`. `@default` after -1: from the first. */
  async entries(sandboxId: string, range: { after?: number; limit: number }): Promise<AuditEntry[]> {
    const from = (range.after ?? -1) + 1;
    const count = (await this.head(sandboxId))?.count ?? 0;
    const wanted = Math.max(0, Math.min(count - from, range.limit));
    return this.#stored.entries(sandboxId, from, wanted);
  }

  /** Verifies the register. @throws MayflyError internal without the key */
  async verifyRegister(): Promise<LogVerification> {
    return this.#requireKeys('verify').register.walk();
  }

  /**
   * Verifies one chain. May run during appends.
   * @param register read before; without it only the chain is verified
   * @throws MayflyError internal without the key
   */
  async verify(sandboxId: string, register?: LogVerification): Promise<Verification> {
    checkId(sandboxId);
    return this.#verifier().one(sandboxId, register);
  }

  /** @throws MayflyError internal without the key; see {@link AuditVerifier.all} */
  async verifyAll(
    expected: ReadonlyMap<string, readonly string[]>,
    register: LogVerification,
  ): Promise<Map<string, Verification>> {
    return this.#verifier().all(expected, register);
  }

  /** @param subjects subjects of the chains; null: all */
  exported(subjects: string[] | null): AsyncGenerator<ExportLine> {
    return new AuditExport(this.#stored, this.#requireKeys('export').register).lines(subjects);
  }

  /** Returns a keyed hash of an export, by the SHA-256 of its lines. */
  sealed(sha256: string): string {
    return this.#requireKeys('export').register.sealed(sha256);
  }

  #verifier(): AuditVerifier {
    return new AuditVerifier(this.#stored, this.#queue, this.#requireKeys('verify'));
  }

  #requireKeys(purpose: string): AuditKeys {
    return this.#require(this.#keys, purpose);
  }

  #require<T>(part: T | null, purpose: string): T {
    if (part) return part;
    throw new MayflyError('internal', `This process was not given the audit key, so it cannot ${purpose} the audit.`);
  }
}

/**
 * Describes the fault that keeps a chain from being continued. @throws MayflyError store_unavailable when the whole
 * store does not answer
 */
function describeFault(sandboxId: string, error: unknown): string {
  if (isMayflyError(error, 'store_unavailable')) throw error;
  if (error instanceof BrokenChain) return error.message;
  return `The audit of ${sandboxId} cannot be continued: ${error instanceof Error ? error.message : String(error)}`;
}

/** Returns the chained content of an event, with the request on whose behalf it happened. */
function eventBody(event: AuditEvent): EventBody {
  return { eventId: event.eventId, body: toBody(withRequestId(event)) };
}

/** Adds the id of the current request, unless the event has one. */
function withRequestId(event: AuditEvent): AuditEvent {
  const requestId = currentRequestId();
  return requestId === undefined ? event : { ...event, detail: { requestId, ...event.detail } };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isAuditSubject(id))
    throw new MayflyError('invalid_id', 'That is not the id of a sandbox or a source.');
}
