/**
 * The import arrows. Within the engine: core <- serde <- topology <- operators <- dsl, and topology <- state <- runtime.
 * Around it: streams <- kafka, testing, nestjs <- apps.
 */
const engine = '^libs/streams/src';

/** What each folder of the engine may import besides itself. */
const allowed = {
  core: [],
  serde: ['core'],
  topology: ['core', 'serde'],
  operators: ['core', 'serde', 'topology'],
  dsl: ['core', 'serde', 'topology', 'operators'],
  state: ['core', 'serde', 'topology'],
  runtime: ['core', 'serde', 'topology', 'state'],
};

/** What each library may import besides itself. */
const libraries = {
  streams: [],
  kafka: ['streams'],
  testing: ['streams'],
  telemetry: ['streams'],
  nestjs: ['streams', 'kafka'],
};

const tests = '\\.(spec|suite|fixture)\\.ts$';

const engineArrows = Object.entries(allowed).map(([folder, others]) => ({
  name: `engine-${folder}`,
  comment: `libs/streams/src/${folder} may import ${others.length === 0 ? 'no other folder' : others.join(', ')} only.`,
  severity: 'error',
  from: { path: `${engine}/${folder}/`, pathNot: tests },
  to: { path: `${engine}/`, pathNot: `${engine}/(${[folder, ...others].join('|')})/` },
}));

const libraryArrows = Object.entries(libraries).map(([library, others]) => ({
  name: `library-${library}`,
  comment: `libs/${library} may import ${others.length === 0 ? 'no other library' : others.map((name) => `libs/${name}`).join(', ')} only.`,
  severity: 'error',
  from: { path: `^libs/${library}/`, pathNot: tests },
  to: { path: ['^libs/', '^apps/', '^test/', '^bench/', '^scripts/'], pathNot: `^libs/(${[library, ...others].join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...engineArrows,
    ...libraryArrows,
    {
      name: 'sole-importer-of-the-client',
      comment: 'Only libs/kafka speaks to the native client; load generators, checkers, benchmarks and tests may use it beside Tally.',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: ['^libs/kafka/', '^apps/[^/]+/(load|demo|checker)/', tests] },
      to: { path: '@confluentinc/kafka-javascript' },
    },
    {
      name: 'engine-without-frameworks',
      comment: 'The engine runs without Nest and without a Kafka client.',
      severity: 'error',
      from: { path: '^libs/streams/' },
      to: { path: '(@nestjs/|rxjs|reflect-metadata|@confluentinc/)' },
    },
    {
      name: 'database-in-state-only',
      comment: 'The state database is behind the store engine port.',
      severity: 'error',
      from: { path: '^libs/', pathNot: '^libs/streams/src/state/' },
      to: { path: 'node_modules/(level|classic-level|abstract-level)/' },
    },
    {
      name: 'public-face-only',
      comment: 'Another library is used through its index, never by a file of its own.',
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/', pathNot: tests },
      to: {
        path: '^libs/[^/]+/(src|dist)/',
        pathNot: ['^libs/[^/]+/(src/(index|register)\\.ts|dist/(index|register)\\.(js|d\\.ts))$', '^$1/$2/'],
      },
    },
    {
      name: 'independent-checker',
      comment: 'The demo proves its result by a computation that shares nothing with what it proves.',
      severity: 'error',
      from: { path: '^apps/[^/]+/.*checker' },
      to: { path: '^libs/', reachable: true },
    },
    {
      name: 'no-circles',
      comment:
        'Modules that need each other to be loaded are one module. The DSL is left out: its streams make tables, and its tables streams.',
      severity: 'error',
      from: { pathNot: '^libs/streams/src/dsl/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-unresolvable',
      comment: 'The imported module does not exist.',
      severity: 'error',
      from: { path: '^(libs|apps|test|scripts)/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'declared-dependencies',
      comment: 'A library that is imported is named in a package.json.',
      severity: 'error',
      from: { path: '^(libs|apps)/[^/]+/src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: ['/dist/', '^bench/java', '\\.tally/'] },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@tally/source', 'types', 'node', 'import', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.cjs', '.json', '.d.ts'],
    },
  },
};
