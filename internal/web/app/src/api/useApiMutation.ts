import { useCallback } from 'react'
import { useMutation, type AnyVariables, type CombinedError, type TypedDocumentNode } from 'urql'

import { toast } from '@/ui/toast'

import { useRequestErrorText, useUserErrorText, type UserError } from './errors'

/** Every mutation payload has these fields. */
interface Payload {
  readonly userErrors: readonly UserError[]
}

/** Result of a mutation. `value` is its payload. */
export type MutationResult<P extends Payload> =
  | { readonly ok: true; readonly value: P }
  | {
      readonly ok: false
      readonly userErrors: readonly UserError[]
      readonly value: P | undefined
      /**
       * Set if there was no usable response. After a `networkError` the mutation may still have
       * run.
       */
      readonly error?: CombinedError | undefined
    }

interface Options {
  /**
   * Shows the first user error in a toast (default). If false, the caller shows `userErrors`.
   * Failed requests always show a toast.
   */
  readonly toastErrors?: boolean
}

/**
 * Runs a mutation with a single field: `[execute, busy]`. `execute` resolves to the field's
 * payload. Callers must not call it again while `busy`.
 */
export function useApiMutation<Data extends object, Variables extends AnyVariables>(
  document: TypedDocumentNode<Data, Variables>,
  { toastErrors = true }: Options = {},
): [(variables: Variables) => Promise<MutationResult<Data[keyof Data] & Payload>>, boolean] {
  const [{ fetching }, mutate] = useMutation(document)
  const requestErrorText = useRequestErrorText()
  const userErrorText = useUserErrorText()

  const execute = useCallback(
    async (variables: Variables): Promise<MutationResult<Data[keyof Data] & Payload>> => {
      const { data, error } = await mutate(variables)
      if (error !== undefined || data === undefined) {
        if (error !== undefined) toast(requestErrorText(error))
        return { ok: false, userErrors: [], value: undefined, error }
      }
      const [value] = Object.entries(data)
        .filter(([name]) => name !== '__typename')
        .map(([, payload]) => payload as Data[keyof Data] & Payload)
      if (value === undefined) return { ok: false, userErrors: [], value }
      const [userError] = value.userErrors
      if (userError === undefined) return { ok: true, value }
      if (toastErrors) toast(userErrorText(userError))
      return { ok: false, userErrors: value.userErrors, value }
    },
    [mutate, requestErrorText, userErrorText, toastErrors],
  )
  return [execute, fetching]
}

/** Returns the user error of an argument such as "phone". */
export function userErrorFor(
  userErrors: readonly UserError[],
  field: string,
): UserError | undefined {
  return userErrors.find((userError) => userError.field?.includes(field))
}
