import { gql, type TypedDocumentNode } from '@urql/core'

/**
 * A document that the API can be asked: its text, as scripts/codegen.mjs wrote it, and the
 * hash by which the server knows it.
 */
export function document<Data, Variables extends object>(
  hash: string,
  text: string,
): TypedDocumentNode<Data, Variables> {
  return Object.assign(gql<Data, Variables>(text), { hash })
}

/** The hash of a document; of one that was not made here there is none. */
export function hashOf(of: object): string {
  return 'hash' in of && typeof of.hash === 'string' ? of.hash : ''
}
