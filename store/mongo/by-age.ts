interface Aged {
  id: string;
  /** ISO 8601. */
  createdAt: string;
}

/** Orders records, the oldest first; the id settles equal times. */
export function byAge(a: Aged, b: Aged): number {
  return `${a.createdAt} ${a.id}` < `${b.createdAt} ${b.id}` ? -1 : 1;
}
