/** The tip of the register, as it was when it was anchored. */
export interface AnchorTip {
  /** Of the entry. */
  number: number;
  hash: string;
  /** When that entry was made, ISO 8601. */
  at: string;
}

/**
 * Keeps the tip of the register where nobody gets who can write to the store. It follows the store, and is never ahead of
 * what was acknowledged there.
 */
export interface Anchor {
  /** The greatest that was put; null when there is none. @throws Error when nobody can tell */
  read(): Promise<AnchorTip | null>;
  /** Resolves when it would survive a power cut. One that is lower than what is there is not read. */
  put(tip: AnchorTip): Promise<void>;
}
