export { sandbox } from './sandbox.ts';
