export { recordEvent } from './record-event.ts';
export { sandbox } from './sandbox.ts';
