import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { describeContext, receiveContext } from '../../services/images/receive-context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { json } from '../http/schemas.ts';
import { contextAnswer, contextParams } from './image-schemas.ts';

const route = routeOf('images');

const ONE = '/v1/image-contexts/{digest}';
const { sentContextBytes } = LIMITS.image;

export const contextRoutes: Route[] = [
  route('getImageContext', 'get', ONE, {
    scope: 'admin',
    summary: 'Whether a context is there, so that it need not be sent',
    in: { params: contextParams },
    out: { 200: json('It is there', contextAnswer) },
    problems: ['context_not_found'],
    handle: ({ store, params: { digest } }) => describeContext(store, digest),
  }),
  route('putImageContext', 'put', ONE, {
    scope: 'admin',
    summary: 'Send what COPY takes from, as a tar archive',
    description: `For one that is too large for the request of its build, up to ${sentContextBytes} bytes. It is named by its SHA-256, and forgotten when no build has used it for ${LIMITS.image.sentContextHours} hours.`,
    limit: null,
    in: {
      params: contextParams,
      media: { required: true, content: { 'application/x-tar': { schema: z.string().openapi({ format: 'binary' }) } } },
    },
    out: { 200: json('It was there', contextAnswer), 201: json('It is there now', contextAnswer) },
    problems: ['body_too_large', 'context_differs', 'context_not_found', 'quota_exceeded'],
    handle: async ({ c, store, params: { digest } }) => {
      const body = c.req.raw.body ?? new ReadableStream();
      const announced = Number(c.req.header('Content-Length') ?? 0);
      const isNew = await receiveContext(store, digest, body, announced);
      return reply(isNew ? 201 : 200, await describeContext(store, digest));
    },
  }),
];
