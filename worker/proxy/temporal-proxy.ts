import {
  type ChannelCredentials,
  Client,
  Metadata,
  Server,
  type ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { type Caller, nameOf, parseCaller, type TaskTokens } from './caller.ts';
import { type MessageType, type Method, temporalMethods } from './methods.ts';
import type { Rules, Verdict } from './rules.ts';

/** Histories and polled tasks may be as large as Temporal allows. */
const LARGEST = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };
/** Headers about the caller that Temporal requires. */
const HEADERS = ['client-name', 'client-version', 'supported-server-versions', 'temporal-namespace'];

interface TemporalProxyDeps {
  /** Address of Temporal's frontend. */
  address: string;
  namespace: string;
  credentials: ChannelCredentials;
  /** `@default` none: the name in Temporal's certificate must match the address */
  options?: object;
  tokens: TaskTokens;
  rulesOf: (caller: Caller) => Rules;
  logger: Logger;
}

type Call = ServerUnaryCall<object, object>;

/**
 * Filters Temporal's frontend for processes that may be compromised: forwards only requests of the caller's row in
 * docs/security.md. Temporal itself has no rights on queues, workflows or messages.
 */
export class TemporalProxy {
  readonly #deps: TemporalProxyDeps;
  readonly #server = new Server(LARGEST);
  readonly #temporal: Client;
  readonly #rules = new Map<string, Rules>();

  constructor(deps: TemporalProxyDeps) {
    this.#deps = deps;
    this.#temporal = new Client(deps.address, deps.credentials, { ...LARGEST, ...deps.options });
    for (const method of temporalMethods()) {
      const { path, request, response } = method;
      const handle = (call: Call, answer: sendUnaryData<object>) => void this.#handle(method, call, answer);
      this.#server.register(path, handle, bytes(response), message(request), 'unary');
    }
  }

  /** @returns the port that it listens on */
  listen(address: string, credentials: ServerCredentials): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, credentials, (error, port) => (error ? reject(error) : resolve(port)));
    });
  }

  close(): void {
    this.#server.forceShutdown();
    this.#temporal.close();
  }

  async #handle(method: Method, call: Call, answer: sendUnaryData<object>): Promise<void> {
    const caller = parseCaller(call.getAuthContext()?.sslPeerCertificate?.subject.CN);
    try {
      const why =
        caller === null ? 'its certificate is of no caller' : await this.#findRefusal(method, caller, call.request);
      if (caller === null || why !== null) return this.#refuse(method, caller, why, answer);
      this.#forward(method, caller, call, answer);
    } catch (cause) {
      this.#deps.logger.warn({ err: cause, method: method.name }, 'a request to Temporal could not be judged');
      answer({ code: status.UNAVAILABLE, details: 'The proxy could not tell whether this may be asked for.' });
    }
  }

  async #findRefusal({ name }: Method, caller: Caller, request: Fields): Promise<string | null> {
    const rules = this.#rulesOf(caller) as Record<string, ((request: object) => Verdict) | undefined>;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (!rule) return `${name} is not for it to call`;
    if (request.namespace && request.namespace !== this.#deps.namespace) return 'the namespace is another';
    if (request.taskToken) {
      const token = this.#deps.tokens.opened(request.taskToken, caller);
      if (token === null) return 'the task was not given to it';
      request.taskToken = token;
    }
    return rule(request);
  }

  #rulesOf(caller: Caller): Rules {
    const known = this.#rules.get(nameOf(caller)) ?? this.#deps.rulesOf(caller);
    this.#rules.set(nameOf(caller), known);
    return known;
  }

  #refuse({ name }: Method, caller: Caller | null, why: string | null, answer: sendUnaryData<object>): void {
    const by = caller && nameOf(caller);
    this.#deps.logger.warn({ by, method: name, why }, 'a request was refused');
    answer({ code: status.PERMISSION_DENIED, details: `${name} is refused to ${by ?? 'somebody'}: ${why}.` });
  }

  #forward({ path, request, response }: Method, caller: Caller, call: Call, answer: sendUnaryData<object>): void {
    const headers = new Metadata();
    for (const name of HEADERS) for (const value of call.metadata.get(name)) headers.add(name, value);
    const options = { deadline: call.getDeadline() };
    const sent = this.#temporal.makeUnaryRequest<object, object>(
      path,
      bytes(request),
      message(response),
      call.request,
      headers,
      options,
      (error, value) => {
        if (error) return answer({ code: error.code, details: error.details, metadata: error.metadata });
        return answer(null, value && this.#bindToken(value, caller));
      },
    );
    call.on('cancelled', () => sent.cancel());
  }

  /** Binds a polled task to this caller, which alone may answer for it. */
  #bindToken(answer: Fields, caller: Caller): object {
    if (answer.taskToken?.length) answer.taskToken = this.#deps.tokens.sealed(answer.taskToken, caller);
    return answer;
  }
}

/** Fields with the same meaning in all messages. */
interface Fields {
  namespace?: string;
  taskToken?: Uint8Array;
}

/** Re-encodes each message: fields unknown here are not forwarded. */
function bytes(type: MessageType): (message: object) => Buffer {
  return (value) => Buffer.from(type.encode(value).finish());
}

function message(type: MessageType): (bytes: Buffer) => object {
  return (value) => type.decode(value);
}
