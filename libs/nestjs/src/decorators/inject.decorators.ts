import { Inject } from '@nestjs/common';
import type { AnyStoreDefinition } from '@tally/streams';
import { getStoreToken, getStreamsHealthToken, getStreamsQueryToken, getStreamsWorkerToken } from '../streams.constants.js';

/** Injects the committed state of a store for queries, a `QueryableStore`. The store is provided by `StreamsModule.forFeature([store])`. */
export const InjectStore = (store: AnyStoreDefinition, application?: string): ReturnType<typeof Inject> =>
  Inject(getStoreToken(store, application));

/** Injects the `StreamsQueryService` of a named application; that of the default one is injected by its class. */
export const InjectStreamsQuery = (application?: string): ReturnType<typeof Inject> => Inject(getStreamsQueryToken(application));

/** Injects the `StreamsHealthIndicator` of a named application; that of the default one is injected by its class. */
export const InjectStreamsHealth = (application?: string): ReturnType<typeof Inject> => Inject(getStreamsHealthToken(application));

/** Injects the `StreamsWorkerRef` of a named application; that of the default one is injected by its class. */
export const InjectWorker = (application?: string): ReturnType<typeof Inject> => Inject(getStreamsWorkerToken(application));
