import { once } from 'node:events';
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
  request,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { z } from '@hono/zod-openapi';
import { pino } from 'pino';
import type { openPort } from '../../api/ports/port-schemas.ts';
import { Ingress } from '../../services/ingress/ingress-server.ts';
import { jsonOf } from '../api/support.ts';
import { PortDoor } from './port-door.ts';

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  bytes: Buffer;
}

type Settings = Omit<z.input<typeof openPort>, 'port'>;

/** Ingress of open ports for one sandbox whose loopback is this machine's. */
export class IngressDoor {
  private constructor(
    readonly ports: PortDoor,
    readonly ingress: Ingress,
    readonly listens: number,
  ) {}

  static async open(): Promise<IngressDoor> {
    const ports = await PortDoor.open();
    const { store, sagas } = ports.door;
    const logger = pino({ level: process.env['MAYFLY_LOG_LEVEL'] ?? 'silent' });
    const deps = { store, sagas, guests: ports.agent.guests, logger };
    const ingress = await Ingress.start(deps, { address: '127.0.0.1', port: 0, url: undefined });
    return new IngressDoor(ports, ingress, Number(new URL(ingress.addresses.url).port));
  }

  async close(): Promise<void> {
    this.ingress.close();
    await this.ports.close();
  }

  hostOf(port: number, sandboxId = this.ports.id): string {
    return this.ingress.addresses.hostOf({ port, sandboxId });
  }

  /** Opens a port, and issues a token for it. */
  async expose(port: number, settings: Settings = {}, ttlSeconds = 600): Promise<string> {
    const path = `/v1/sandboxes/${this.ports.id}/ports`;
    await this.ports.door.call('POST', path, { port, ...settings });
    if (settings.visibility === 'project') return '';
    const { token } = await jsonOf<{ token: string }>(
      this.ports.door.call('POST', `${path}/${port}/tokens`, { ttlSeconds }),
    );
    return token;
  }

  /** Sends a request. @returns its answer once that has started */
  async ask(
    host: string,
    path: string,
    options: RequestOptions = {},
    body?: string | Buffer,
  ): Promise<IncomingMessage> {
    const headers: OutgoingHttpHeaders = { ...(options.headers as OutgoingHttpHeaders), host };
    const asking = request({ port: this.listens, host: '127.0.0.1', path, agent: false, ...options, headers });
    asking.on('error', () => {}); // it may break after the answer
    asking.end(body);
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return answer;
  }

  async get(host: string, path: string, options: RequestOptions = {}, body?: string | Buffer): Promise<Answered> {
    const answer = await this.ask(host, path, options, body);
    const bytes = await buffer(answer);
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: bytes.toString(), bytes };
  }

  /** Sends raw bytes. @returns everything until the connection ends */
  async raw(text: string): Promise<string> {
    const socket = this.dial();
    socket.write(text, 'latin1');
    return (await buffer(socket)).toString('latin1');
  }

  dial(): Socket {
    const socket = connect({ port: this.listens, host: '127.0.0.1' });
    socket.on('error', () => {});
    return socket;
  }
}
