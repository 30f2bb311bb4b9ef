/** Of which pool a sandbox is, or was before it was claimed. */
export interface Membership {
  name: string;
  revision: number;
  /** What its source held when it was made; null: that can't be told. */
  content: string | null;
  /** When it was ready, ISO 8601; null: not yet. */
  warmAt: string | null;
  /** The request that has claimed it; null: none. */
  claimedBy: string | null;
}
