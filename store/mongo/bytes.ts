/** Bytes as a lean query returns them: the driver's own class around a buffer. */
export type StoredBytes = Uint8Array | { buffer: Uint8Array; position: number };

export function bytesOf(stored: StoredBytes): Uint8Array {
  return stored instanceof Uint8Array ? stored : stored.buffer.subarray(0, stored.position);
}
