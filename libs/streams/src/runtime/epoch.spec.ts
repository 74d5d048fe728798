import { describe, expect, it } from 'vitest';
import { Epoch, type OutputRecord } from './epoch.js';
import type { Task } from './task.js';

const tasks = ['a', 'b', 'c'].map((id) => ({ id }) as unknown as Task);
const [first, second, third] = tasks as [Task, Task, Task];

function output(topic: string, partition: number, task: Task, isDeadLetter = false): OutputRecord {
  return {
    topic,
    partition,
    key: null,
    value: Buffer.from('value'),
    timestampMs: 1,
    headers: [],
    task,
    sent: { records: 0 },
    isDeadLetter,
  };
}

describe('Epoch', () => {
  it('gives its outputs to the producer in order, and keeps their number and bytes', () => {
    const epoch = new Epoch(1);
    const outputs = [0, 1, 2].map((partition) => output('topic', partition, first));
    for (const each of outputs.slice(0, 2)) epoch.add(each);
    const bytes = epoch.outputBytes / 2;
    const given: (OutputRecord | undefined)[] = [];
    const give = (): void => {
      given.push(epoch.nextOutput);
      epoch.passOutput();
    };
    give();
    give();
    expect(epoch.nextOutput).toBeUndefined();
    epoch.add(outputs[2]!);
    give();
    expect(given).toEqual(outputs);
    expect([epoch.outputs, epoch.produced, epoch.outputBytes]).toEqual([3, 3, 3 * bytes]);
  });

  it('remembers who wrote to a partition after the producer has taken the outputs', () => {
    const epoch = new Epoch(1);
    for (const each of [
      output('t', 0, first),
      output('t', 0, second),
      output('t', 0, first),
      output('t', 1, second),
      output('u', 0, third),
    ])
      epoch.add(each);
    while (epoch.nextOutput !== undefined) epoch.passOutput();
    const writers = (topic: string, partition: number): Set<Task> => new Set(epoch.writersOf(topic, partition));
    expect(writers('t', 0)).toEqual(new Set([first, second]));
    expect(writers('t', 1)).toEqual(new Set([second]));
    expect(writers('t', 2)).toEqual(new Set());
    expect(writers('t', -1)).toEqual(new Set([first, second]));
    epoch.add(output('t', -1, third, true));
    expect(writers('t', 1)).toEqual(new Set([second, third]));
    expect(epoch.letterTasks).toEqual(new Set([third]));
  });
});
