import { useCallback } from 'react'
import { useMutation, type AnyVariables, type CombinedError, type TypedDocumentNode } from 'urql'

import { toast } from '@/ui/toast'

import { useFailureText, useRefusalText, type Refusal } from './errors'

/** What every mutation of the API answers. */
interface Payload {
  readonly userErrors: readonly Refusal[]
}

/** What became of a mutation: `value` when it was done, else why not. */
export type Done<P extends Payload> =
  | { readonly ok: true; readonly value: P }
  | {
      readonly ok: false
      readonly refusals: readonly Refusal[]
      readonly value: P | undefined
      /** Why there was no answer, or none of use. After a `networkError` it may have been done. */
      readonly error?: CombinedError | undefined
    }

interface Options {
  /** Say what went wrong in a toast; else the caller shows `refusals`. Failures are always said. */
  readonly say?: boolean
}

/**
 * Has the API do something: `[act, busy]`. A mutation is one field, whose payload is what comes
 * back. A second call while one is under way is the caller's to prevent (`busy`).
 */
export function useDo<Data extends object, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  { say = true }: Options = {},
): [(variables: Variables) => Promise<Done<Data[keyof Data] & Payload>>, boolean] {
  const [{ fetching }, mutate] = useMutation(document)
  const failureText = useFailureText()
  const refusalText = useRefusalText()

  const act = useCallback(
    async (variables: Variables): Promise<Done<Data[keyof Data] & Payload>> => {
      const { data, error } = await mutate(variables)
      if (error !== undefined || data === undefined) {
        if (error !== undefined) toast(failureText(error))
        return { ok: false, refusals: [], value: undefined, error }
      }
      const [value] = Object.entries(data)
        .filter(([name]) => name !== '__typename')
        .map(([, payload]) => payload as Data[keyof Data] & Payload)
      if (value === undefined) return { ok: false, refusals: [], value }
      const [refusal] = value.userErrors
      if (refusal === undefined) return { ok: true, value }
      if (say) toast(refusalText(refusal))
      return { ok: false, refusals: value.userErrors, value }
    },
    [mutate, failureText, refusalText, say],
  )
  return [act, fetching]
}

/** The reason that is about an argument, such as "phone": what stands last in its path. */
export function refusalOf(refusals: readonly Refusal[], field: string): Refusal | undefined {
  return refusals.find((refusal) => refusal.field?.includes(field))
}
