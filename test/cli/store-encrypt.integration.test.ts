import { join } from 'node:path';
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectStore } from '../../store/connect.ts';
import { Closers } from '../../worker/config/closers.ts';
import { payloadKeys } from '../../worker/payloads/payload-keys.ts';
import { temporaryState } from '../host/temporary-state.ts';
import { command, commandId } from '../store/support.ts';
import { startStoreServer } from '../support/store-server.ts';
import { runLine } from './run-line.ts';

const closers = new Closers();
let env: NodeJS.ProcessEnv;
let db: mongoose.Connection;

beforeAll(async () => {
  const { state, remove } = await temporaryState();
  closers.add('state folder', remove);
  const server = await startStoreServer();
  closers.add('store server', () => server.stop());
  env = { MAYFLY_STATE_DIR: state.root, MONGODB_URI: server.uri };
  const keys = await payloadKeys(join(state.root, 'control', 'payload.key'), true);
  await (await connectStore(server.uri, { keys, isProcess: true })).close();
  db = await mongoose.createConnection(server.uri).asPromise();
  closers.add('connection', () => db.close());
});
afterAll(() => closers.close());

async function encrypt(): Promise<{ code: unknown; said: string }> {
  const { code, out, err } = await runLine({ url: '' }, ['store', 'encrypt'], { env: { ...process.env, ...env } });
  return { code, said: out + err };
}

it('`mayfly store encrypt` leaves unreadable documents, and reports them', async () => {
  expect(await encrypt()).toMatchObject({ code: 0, said: expect.stringContaining('all was encrypted') });
  const { id: _id, ...rest } = command(1);
  const commands = db.collection<Record<string, unknown> & { _id: string }>('commands');
  await commands.insertOne({ _id, ...rest });
  await commands.insertOne({ _id: commandId(2), spec: new mongoose.mongo.Binary(Buffer.alloc(60), 0x80) });
  expect(await encrypt()).toMatchObject({ code: 1, said: expect.stringContaining('left as it is') });
  expect(await commands.findOne({ _id })).toMatchObject(rest);
});
