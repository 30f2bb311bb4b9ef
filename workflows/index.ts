export { recordEvent } from './record-event.ts';
export { sandbox } from './sandbox.ts';
export { source } from './source.ts';
