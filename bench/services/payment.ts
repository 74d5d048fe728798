import { z } from 'zod';

/** A payment as it stands in the input topic. */
export const Payment = z.object({ eventId: z.string(), account: z.string(), amount: z.int(), currency: z.string() });
export type Payment = z.infer<typeof Payment>;
