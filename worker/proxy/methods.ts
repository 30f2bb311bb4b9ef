import proto from '@temporalio/proto';
import type { Service } from 'protobufjs';

/** Codec of a message of Temporal's API. */
export interface MessageType {
  decode(bytes: Uint8Array): object;
  encode(message: object): { finish(): Uint8Array };
}

export interface Method {
  name: string;
  /** For example `/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo`. */
  path: string;
  request: MessageType;
  response: MessageType;
}

const { workflowservice, operatorservice } = proto.temporal.api;
/** Services of a Temporal frontend that Mayfly's processes call; the package exports their methods at run time only. */
const SERVICES = [workflowservice.v1.WorkflowService, operatorservice.v1.OperatorService] as unknown as Service[];

export function temporalMethods(): Method[] {
  return SERVICES.flatMap((service) =>
    service.methodsArray.map((method) => {
      const { name, requestType, responseType } = method;
      const path = `/${service.fullName.replace(/^\./, '')}/${name}`;
      return { name, path, request: service.lookupType(requestType), response: service.lookupType(responseType) };
    }),
  );
}
