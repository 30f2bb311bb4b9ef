import type { z } from '@hono/zod-openapi';
import { expect } from 'vitest';
import type { newToken, waitpointAnswer } from '../../api/waitpoints/waitpoints.ts';
import type { TestDoor } from './door.ts';

export type Waitpoint = z.infer<typeof waitpointAnswer>;
export type WaitpointToken = z.infer<typeof newToken>;

export class TestWaitpoints {
  constructor(private readonly door: TestDoor) {}

  ask(runId: string, wish: object = {}): Promise<Response> {
    return this.door.call('POST', `/v1/runs/${runId}/waitpoints`, wish);
  }

  async token(runId: string, wish: object = {}): Promise<WaitpointToken> {
    const response = await this.ask(runId, wish);
    const body = await response.json();
    expect({ status: response.status, body }).toMatchObject({ status: 201 });
    return body as WaitpointToken;
  }

  async list(runId: string): Promise<Waitpoint[]> {
    const response = await this.door.call('GET', `/v1/runs/${runId}/waitpoints`);
    return ((await response.json()) as { items: Waitpoint[] }).items;
  }

  /** Completes a waitpoint like a holder of the token alone. */
  async complete({ path }: Pick<WaitpointToken, 'path'>, data: unknown): Promise<{ status: number; code?: string }> {
    const headers = { 'Content-Type': 'application/json' };
    const response = await this.door.app.request(path, { method: 'POST', headers, body: JSON.stringify({ data }) });
    const { code } = (await response.json()) as { code?: string };
    return { status: response.status, ...(code !== undefined && { code }) };
  }
}
