import type { ServiceDeps } from '../service-deps.ts';

/** The same bytes; while some come, the sandbox is not idle. */
export function inUse(
  { store }: Pick<ServiceDeps, 'store'>,
  sandboxId: string,
  bytes: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  async function* touching() {
    for await (const chunk of bytes) {
      store.activity.touch(sandboxId).catch(() => {}); // with the store away nobody can find out that it is idle
      yield chunk;
    }
  }
  return ReadableStream.from(touching());
}
