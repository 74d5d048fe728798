import { CorruptDataError } from '../core/errors.js';
import type { AnyStoreDefinition } from '../topology/store-definition.js';

/** For an entry that was read and cannot be removed: it would be found again for ever. */
export function inexactKey({ name, key }: Pick<AnyStoreDefinition, 'name' | 'key'>): CorruptDataError {
  return new CorruptDataError(
    'KEY_SERDE_INEXACT',
    `Store ${name}: an entry that was read cannot be removed, because the serde ${key.name} writes a key as other bytes than those it has read it from. ` +
      'Use a serde whose keys have one form, for example string().',
    { store: name },
  );
}
