// @ts-check
/** The families of operators that are measured: one topology for each here, one in Kafka Streams. */
export const familyNames = /** @type {const} */ ([
  'stateless',
  'aggregate',
  'tumbling',
  'hopping',
  'sliding',
  'session',
  'suppress',
  'streamJoin',
  'streamTable',
  'tableJoin',
]);
