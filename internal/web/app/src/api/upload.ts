import { CombinedError, stringifyDocument } from '@urql/core'

import { reportUnreachable, reportReachable } from '@/live/network'
import { expire, type Session } from '@/session/session'

import { headers } from './client'
import type { UserError } from './errors'
import { UploadImageDocument, type UploadImageMutation } from './upload.gql'

export type UploadedImage = NonNullable<UploadImageMutation['uploadImage']['image']>

/** Result of an upload. */
export type UploadResult =
  | { readonly image: UploadedImage }
  | { readonly userError: UserError }
  | { readonly error: CombinedError }

interface Options {
  /** Called with the sent share, 0 to 1. */
  readonly onProgress: (share: number) => void
  readonly signal: AbortSignal
}

interface Answer {
  readonly data?: UploadImageMutation | null
  readonly errors?: readonly { message: string; extensions?: Record<string, unknown> }[]
}

/**
 * Uploads an image as a GraphQL multipart request. It uses XMLHttpRequest because fetch does not
 * report upload progress.
 */
export function upload(
  file: Blob,
  session: Session,
  { onProgress, signal }: Options,
): Promise<UploadResult> {
  const body = new FormData()
  const query = stringifyDocument(UploadImageDocument)
  body.append('operations', JSON.stringify({ query, variables: { file: null } }))
  body.append('map', JSON.stringify({ 0: ['variables.file'] }))
  body.append('0', file, 'picture')

  return new Promise((resolve) => {
    const sentAt = performance.now()
    const request = new XMLHttpRequest()
    request.open('POST', '/graphql')
    request.responseType = 'json'
    request.timeout = 5 * 60_000
    for (const [name, value] of Object.entries(headers(session))) {
      request.setRequestHeader(name, value)
    }
    const fail = () => {
      if (!signal.aborted) reportUnreachable()
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
      reportReachable(sentAt)
      resolve(read(answer, session))
    })
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}

function read({ data, errors }: Answer, session: Session): UploadResult {
  if (errors?.some(({ extensions }) => extensions?.code === 'UNAUTHENTICATED')) {
    expire(session.token)
  }
  const payload = data?.uploadImage
  if (payload?.image) return { image: payload.image }
  const [userError] = payload?.userErrors ?? []
  if (userError) return { userError }
  return { error: new CombinedError({ graphQLErrors: [...(errors ?? [])] }) }
}
