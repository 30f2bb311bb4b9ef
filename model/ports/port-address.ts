import { SANDBOX_ID } from '../sandbox-id.ts';

/** Which port of which sandbox. */
export interface PortTarget {
  sandboxId: string;
  port: number;
}

const LABEL = new RegExp(`^([1-9]\\d{0,4})-(${SANDBOX_ID.source.slice(1, -1)})$`);
const MAX_PORT = 65_535;

/** Where open ports of sandboxes are found: each at a name of its own, or at a path of the name that all have in common. */
export class PortAddress {
  readonly #base: URL;

  /** @param base scheme, name and port of all, such as `https://sandboxes.example.net` */
  constructor(base: string) {
    this.#base = new URL(base);
  }

  /** Scheme, name and port of all. */
  get url(): string {
    return this.#base.origin;
  }

  /** The name below which each port has its own. */
  get domain(): string {
    return this.#base.hostname;
  }

  get scheme(): 'http' | 'https' {
    return this.#base.protocol === 'https:' ? 'https' : 'http';
  }

  /** As a browser's `Origin` has it. */
  originOf(target: PortTarget): string {
    return `${this.#base.protocol}//${labelOf(target)}.${this.#base.host}`;
  }

  /** As a request's `Host` has it. */
  hostOf(target: PortTarget): string {
    return `${labelOf(target)}.${this.#base.host}`;
  }

  /** For where names below the common one lead nowhere. No browser keeps cookies there, or lets its pages be of an origin. */
  pathUrlOf(target: PortTarget): string {
    return `${this.#base.origin}/${labelOf(target)}/`;
  }

  /** What a request's `Host` names; null: all in common, or nothing of ours. */
  targetOfHost(host: string): PortTarget | 'all' | null {
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (name === this.domain) return 'all';
    const [label = '', ...rest] = name.split('.');
    return rest.join('.') === this.domain ? targetOfLabel(label) : null;
  }
}

/** `3000-sbx-0123456789abcdef`: 26 characters at most, of which a name in the DNS may have 63. */
export function labelOf({ port, sandboxId }: PortTarget): string {
  return `${port}-${sandboxId}`;
}

/** Null: it is no port of a sandbox. */
export function targetOfLabel(label: string): PortTarget | null {
  const [, port = '', sandboxId = ''] = LABEL.exec(label) ?? [];
  return sandboxId !== '' && Number(port) <= MAX_PORT ? { port: Number(port), sandboxId } : null;
}
