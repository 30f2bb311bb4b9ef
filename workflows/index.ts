export { certificate } from './certificate.ts';
export { command } from './command.ts';
export { deleteSnapshot } from './delete-snapshot.ts';
export { passingSnapshot } from './passing-snapshot.ts';
export { recordEvent } from './record-event.ts';
export { sandbox } from './sandbox.ts';
export { source } from './source.ts';
export { trust } from './trust.ts';
