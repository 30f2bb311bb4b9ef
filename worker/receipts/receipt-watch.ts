import type { Logger } from 'pino';
import { ReceiptSigningKey } from '../../ca/receipt-key.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { buildStatement } from '../../model/receipts/statement.ts';
import type { Store } from '../../store/connect.ts';
import { receiptFacts } from './receipt-facts.ts';

/** Page size. */
const AT_ONCE = 200;
/** Hexadecimal digits of an installation's id, from the first of its keys. */
const ID_DIGITS = 16;

/**
 * Signs a receipt for each cleaned-up run, once: later changes in the store do not match it. An unusable key blocks no
 * run; its receipts are signed later.
 */
export class ReceiptSigner {
  readonly #known = new Set<string>();
  #builder: string | null = null;

  constructor(
    private readonly store: Store,
    private readonly keyPath: string,
    private readonly logger: Logger,
  ) {}

  async look(): Promise<void> {
    const key = await ReceiptSigningKey.open(this.keyPath);
    const builder = await this.#publishKey(key);
    for (let after: string | null = ''; after !== null; ) {
      const page = await this.store.pastRuns.unsigned(after, AT_ONCE);
      for (const run of page.runs) await this.#sign(key, builder, run);
      after = page.next;
    }
  }

  async #sign(key: ReceiptSigningKey, builder: string, run: RunRecord): Promise<void> {
    try {
      const { receipts, pastRuns } = this.store;
      if ((await receipts.get(run.id)) === null) {
        const facts = await receiptFacts(this.store, run, builder);
        await receipts.add(run.id, key.sign(buildStatement(facts)), new Date().toISOString());
      }
      await pastRuns.signed(run.id);
    } catch (error) {
      this.logger.warn({ err: error, runId: run.id }, 'a receipt is signed when that can be done');
    }
  }

  /** @returns the id of the installation, named by its first key, even after a rotation */
  async #publishKey(key: ReceiptSigningKey): Promise<string> {
    const { receiptKeys } = this.store;
    if (!this.#known.has(key.keyid)) await receiptKeys.add(key);
    this.#known.add(key.keyid);
    this.#builder ??= `urn:mayfly:installation:${(await receiptKeys.list()).at(-1)?.keyid.slice(0, ID_DIGITS)}`;
    return this.#builder;
  }
}
