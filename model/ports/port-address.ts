import { SANDBOX_ID } from '../sandbox-id.ts';

/** Port of a sandbox. */
export interface PortTarget {
  sandboxId: string;
  port: number;
}

const LABEL = new RegExp(`^([1-9]\\d{0,4})-(${SANDBOX_ID.source.slice(1, -1)})$`);
const MAX_PORT = 65_535;

/** Public addresses of open ports: each at its own host name, or at a path of the common host name. */
export class PortAddress {
  readonly #base: URL;

  /** @param base common scheme, host name and port, such as `https://sandboxes.example.net` */
  constructor(base: string) {
    this.#base = new URL(base);
  }

  /** Common scheme, host name and port. */
  get url(): string {
    return this.#base.origin;
  }

  /** Common host name; each port has a subdomain. */
  get domain(): string {
    return this.#base.hostname;
  }

  get scheme(): 'http' | 'https' {
    return this.#base.protocol === 'https:' ? 'https' : 'http';
  }

  /** Returns the origin of a port, as in a browser's `Origin`. */
  originOf(target: PortTarget): string {
    return `${this.#base.protocol}//${formatPortLabel(target)}.${this.#base.host}`;
  }

  /** Returns the value of `Host` for a port. */
  hostOf(target: PortTarget): string {
    return `${formatPortLabel(target)}.${this.#base.host}`;
  }

  /**
   * Returns the URL for networks without wildcard DNS. Browsers keep no cookies for it, and its pages have an opaque
   * origin.
   */
  pathUrlOf(target: PortTarget): string {
    return `${this.#base.origin}/${formatPortLabel(target)}/`;
  }

  /** Parses a request's `Host`; `all`: the common host name; null: unrelated. */
  targetOfHost(host: string): PortTarget | 'all' | null {
    const name = host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
    if (name === this.domain) return 'all';
    const [label = '', ...rest] = name.split('.');
    return rest.join('.') === this.domain ? parsePortLabel(label) : null;
  }
}

/** `3000-sbx-0123456789abcdef`: at most 26 characters, of 63 that DNS allows in a label. */
export function formatPortLabel({ port, sandboxId }: PortTarget): string {
  return `${port}-${sandboxId}`;
}

/** Null: not a port's label. */
export function parsePortLabel(label: string): PortTarget | null {
  const [, port = '', sandboxId = ''] = LABEL.exec(label) ?? [];
  return sandboxId !== '' && Number(port) <= MAX_PORT ? { port: Number(port), sandboxId } : null;
}
