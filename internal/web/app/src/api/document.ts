import { gql, type TypedDocumentNode } from '@urql/core'

/** Returns a document for the API: its text from scripts/codegen.mjs, and its hash. */
export function document<Data, Variables extends object>(
  hash: string,
  text: string,
): TypedDocumentNode<Data, Variables> {
  return Object.assign(gql<Data, Variables>(text), { hash })
}

/** Returns the hash of a document, or '' if codegen did not create it. */
export function hashOf(of: object): string {
  return 'hash' in of && typeof of.hash === 'string' ? of.hash : ''
}
