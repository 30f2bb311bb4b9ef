import type { z } from '@hono/zod-openapi';
import { expect } from 'vitest';
import type { runAnswer } from '../../api/runs/run-schemas.ts';
import { buildTar, type TarEntry } from '../../model/image/tar.ts';
import type { TestDoor } from './door.ts';
import { eventually } from './eventually.ts';

export type Run = z.infer<typeof runAnswer>;

let count = 0;

export class TestFunctions {
  constructor(private readonly door: Pick<TestDoor, 'call'>) {}

  /** Deploys a function that runs a shell command. @returns its name */
  async deploy(command: string, more: object = {}, files: Record<string, string> = {}): Promise<string> {
    const name = `fn-${++count}`;
    await this.deployAs(name, command, more, files);
    return name;
  }

  async deployAs(
    name: string,
    command: string,
    more: object = {},
    files: Record<string, string> = {},
  ): Promise<number> {
    const tar = Object.keys(files).length > 0 ? { files: { tar: archiveOf(files) } } : {};
    const wish = { source: 'golden-debian12', command, ...tar, ...more };
    const response = await this.door.call('PUT', `/v1/functions/${name}`, wish);
    const body = await response.json();
    expect({ status: response.status, body }).toMatchObject({ status: expect.toBeOneOf([200, 201]) });
    return (body as { version: number }).version;
  }

  async pause(name: string): Promise<void> {
    expect((await this.door.call('POST', `/v1/functions/${name}/pause`)).status).toBe(200);
  }

  async resume(name: string): Promise<void> {
    expect((await this.door.call('POST', `/v1/functions/${name}/resume`)).status).toBe(200);
  }

  async delete(name: string, query = ''): Promise<number> {
    return (await this.door.call('DELETE', `/v1/functions/${name}${query}`)).status;
  }

  async post(name: string, data: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return this.door.call('POST', `/v1/functions/${name}/runs`, data, headers);
  }

  async trigger(name: string, data: unknown = {}, headers: Record<string, string> = {}): Promise<Run> {
    const response = await this.post(name, data, headers);
    const body = await response.json();
    expect({ status: response.status, body }).toMatchObject({ status: 202 });
    return body as Run;
  }

  async get(id: string): Promise<Run> {
    return (await (await this.door.call('GET', `/v1/runs/${id}`)).json()) as Run;
  }

  async until(id: string, wish: (run: Run) => boolean): Promise<Run> {
    return eventually(() => this.get(id), wish);
  }

  /** Waits until a running process has printed `hello`. */
  async greets(id: string): Promise<Run> {
    await this.until(id, ({ state, attempts }) => state === 'running' && attempts.length > 0);
    await eventually(() => this.output(id), /hello/);
    return this.get(id);
  }

  /** Resolves when it has ended, and its cleanup is complete. */
  over({ id }: Pick<Run, 'id'>): Promise<Run> {
    return this.until(id, ({ state, cleanup }) => state === 'ended' && cleanup !== 'pending');
  }

  async run(name: string, data: unknown = {}, headers: Record<string, string> = {}): Promise<Run> {
    return this.over(await this.trigger(name, data, headers));
  }

  async cancel(id: string): Promise<Response> {
    return this.door.call('POST', `/v1/runs/${id}/cancel`);
  }

  async output(id: string, stream = 'stdout'): Promise<string> {
    return (await this.door.call('GET', `/v1/runs/${id}/output?stream=${stream}`)).text();
  }

  async result(id: string): Promise<Response> {
    return this.door.call('GET', `/v1/runs/${id}/result`);
  }

  async artifact(id: string, path: string): Promise<Response> {
    return this.door.call('GET', `/v1/runs/${id}/artifacts/${encodeURIComponent(path)}`);
  }
}

function archiveOf(files: Record<string, string>): string {
  const entries = Object.entries(files).map(([path, text]): TarEntry => {
    return { path, type: 'file', mode: 0o755, bytes: new TextEncoder().encode(text), link: null };
  });
  return Buffer.from(buildTar(entries)).toString('base64');
}
