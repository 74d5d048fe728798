// @ts-check

/**
 * One way to run a broker.
 *
 * @typedef {object} Engine
 * @property {string} address `host:port` of the broker
 * @property {readonly [number, number]} ports
 * @property {number | undefined} pid of the Java process, nothing in a container
 * @property {() => Promise<void>} start starts it, also again after a stop or a kill: same address, same data
 * @property {() => Promise<void>} stop
 * @property {() => Promise<void>} kill
 * @property {() => Promise<void>} remove ends it and takes away what is not in its directory
 * @property {() => BrokerDescription} describe
 */

/**
 * What a state file says about a running broker.
 *
 * @typedef {{kind: 'java', pid: number | undefined, identity: string | undefined, logFile: string} | {kind: 'docker', container: string}} BrokerDescription
 */

export {};
