import type { Image } from '../../client/images.ts';

const AT = '2026-11-24T12:00:00.000Z';
/** A build as the API answers it: ready, of two steps, the first of which was done before. */
export const image: Image = {
  id: 'img-0123456789abcdef',
  project: 'default',
  name: 'web',
  state: 'ready',
  source: 'golden-debian12',
  builderId: 'sbx-0123456789abcdef',
  steps: [
    { line: 2, text: 'RUN true', command: null },
    { line: null, text: 'finish', command: { sandboxId: 'sbx-0123456789abcdef', id: 'cmd-0123456789abcdef' } },
  ],
  ready: null,
  cached: 1,
  done: 2,
  snapshotId: 'snp-0123456789abcdef',
  settings: { env: {}, workdir: '/', user: 'root', labels: {}, exposed: [], cmd: ['serve'], entrypoint: null },
  unusedArgs: ['SPARE'],
  ignored: [],
  failure: null,
  waitingFor: null,
  createdBy: { apiKeyId: 'key', agentId: null },
  createdAt: AT,
  readyAt: AT,
  updatedAt: AT,
};

/** Of a step of it. */
export const failure = {
  code: 'image_step_failed',
  message: 'line 2: RUN true: exit code 3',
  line: 2,
  exitCode: 3,
  log: '\u001b[2Jwhy\n',
};
