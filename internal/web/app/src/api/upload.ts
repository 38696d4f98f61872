import { CombinedError, stringifyDocument } from '@urql/core'

import { lost, reached } from '@/live/network'
import { expire, type Session } from '@/session/session'

import { headers } from './client'
import type { Refusal } from './errors'
import { UploadImageDocument, type UploadImageMutation } from './upload.gql'

export type UploadedImage = NonNullable<UploadImageMutation['uploadImage']['image']>

/** What became of a picture. */
export type Uploaded =
  | { readonly image: UploadedImage }
  | { readonly refusal: Refusal }
  | { readonly error: CombinedError }

interface Options {
  /** From 0 to 1. */
  readonly onProgress: (share: number) => void
  readonly signal: AbortSignal
}

interface Answer {
  readonly data?: UploadImageMutation | null
  readonly errors?: readonly { message: string; extensions?: Record<string, unknown> }[]
}

/**
 * Sends a picture, as the multipart request specification of GraphQL has it. Only XMLHttpRequest
 * tells how far it is.
 */
export function upload(
  file: Blob,
  session: Session,
  { onProgress, signal }: Options,
): Promise<Uploaded> {
  const body = new FormData()
  const query = stringifyDocument(UploadImageDocument)
  body.append('operations', JSON.stringify({ query, variables: { file: null } }))
  body.append('map', JSON.stringify({ 0: ['variables.file'] }))
  body.append('0', file, 'picture')

  return new Promise((resolve) => {
    const asked = performance.now()
    const request = new XMLHttpRequest()
    request.open('POST', '/graphql')
    request.responseType = 'json'
    request.timeout = 5 * 60_000
    for (const [name, value] of Object.entries(headers(session))) {
      request.setRequestHeader(name, value)
    }
    const fail = () => {
      if (!signal.aborted) lost()
      resolve({ error: new CombinedError({ networkError: new Error('no answer') }) })
    }
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      if (total > 0) onProgress(loaded / total)
    })
    request.addEventListener('error', fail)
    request.addEventListener('timeout', fail)
    request.addEventListener('abort', fail)
    request.addEventListener('load', () => {
      const answer = request.response as Answer | null
      if (answer === null || typeof answer !== 'object') {
        if (request.status >= 500) fail()
        else resolve({ error: new CombinedError({ graphQLErrors: ['refused'] }) })
        return
      }
      reached(asked)
      resolve(read(answer, session))
    })
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}

function read({ data, errors }: Answer, session: Session): Uploaded {
  if (errors?.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED')) {
    expire(session.token)
  }
  const payload = data?.uploadImage
  if (payload?.image) return { image: payload.image }
  const [refusal] = payload?.userErrors ?? []
  if (refusal) return { refusal }
  return { error: new CombinedError({ graphQLErrors: [...(errors ?? [])] }) }
}
