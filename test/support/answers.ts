/** Answers of the broker that a proxy makes worse than they are. */

/** A broker's error numbers, as the protocol has them. */
export const brokerErrors = { unknownMember: 25 } as const;

/** From this version on lists and texts have compact lengths, and every structure ends with tagged fields. */
const flexibleVersion = 3;

/**
 * Puts the error in the place of each partition's own, in the answer to TxnOffsetCommit.
 *
 *     answer     := size:int32 correlationId:int32 tags throttleTimeMs:int32 topics tags
 *     topics     := count+1:uvarint (name:compactString partitions tags)*
 *     partitions := count+1:uvarint (partition:int32 error:int16 tags)*
 *     tags       := 0x00
 */
export function refuseOffsets(error: number): (answer: Buffer, apiVersion: number) => void {
  return (answer, apiVersion) => {
    if (apiVersion < flexibleVersion)
      throw new Error(`The answer to TxnOffsetCommit has version ${apiVersion}; ${flexibleVersion} and later are known.`);
    let at = 4 + 4 + 1 + 4;
    const length = (): number => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = answer.readUInt8(at++);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value - 1;
      }
    };
    for (let topics = length(); topics > 0; topics--) {
      const nameLength = length();
      at += nameLength;
      for (let partitions = length(); partitions > 0; partitions--) {
        answer.writeInt16BE(error, at + 4);
        at += 4 + 2 + 1;
      }
      at += 1;
    }
  };
}
