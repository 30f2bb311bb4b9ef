import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { commandIdFrom, ID_BYTES } from '../../model/ids.ts';
import { agentFolder } from '../support/agent-folder.ts';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

export function newCommandId(): string {
  return commandIdFrom(randomBytes(ID_BYTES));
}

/** Real agent as a process of this machine, in a temporary folder, with an HTTP/2 client of its socket. */
export class AgentProcess {
  #daemon: ChildProcess | null = null;
  #session: ClientHttp2Session | null = null;

  private constructor(readonly folder: string) {}

  static async start(): Promise<AgentProcess> {
    const agent = new AgentProcess(await mkdtemp(join(tmpdir(), 'mf-agent-')));
    await agent.restart();
    return agent;
  }

  get socket(): string {
    return join(this.folder, 'run', 'agent.sock');
  }

  /** Options for every verb that connects to this daemon. */
  get options(): string[] {
    return ['--socket', this.socket, '--state', join(this.folder, 'state'), '--cgroup', ''];
  }

  get program(): string {
    return join(agentFolder(), 'mayfly-agent');
  }

  get pid(): number {
    if (this.#daemon?.pid === undefined) throw new Error('the agent does not run');
    return this.#daemon.pid;
  }

  async restart(): Promise<void> {
    // Ready descriptor, as in set-up's boot scripts: the daemon writes to it when it accepts connections.
    const daemon = spawn(this.program, ['serve', ...this.options, '--ready'], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    });
    this.#daemon = daemon;
    const ready = daemon.stdio[3];
    if (!ready) throw new Error('no pipe');
    let said = '';
    for await (const chunk of ready as Readable) said += String(chunk);
    if (said !== 'ready') throw new Error(`the agent does not start: ${said}`);
    this.#session = connect('http://agent', { createConnection: () => connectSocket(this.socket) });
    this.#session.on('error', () => {}); // each request has its own error
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#session?.destroy();
    const daemon = this.#daemon;
    this.#daemon = null;
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill(signal);
    await once(daemon, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Sends a request, and leaves its answer to be read. */
  begin(method: string, path: string, hasBody = false): ClientHttp2Stream {
    if (!this.#session) throw new Error('the agent does not run');
    return this.#session.request({ ':method': method, ':path': path }, { endStream: !hasBody });
  }

  async request(method: string, path: string, body?: unknown): Promise<Answer> {
    const stream = this.begin(method, path, body !== undefined);
    if (body !== undefined) stream.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    const head = once(stream, 'response');
    const [headers] = (await head) as [Record<string, string | string[] | undefined> & { ':status'?: number }];
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return { status: headers[':status'] ?? 0, headers, body: Buffer.concat(chunks) };
  }
}
