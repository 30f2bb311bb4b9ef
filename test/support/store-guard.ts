import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import mongoose from 'mongoose';
import { z } from 'zod';
import { listen } from './listen.ts';

/** Processes with a row of rights. */
export type ProcessName = 'control' | 'host' | 'api' | 'proxy';

const row = z.record(z.string(), z.array(z.enum(['find', 'insert', 'update', 'remove', 'createIndex'])));
export const RIGHTS = z
  .strictObject({ control: row, host: row, api: row, proxy: row })
  .parse(JSON.parse(readFileSync(new URL('../../deploy/mongodb/rights.json', import.meta.url), 'utf8')));

/** Allowed actions by collection: a row of deploy/mongodb/rights.json. */
export type Rights = Readonly<Record<string, readonly string[]>>;

/** Opcode of OP_MSG, size of its header, and offset of its body (MongoDB wire protocol). */
const OP_MSG = 2013;
const HEADER_BYTES = 16;
const BODY_AT = 21;
/** Error code of MongoDB for missing rights (its error_codes.yml). */
const UNAUTHORIZED = 13;
/** Commands that need no right to a collection. */
const FREE = new Set(['hello', 'ismaster', 'isMaster', 'ping', 'endSessions', 'buildInfo', 'killCursors']);

interface Update {
  upsert?: boolean;
}
interface Command extends Record<string, unknown> {
  upsert?: boolean;
  remove?: boolean;
  updates?: Update[];
}

/**
 * Proxy between one process and the store that acts like server roles: it refuses actions outside the process's row.
 */
export class StoreGuard {
  /** Performed actions as `<collection> <action>`. */
  readonly used = new Set<string>();
  readonly refused: string[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    private readonly rights: Rights,
  ) {
    server.on('connection', (client) => this.#serve(client));
  }

  static async start(uri: string, rights: Rights): Promise<StoreGuard> {
    const server = createServer();
    await listen(server);
    return new StoreGuard(server, new URL(uri), rights);
  }

  /** URI of the same database through this proxy. */
  get uri(): string {
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('the guard has no port');
    const url = new URL(this.target);
    url.host = `127.0.0.1:${address.port}`;
    return url.href;
  }

  async stop(): Promise<void> {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.server, 'close');
  }

  #serve(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname);
    let pending = Buffer.alloc(0);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('close', () => other.destroy());
      socket.on('error', () => other.destroy());
    }
    server.pipe(client);
    client.on('data', (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
        const message = pending.subarray(0, pending.readInt32LE(0));
        pending = pending.subarray(message.length);
        const refusal = this.#refusalOf(message);
        if (refusal) client.write(refusal);
        else server.write(message);
      }
    });
  }

  /** Returns the answer to a forbidden command; null: allowed. */
  #refusalOf(message: Buffer): Buffer | null {
    if (message.readInt32LE(12) !== OP_MSG) return null;
    const { name, collection, needs } = parsed(message);
    if (FREE.has(name)) return null;
    const missing = needs.filter((action) => !this.rights[collection]?.includes(action));
    if (missing.length === 0) {
      for (const action of needs) this.used.add(`${collection} ${action}`);
      return null;
    }
    this.refused.push(`${name} ${collection}: ${missing.join(', ')}`);
    return answerTo(message, `not authorized on this database to execute command ${name} on ${collection}`);
  }
}

/** Parses a command, and its required actions by MongoDB's manual ("Privilege Actions"). */
function parsed(message: Buffer): { name: string; collection: string; needs: string[] } {
  const size = message.readInt32LE(BODY_AT);
  const body = mongoose.mongo.BSON.deserialize(message.subarray(BODY_AT, BODY_AT + size)) as Command;
  const [name = '', about] = Object.entries(body)[0] ?? [];
  const collection = String(name === 'getMore' ? body['collection'] : about);
  return { name, collection, needs: actionsOf(name, { ...body, ...sequence(message, BODY_AT + size) }) };
}

function actionsOf(name: string, { updates = [], upsert = false, remove = false }: Command): string[] {
  switch (name) {
    case 'find':
    case 'aggregate':
    case 'count':
    case 'distinct':
    case 'getMore':
      return ['find'];
    case 'insert':
      return ['insert'];
    case 'update':
      return updates.some((each) => each.upsert) ? ['update', 'insert'] : ['update'];
    case 'findAndModify':
      return ['find', remove ? 'remove' : 'update', ...(upsert ? ['insert'] : [])];
    case 'delete':
      return ['remove'];
    case 'createIndexes':
      return ['createIndex'];
    default:
      return [name];
  }
}

/** Parses a section of documents (OP_MSG, kind 1). */
function sequence(message: Buffer, at: number): Record<string, unknown> {
  if (at + 5 >= message.length || message[at] !== 1) return {};
  const nameEnd = message.indexOf(0, at + 5);
  const documents: unknown[] = [];
  for (let from = nameEnd + 1; from < at + 1 + message.readInt32LE(at + 1); from += message.readInt32LE(from)) {
    documents.push(mongoose.mongo.BSON.deserialize(message.subarray(from, from + message.readInt32LE(from))));
  }
  return { [message.toString('utf8', at + 5, nameEnd)]: documents };
}

function answerTo(message: Buffer, errmsg: string): Buffer {
  const body = mongoose.mongo.BSON.serialize({ ok: 0, errmsg, code: UNAUTHORIZED, codeName: 'Unauthorized' });
  const head = Buffer.alloc(BODY_AT);
  head.writeInt32LE(BODY_AT + body.length, 0);
  head.writeInt32LE(message.readInt32LE(4), 8); // id of the request
  head.writeInt32LE(OP_MSG, 12);
  return Buffer.concat([head, body]);
}
