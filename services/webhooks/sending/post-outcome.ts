/** What came back. */
export interface PostOutcome {
  isTaken: boolean;
  /** Null: none came. */
  status: number | null;
  /** Why it was not taken, in words; null: it was. */
  reason: string | null;
  /** It took too long. */
  isTimeout: boolean;
  /** What it asks for. Milliseconds; null: nothing. */
  retryAfterMs: number | null;
  /** The first bytes of the answer. */
  answer: Uint8Array;
}
