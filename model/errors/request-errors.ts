import { errorTable } from './entry.ts';

export const REQUEST_ERRORS = errorTable({
  invalid_request: {
    status: 422,
    title: 'The request is not valid',
    remedy: 'Mend the fields named in `errors`.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not JSON',
    remedy: 'Send one JSON object in UTF-8.',
  },
  invalid_id: {
    status: 400,
    title: 'That is not an id',
    remedy: 'Use an id as this API returned it, or the name of a sandbox that lives.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is of another media type',
    remedy: 'Send `Content-Type: application/json`.',
  },
  body_too_large: { status: 413, title: 'The body is too large', remedy: 'Send at most 1 MiB.' },
  not_found: { status: 404, title: 'There is no such thing', remedy: 'Check the path and the id.' },
  malformed_request: {
    status: 400,
    title: 'That is not HTTP as it should be',
    remedy: 'Send HTTP/1.1 with one `Host`, and a path that begins with `/`; see what stands between client and API.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large',
    remedy: 'Send at most 16 KiB of headers, with the first line.',
  },
  request_timeout: {
    status: 408,
    retryable: true,
    title: 'The request did not arrive in time',
    remedy: 'Send it again: all its headers within 60 s, and a body that is no file within 60 s more.',
  },
  expectation_failed: {
    status: 417,
    title: 'That expectation cannot be met',
    remedy: 'Send `Expect: 100-continue`, or no `Expect`.',
  },
  method_not_allowed: {
    status: 405,
    title: 'That method is not for this path',
    remedy: 'See /openapi.json for what the path takes.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'This Idempotency-Key was used with another body',
    remedy: 'Use a new key for a new request.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The range is outside of the file',
    remedy: 'See Content-Range for its size.',
  },
  too_many_requests: {
    status: 429,
    retryable: true,
    title: 'Too many at once',
    remedy: 'Wait for Retry-After seconds.',
  },
});
