// @ts-check
/** A topology whose stores are copies of topics: one that every worker holds whole, and one whose topic is its changelog. */
import { int64, keyValueStore, nullable, StreamsBuilder, string, topic } from '@tally/streams';

const rates = keyValueStore('rates', { key: string(), value: int64() });
const accounts = keyValueStore('accounts', { key: string(), value: int64() });

/** @type {Readonly<Record<string, (names: Readonly<Record<string, string>>) => import('./topologies.mjs').Built>>} */
export const topologies = {
  /** `payments` (key: account, value: id) -> `output` (`id:rate:account's row`), the rate by the last digit of the id. */
  copies(names) {
    const rows = { key: string(), value: nullable(int64()) };
    const streams = new StreamsBuilder({ name: 'copies' });
    const table = streams.globalTable(topic(names['rates'] ?? '', rows), rates);
    streams.table(topic(names['accounts'] ?? '', rows), accounts, { topicIsChangelog: true });
    streams
      .stream(topic(names['payments'] ?? '', { key: string(), value: int64() }))
      .leftJoinGlobal(table, { key: (id) => `r${id % 10n}`, join: (id, rate) => `${id}:${rate ?? 'none'}` })
      .to(topic(names['output'] ?? '', { key: string(), value: string() }));
    return { topology: streams.build(), stores: { rates, accounts } };
  },
};
