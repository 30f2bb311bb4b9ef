import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { HmacScheme, SignatureScheme } from '../../webhooks/scheme.ts';
import type { List } from '../http/options.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

/** Values that may stand at a JSON Pointer (RFC 6901) into the data of an event. */
export interface HookCondition {
  pointer: string;
  in: (string | number | boolean | null)[];
}

export interface CreateHook {
  /** Which runs what comes in. */
  function: string;
  scheme: SignatureScheme['scheme'];
  /** Of the scheme `hmac`, and of no other. */
  hmac?: Pick<HmacScheme, 'header'> & Partial<Omit<HmacScheme, 'scheme' | 'header'>>;
  /** One; two while it is rotated. They are never answered. */
  secrets: string[];
  /** What is run: events of which all of this holds. `@default` all */
  filter?: { types?: string[]; conditions?: HookCondition[] };
  /** Who may ask by OPTIONS whether events may be sent; `*`: anybody. `@default` nobody */
  allowedOrigins?: string[];
}

/** A hook as the API shows it: without its secrets. */
export interface Hook {
  id: string;
  project: string;
  function: string;
  /** Where events are sent to, below the address of the API. */
  path: string;
  /** The same as senders call it; null: at the address of the API. */
  url: string | null;
  scheme: SignatureScheme['scheme'];
  hmac: Omit<HmacScheme, 'scheme'> | null;
  secretCount: number;
  filter: { types: string[] | null; conditions: HookCondition[] } | null;
  allowedOrigins: string[];
  /** Since then it takes no events; null: it does. */
  disabledAt: string | null;
  createdBy: Actor;
  createdAt: string;
}

const ALL = '/v1/hooks';

/** Ways in for signed events from outside. Throws as {@link MayflyClient} does. */
export class Hooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  create(request: CreateHook, options: PostOptions = {}): Promise<Hook> {
    return this.#transport.json({ method: 'POST', path: ALL, body: request }, options);
  }

  /** Those of a function, the oldest first. */
  list(name: string, options: CallOptions = {}): Promise<List<Hook>> {
    return this.#transport.json({ method: 'GET', path: ALL, query: { function: name } }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Hook> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** Gives it other secrets: two while one is rotated, then the new one alone. */
  setSecrets(id: string, secrets: string[], options: CallOptions = {}): Promise<Hook> {
    return this.#transport.json({ method: 'PUT', path: `${pathOf(id)}/secrets`, body: { secrets } }, options);
  }

  /** It is answered as if it were not there. */
  disable(id: string, options: PostOptions = {}): Promise<Hook> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/disable` }, options);
  }

  enable(id: string, options: PostOptions = {}): Promise<Hook> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/enable` }, options);
  }

  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.json({ method: 'DELETE', path: pathOf(id) }, options);
  }
}

function pathOf(id: string): string {
  return `${ALL}/${encodeURIComponent(id)}`;
}
