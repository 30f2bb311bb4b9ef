/** Tip of the register at the time of its anchoring. */
export interface AnchorTip {
  /** Number of the entry. */
  number: number;
  hash: string;
  /** Time of that entry, ISO 8601. */
  at: string;
}

/**
 * Keeps the tip of the register out of reach of writers of the store. It follows the store, and is never ahead of
 * acknowledged entries.
 */
export interface Anchor {
  /** Returns the greatest tip; null when there was none yet. @throws Error when it cannot be read */
  read(): Promise<AnchorTip | null>;
  /** Resolves when the tip would survive a power cut. A tip lower than the stored one is never returned. */
  put(tip: AnchorTip): Promise<void>;
}
