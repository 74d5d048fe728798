import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AnyStoreDefinition } from '@tally/streams';
import type { StreamContext } from '../interfaces/index.js';

const storeParameter = createParamDecorator((definition: AnyStoreDefinition, host: ExecutionContext): unknown =>
  host.getArgByIndex<StreamContext>(1).store<unknown>(definition),
);

/** Injects one of the stores that the handler was declared with, bound to the record in hand. */
export function Store(definition: AnyStoreDefinition): ParameterDecorator {
  return storeParameter(definition);
}
