import { pino } from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { createApp } from '../../api/app.ts';
import type { CommandView } from '../../api/commands/start-command.ts';
import type { App } from '../../api/http/context.ts';
import { RelayClient } from '../../host/relay/client.ts';
import { eventually } from './eventually.ts';
import type { TestMayfly } from './mayfly.ts';

export interface CommandEvent {
  id: string | undefined;
  event: string;
  data: { stream: string; at: string; offset: number; text?: string; base64?: string } & Partial<CommandView>;
}

/** HTTP API of a {@link TestMayfly}, without a port. */
export class TestDoor {
  private constructor(
    readonly app: App,
    private readonly relays: RelayClient,
    readonly secret: string,
  ) {}

  /** @param key of another door, for the same caller. `@default` a new operator's */
  static async open({ store, sagas }: Pick<TestMayfly, 'store' | 'sagas'>, key?: string): Promise<TestDoor> {
    const guests = new RelayClient(store);
    const logger = pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'silent' });
    const app = createApp({ store, sagas, guests, version: '0.0.0', logger });
    const secret =
      key ?? (await store.apiKeys.create({ project: 'default', name: 'test', scopes: ['operator'] })).secret;
    return new TestDoor(app, guests, secret);
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const raw = body instanceof Uint8Array;
    return this.app.request(path, {
      method,
      headers: {
        Authorization: `Bearer ${this.secret}`,
        ...(body !== undefined && !raw && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
    });
  }

  /** Runs a command, and waits for its end, up to `waitSeconds`. */
  async run(sandboxId: string, request: object, waitSeconds = 60): Promise<CommandView> {
    const headers = { Prefer: `wait=${waitSeconds}` };
    const response = await this.call('POST', `/v1/sandboxes/${sandboxId}/commands`, request, headers);
    const body = await response.json();
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(body)}`);
    return body as CommandView;
  }

  async get({ sandboxId, id }: Pick<CommandView, 'sandboxId' | 'id'>): Promise<CommandView> {
    return (await (await this.call('GET', `/v1/sandboxes/${sandboxId}/commands/${id}`)).json()) as CommandView;
  }

  async ended(command: Pick<CommandView, 'sandboxId' | 'id'>): Promise<CommandView> {
    return this.until(command, ({ state }) => state === 'ended');
  }

  async until(
    command: Pick<CommandView, 'sandboxId' | 'id'>,
    wish: (view: CommandView) => boolean,
  ): Promise<CommandView> {
    return eventually(() => this.get(command), wish);
  }

  async output({ sandboxId, id }: Pick<CommandView, 'sandboxId' | 'id'>, query: string): Promise<Response> {
    return this.call('GET', `/v1/sandboxes/${sandboxId}/commands/${id}/output?${query}`);
  }

  /** Returns one stored stream of a command as text. */
  async text(command: Pick<CommandView, 'sandboxId' | 'id'>, stream: 'stdout' | 'stderr' = 'stdout'): Promise<string> {
    return (await this.output(command, `stream=${stream}`)).text();
  }

  async *events(
    { sandboxId, id }: Pick<CommandView, 'sandboxId' | 'id'>,
    lastEventId?: string,
  ): AsyncGenerator<CommandEvent> {
    const headers = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const response = await this.call('GET', `/v1/sandboxes/${sandboxId}/commands/${id}/events`, undefined, headers);
    let text = '';
    for await (const bytes of response.body ?? []) {
      text += Buffer.from(bytes).toString();
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        if (event.startsWith(':')) continue;
        const fields = new Map(event.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
        yield {
          id: fields.get('id'),
          event: fields.get('event') ?? '',
          data: JSON.parse(fields.get('data') ?? 'null') as CommandEvent['data'],
        };
      }
    }
  }

  close(): void {
    this.relays.close();
  }
}

/** Opens a door for the tests of a file, from the next `beforeAll` on. */
export function useTestDoor(mayfly: () => TestMayfly): TestDoor {
  const door = Object.create(TestDoor.prototype) as TestDoor;
  beforeAll(async () => void Object.assign(door, await TestDoor.open(mayfly())));
  afterAll(() => door.close());
  return door;
}
