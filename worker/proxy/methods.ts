import proto from '@temporalio/proto';
import type { Service } from 'protobufjs';

/** What a message of Temporal's API is written and read with. */
export interface MessageType {
  decode(bytes: Uint8Array): object;
  encode(message: object): { finish(): Uint8Array };
}

export interface Method {
  name: string;
  /** As `/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo`. */
  path: string;
  request: MessageType;
  response: MessageType;
}

const { workflowservice, operatorservice } = proto.temporal.api;
/** The services of a Temporal frontend that our processes call; the package says which at run time only. */
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
