import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a name. @throws Error with a `code` of node:dns */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

const ASKED = { timeout: 3_000, tries: 2 } as const;
/** A name server that does not answer is not asked again by a thread: of those there are few. */
const SILENT = new Set(['ETIMEOUT', 'ECANCELLED']);

/** By DNS, without a thread; then, where that has none, as the system resolves names. */
export const resolveName: Resolve = async (name, signal) => {
  const resolver = new Resolver(ASKED);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (addresses.length > 0) return addresses;
    const silent = found.find((one) => one.status === 'rejected' && SILENT.has(codeOf(one.reason)));
    if (silent?.status === 'rejected') throw silent.reason as Error;
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
