/** Tables that hold changes back. */
import type { SuppressOptions } from '@tally/streams';
import type { BuildOperator } from '../node.js';
import { numberField, requiredText, textField } from '../scenario.js';
import type { Present } from '../types.js';

export const suppress: Readonly<Record<string, BuildOperator>> = {
  suppress(operator, build) {
    const node = build.nodeOf(operator.from, 'table');
    const until = requiredText(operator, 'until');
    const recordsMax = numberField(operator, 'maxRecords');
    const whenFull = textField(operator, 'full');
    const options = {
      until,
      ...(until === 'timeLimit' ? { waitMs: numberField(operator, 'waitMs') } : {}),
      ...(recordsMax === undefined ? {} : { recordsMax }),
      ...(whenFull === undefined ? {} : { whenFull }),
    };
    return { ...node, table: node.table.suppress(options as SuppressOptions<Present>) };
  },
};
