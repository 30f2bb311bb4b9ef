// @ts-check
/** Counts the files that a process loads; writes the number as its last line on standard error. Use `node --import`. */
import Module, { register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';

const { port1, port2 } = new MessageChannel();
const hook = `
  let port;
  export async function initialize(data) { port = data.port; }
  export async function load(url, context, next) {
    if (!url.startsWith('node:')) port.postMessage(url);
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hook)}`, { data: { port: port2 }, transferList: [port2] });
process.on('exit', () => {
  /** @type {Set<string>} */
  const seen = new Set(Object.keys(Reflect.get(Module, '_cache')));
  for (let told = receiveMessageOnPort(port1); told; told = receiveMessageOnPort(port1)) seen.add(told.message);
  process.stderr.write(`\nloaded ${seen.size} files\n`);
});
