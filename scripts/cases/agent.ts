import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { guestBinaries } from '../../worker/config/artifacts.mjs';
import { guest } from '../setup/guest.mjs';

/** Guest agent on this machine for one case, in a folder of its own. */
export class LocalAgent {
  private constructor(
    private readonly folder: string,
    private readonly daemon: ChildProcess,
    private readonly session: ClientHttp2Session,
  ) {}

  /** Starts the agent, and builds it first if set-up has not. @throws Error when it does not start */
  static async start(): Promise<LocalAgent> {
    const program = await programPath();
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-cases-'));
    const socket = join(folder, 'agent.sock');
    const options = ['--socket', socket, '--state', join(folder, 'state'), '--cgroup', '', '--ready'];
    const daemon = spawn(program, ['serve', ...options], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
    let said = '';
    for await (const chunk of daemon.stdio[3] as Readable) said += String(chunk);
    if (said !== 'ready') {
      await rm(folder, { recursive: true, force: true });
      throw new Error(`the guest agent ${program} does not start: ${said}`);
    }
    const session = connect('http://agent', { createConnection: () => connectSocket(socket) });
    session.on('error', () => {}); // each request reports it
    return new LocalAgent(folder, daemon, session);
  }

  /** Returns the complete response. @throws Error for an error status */
  async request(method: 'GET' | 'PUT', path: string, body?: object): Promise<Buffer> {
    const stream = this.session.request({ ':method': method, ':path': path }, { endStream: !body });
    if (body) stream.end(JSON.stringify(body));
    let status: unknown;
    stream.once('response', (headers) => {
      status = headers[':status'];
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    const answer = Buffer.concat(chunks);
    if (typeof status !== 'number' || status >= 300)
      throw new Error(`${method} ${path}: ${String(status)} ${answer.toString()}`);
    return answer;
  }

  async stop(): Promise<void> {
    this.session.destroy();
    if (this.daemon.exitCode === null && this.daemon.signalCode === null) {
      this.daemon.kill('SIGTERM');
      await once(this.daemon, 'exit');
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function programPath(): Promise<string> {
  const there = guestBinaries();
  if (there) return there.agent;
  await guest.make({ signal: AbortSignal.timeout(300_000), note: () => {} });
  const built = guestBinaries();
  if (built) return built.agent;
  throw new Error('The guest agent is not built: run `npm run setup`.');
}
