interface Aged {
  id: string;
  /** ISO 8601. */
  createdAt: string;
}

/** Compares records, oldest first, then by id. */
export function compareByAge(a: Aged, b: Aged): number {
  return `${a.createdAt} ${a.id}` < `${b.createdAt} ${b.id}` ? -1 : 1;
}
