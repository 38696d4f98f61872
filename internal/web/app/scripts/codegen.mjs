// Writes what the app knows of the API, from graph/schema and the .graphql files
// below src, but for the playground's, which its users send:
//
//   src/api/types.gql.ts    enums and inputs of the schema that documents use
//   src/**/NAME.gql.ts      types and documents of the NAME.graphql beside it
//   src/api/schema.gql.ts   what the cache has to know of the schema
//   src/documents.json      each document that the app may send, by its hash
//
// A document is kept as text, which is a fifth of its syntax tree, complete with its
// fragments and with __typename wherever the cache needs it: byte for byte what the
// client would send, so that its hash names it to the server as an automatic persisted
// query, whether the server knows it from this build or not.

import * as typescriptOperations from '@graphql-codegen/typescript-operations'
import { codegen } from '@graphql-codegen/core'
import { preset } from '@graphql-codegen/near-operation-file-preset'
import { formatDocument, stringifyDocument } from '@urql/core'
import {
  buildASTSchema,
  concatAST,
  isAbstractType,
  isObjectType,
  Kind,
  parse,
  Source,
  visit,
} from 'graphql'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('../', import.meta.url)))

const schemaAst = concatAST(read('../../../graph/schema', '.graphqls').map((f) => f.document))
const schema = buildASTSchema(schemaAst)
const documents = read('src', '.graphql', 'src/playground/')
const fragments = new Map(
  documents
    .flatMap(({ document }) => document.definitions)
    .filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
    .map((definition) => [definition.name.value, definition]),
)
const known = new Map() // text by hash

for (const { name } of files('src', '.gql.ts')) rmSync(name)

const config = {
  scalars: {
    Time: 'string',
    Date: 'string',
    Cursor: 'string',
    Upload: 'Blob',
    ID: 'string',
    Long: 'number',
  },
  enumType: 'string-literal',
  immutableTypes: true,
  useTypeImports: true,
  disableDescriptions: true,
  printFieldsOnNewLines: true,
}
const shared = {
  schema: schemaAst,
  schemaAst: schema,
  documents,
  pluginMap: {
    'typescript-operations': typescriptOperations,
    documents: { plugin: (_, list) => written(list.flatMap((d) => d.document.definitions)) },
  },
  pluginContext: {},
}

const notice = '// Written by scripts/codegen.mjs; do not edit.\n'
write(
  'src/api/types.gql.ts',
  await codegen({
    ...shared,
    filename: 'src/api/types.gql.ts',
    config: { ...config, generateOperationTypes: false },
    plugins: [{ 'typescript-operations': {} }],
  }),
)
const generated = await preset.buildGeneratesSection({
  ...shared,
  baseOutputDir: 'src/',
  config: { ...config, importSchemaTypesFrom: 'src/api/types.gql.ts' },
  presetConfig: { baseTypesPath: 'api/types.gql.ts', extension: '.gql.ts' },
  plugins: [{ 'typescript-operations': {} }, { documents: {} }],
})
await Promise.all(
  generated.map(async (file) => write(file.filename, withoutUnusedTypes(await codegen(file)))),
)

write('src/api/schema.gql.ts', facts())
const sorted = [...known].toSorted(([a], [b]) => (a < b ? -1 : 1))
writeFileSync('src/documents.json', JSON.stringify(Object.fromEntries(sorted), null, 1) + '\n')

/** The preset imports the schema's enums and inputs into each file, used or not. */
function withoutUnusedTypes(text) {
  return text.includes('Types.') ? text : text.replace(/^import type \* as Types .*\n+/m, '')
}

/** The documents of a file's operations, as TypeScript. */
function written(definitions) {
  const operations = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  const content = operations.map((operation) => {
    const text = sent(operation)
    const hash = createHash('sha256').update(text).digest('hex')
    known.set(hash, text)
    const name = operation.name.value
    const kind = operation.operation
    const type = name + kind[0].toUpperCase() + kind.slice(1)
    return (
      `export const ${name}Document = document<${type}, ${type}Variables>(\n` +
      `  '${hash}',\n  ${JSON.stringify(text)},\n)\n`
    )
  })
  return {
    prepend: operations.length > 0 ? ["import { document } from '@/api/document'"] : [],
    content: content.join('\n'),
  }
}

/** What the client sends for an operation: with all its fragments, in the order of their first use. */
function sent(operation) {
  const used = new Set()
  const follow = (node) =>
    visit(node, {
      FragmentSpread({ name: { value } }) {
        if (used.has(value)) return
        used.add(value)
        follow(fragments.get(value))
      },
    })
  follow(operation)
  const all = [operation, ...[...used].map((name) => fragments.get(name))]
  const bare = visit(
    { kind: Kind.DOCUMENT, definitions: all },
    { enter: (node) => ({ ...node, description: undefined, loc: undefined }) },
  )
  return stringifyDocument(formatDocument(bare))
}

/** What the cache has to know of the schema. */
function facts() {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const possible = types
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)])
  const roots = new Set([
    schema.getQueryType(),
    schema.getMutationType(),
    schema.getSubscriptionType(),
  ])
  const parts = types
    .filter((type) => isObjectType(type) && !roots.has(type) && !type.getFields().id)
    .map(({ name }) => name)
  return (
    '/** Which types an interface or a union stands for. */\n' +
    `export const possibleTypes = ${JSON.stringify(Object.fromEntries(possible), null, 2)}\n\n` +
    '/** Types without an id: parts of what they hang on. */\n' +
    `export const parts = ${JSON.stringify(parts, null, 2)} as const\n`
  )
}

/** The parsed files of a folder, but for those below another one. */
function read(folder, extension, without) {
  return files(folder, extension)
    .filter(({ name }) => !without || !name.startsWith(without))
    .map(({ name }) => ({
      location: name,
      document: parse(new Source(readFileSync(name, 'utf8'), name)),
    }))
}

function files(folder, extension) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => ({ name: `${folder}/${name.replaceAll('\\', '/')}` }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function write(name, text) {
  const used = text.includes('Types.') ? text : text.replace(/^import type \* as Types .*\n/m, '')
  writeFileSync(name, notice + (used.includes('export ') ? used : used + 'export {}\n'))
}
