import { errorTable } from './entry.ts';

export const PORT_ERRORS = errorTable({
  port_closed: {
    status: 502,
    retryable: true,
    title: 'Nothing answers at that port of the sandbox',
    remedy:
      'Start what is to listen there, on 127.0.0.1, ::1 or all addresses; `ss -ltn` in the sandbox shows who listens.',
  },
  port_refused: {
    status: 422,
    title: 'That port is not passed on',
    remedy: "Take another one: a sandbox's port 22 is Mayfly's own way in; `mayfly ssh` logs in.",
  },
  port_not_open: {
    status: 404,
    title: 'That port of the sandbox is not open for HTTP',
    remedy: 'Open it with `mayfly port open`; `mayfly port list` shows which are.',
  },
  port_open: {
    status: 409,
    title: 'That port is open, with other settings',
    remedy:
      'Use it as it is, or close it first (`mayfly port close`): that ends what goes through it, and voids its tokens.',
  },
  ports_full: {
    status: 409,
    title: 'The sandbox has as many open ports as one may have',
    remedy: 'Close one that nobody needs: `mayfly port list`, `mayfly port close`.',
  },
  port_without_tokens: {
    status: 409,
    title: 'That port is open for keys of its project, and has no tokens',
    remedy: 'Send an API key in `X-Mayfly-Key`, or close the port and open it with the visibility `token`.',
  },
  port_failed: {
    status: 502,
    retryable: true,
    title: 'What answers at that port did not answer the request',
    remedy: 'See what the program in the sandbox writes: it ended the connection, or speaks no HTTP.',
  },
});
