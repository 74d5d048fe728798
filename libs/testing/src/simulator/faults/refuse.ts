import { simulatedError } from '../../broker/errors.js';
import { type FaultDefinition, someMachine, someTime } from './kind.js';

/** Abortable: the client asks for an abort. Only an abort that succeeds says that the transaction did not happen. */
export const refuse: FaultDefinition<'refuse'> = {
  weight: 3,
  labels: ['offsets refused', 'commit refused', 'commit refused that took effect'],
  suits: () => true,
  draw: (draw, setting) => ({
    kind: 'refuse',
    machine: someMachine(draw, setting),
    when: { afterMs: someTime(draw, setting), on: 'await', nth: 1 },
    request: draw.oneOf(['commitTransactionOffsets', 'endTransaction']),
    tookEffect: draw.chance(0.5),
  }),
  arm(history, { machine: index, when, request, tookEffect }) {
    const machine = history.machines[index];
    const error = simulatedError('INVALID_TXN_STATE', undefined, 'abortable');
    const isCommit = request === 'endTransaction';
    const label = isCommit ? `commit refused${tookEffect ? ' that took effect' : ''}` : 'offsets refused';
    machine?.arm(when, () =>
      machine.faultNext(request, isCommit && tookEffect ? { answerError: error } : { error }, 1, () => history.fired(label)),
    );
  },
};
